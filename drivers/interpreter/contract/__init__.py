"""What a module may not do at run time: rules on the values of operands, and what undefined values decide."""
