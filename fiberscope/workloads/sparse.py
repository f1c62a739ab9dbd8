"""scipy's sparse matrices, imported when first used, and without what importing them would load for nothing.

scipy takes over all names that numpy lists, modules among them that are imported at first use: f2py, testing.
Where it finds Cython it imports that too, for its own tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = "npt.NDArray[Any]"

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["csr_in_place", "sparse"]


class _AtFirstUse(ModuleType):
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever scipy has)
        with _less():
            from scipy import sparse as module  # noqa: PLC0415

        vars(self).update(vars(module))
        return getattr(module, name)


@contextmanager
def _less() -> Iterator[None]:
    """Hide what scipy would import for nothing."""
    there = list(vars(np))
    before = {name: vars(np)[name] for name in ("__all__", "__dir__")}
    vars(np).update(__all__=[name for name in np.__all__ if name in there], __dir__=lambda: there)
    cython = sys.modules.setdefault("cython", None)  # type: ignore[arg-type]  # importing it fails
    try:
        yield
    finally:
        vars(np).update(before)
        if cython is None:
            sys.modules.pop("cython")


if not TYPE_CHECKING:
    sparse = _AtFirstUse("scipy.sparse")


def csr_in_place(
    values: Numbers, coordinates: Numbers, pointers: Numbers, shape: tuple[int, int]
) -> sparse.csr_array[Any]:
    """A matrix of arrays as they are: scipy copies one that views less than half of another."""
    matrix = sparse.csr_array(shape)
    matrix.data, matrix.indices, matrix.indptr = values, coordinates, pointers
    return matrix
