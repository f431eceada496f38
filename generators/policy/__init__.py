"""The policy of draws: how often generators draw what, with the reason of each value."""
