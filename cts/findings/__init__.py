"""From a verdict to a cause: reduce, explain, learn, draw."""
