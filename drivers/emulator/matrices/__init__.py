"""Programs of cooperative matrices."""
