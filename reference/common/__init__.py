"""What matrices and vectors share: operands, steps of a program, memory."""
