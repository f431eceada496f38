"""What an oracle answers."""
