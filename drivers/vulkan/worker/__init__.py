"""The process that holds the device: needs Python >= 3.11, vulkan, cffi and msgspec, and no other part of the suite.

It is copied to where the device is, so its modules import each other relatively and nothing else.
See docs/vulkan-worker-protocol.md for the messages.
"""
