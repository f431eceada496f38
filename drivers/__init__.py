"""The drivers that come with the suite: emulator, interpreter, amd and vulkan."""
