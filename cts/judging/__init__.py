"""From a case and a driver to a verdict, and what is known of a failure."""
