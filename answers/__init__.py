"""Answer sheets: for each testable fact an answer that must pass and one that must fail, a file for each group."""
