"""Parts of cases, which areas share."""
