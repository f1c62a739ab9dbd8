"""Converters between formats in hardware, as MINT has them: recipes, the machine that runs them, its cost."""
