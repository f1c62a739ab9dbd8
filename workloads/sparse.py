"""scipy's sparse matrices, without the modules of numpy that importing them would load for nothing.

scipy takes over all names that numpy lists, modules among them that are imported at first use: f2py, testing.
"""

from __future__ import annotations

import numpy as np

__all__ = ["sparse"]

_listed, _named = np.__all__, np.__dir__
np.__all__ = [name for name in _listed if name in vars(np)]
np.__dir__ = lambda: list(vars(np))
try:
    from scipy import sparse
finally:
    np.__all__, np.__dir__ = _listed, _named
