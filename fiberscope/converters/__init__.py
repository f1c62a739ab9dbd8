"""Converters between formats in hardware, as MINT has them: recipes, the machine that runs them, its cost."""

if __name__ != "fiberscope.converters":  # a second name would make a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")
