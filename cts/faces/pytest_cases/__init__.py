"""Cases as items of pytest."""
