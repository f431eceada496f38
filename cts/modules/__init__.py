"""Programs of others, and calls that need no case: dispatch files, rules for validators, conversions of matrices."""
