"""Hardware blocks as cycle-level components, one file a family."""

from fiberscope import sim as _sim  # the engine chooses the compiled or uncompiled mode first

if __name__ != "fiberscope.hw":  # a second name would make a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")

__all__: list[str] = []
del _sim
