"""What a driver is, and what a device says of itself."""
