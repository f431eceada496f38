"""The policy of draws: chances, weights and counts of generators, each with the reason of its value."""
