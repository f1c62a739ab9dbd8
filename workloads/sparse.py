"""scipy's sparse matrices, without the modules of numpy that importing them would load for nothing.

scipy takes over all names that numpy lists, modules among them that are imported at first use: f2py, testing.
"""

from __future__ import annotations

import numpy as np

__all__ = ["sparse"]

_there = list(vars(np))
_before = {name: vars(np)[name] for name in ("__all__", "__dir__")}
vars(np).update(__all__=[name for name in np.__all__ if name in _there], __dir__=lambda: _there)
try:
    from scipy import sparse
finally:
    vars(np).update(_before)
