"""The function and the command that convert matrices of cooperative vectors, held against what Vulkan says of them."""
