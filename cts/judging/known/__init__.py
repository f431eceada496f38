"""What is known before a case runs: conditions of cases, quarantines and baselines."""
