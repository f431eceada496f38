"""Facts against cases, generators and drivers."""
