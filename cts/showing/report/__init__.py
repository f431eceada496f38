"""Reports: consumers of a run's events, and the text of one failure, shared by the command line and pytest."""
