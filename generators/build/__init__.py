"""A case under construction: programs, buffers, operands, and what is known of values."""
