"""Modules of other people's software: each family is a file that compiles what a repository has, or reads it."""
