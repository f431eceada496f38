"""A case, evaluated and executed: the steps of its program, and what memory and matrices may hold."""
