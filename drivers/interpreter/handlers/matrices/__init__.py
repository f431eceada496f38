"""Instructions on cooperative matrices."""
