"""Checks of the function and the command that convert matrices of cooperative vectors, against Vulkan's rules."""
