"""Runs: profiles, the corpus, drawing cases, the runner and what it gathers."""
