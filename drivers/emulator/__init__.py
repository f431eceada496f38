"""Runs cases invocation by invocation, with legal variants and planted bugs."""
