"""What instructions of cooperative matrices do with whole matrices."""
