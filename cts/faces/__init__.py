"""How one gets in: the command, pytest, Python."""
