"""Tensor layouts and views, and from the elements of a matrix to bytes."""
