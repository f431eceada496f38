"""The catalogue of planted bugs."""
