"""Executes SPIR-V words; knows nothing of cases."""
