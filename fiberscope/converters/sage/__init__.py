"""SAGE: predicts in which formats to store operands, and in which to compute with them."""
