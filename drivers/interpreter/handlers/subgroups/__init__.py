"""Instructions whose lanes see each other's values, one module per family."""
