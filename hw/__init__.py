"""Hardware blocks as cycle-level components, one file a family."""

import sim as _sim  # the engine chooses the compiled or uncompiled mode first

__all__: list[str] = []
del _sim
