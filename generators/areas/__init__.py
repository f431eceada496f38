"""The areas: each module draws the cases of one."""
