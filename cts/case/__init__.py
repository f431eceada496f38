"""A test as data, and what an oracle answers."""
