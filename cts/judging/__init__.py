"""From a case and a driver to a verdict, and to facts about a failure."""
