"""Instructions on cooperative vectors that other vectors do not have."""
