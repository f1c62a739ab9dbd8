"""scipy's sparse matrices, imported at first use, without the modules that scipy imports needlessly.

scipy imports all names that numpy lists, including lazy modules such as f2py and testing. scipy also imports
Cython if it is installed, for its own tests.
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
        with _without_needless_imports():
            from scipy import sparse as module  # noqa: PLC0415

        vars(self).update(vars(module))
        return getattr(module, name)


@contextmanager
def _without_needless_imports() -> Iterator[None]:
    """Hide the modules that scipy would import needlessly."""
    names_before = list(vars(np))
    before = {name: vars(np)[name] for name in ("__all__", "__dir__")}
    vars(np).update(
        __all__=[name for name in np.__all__ if name in names_before], __dir__=lambda: names_before
    )
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
    """Return a CSR matrix without copying its arrays; scipy copies a view of less than half an array.

    Args:
        values, coordinates: value and column of each entry.
        pointers: position of the first entry of each row, and the end; nothing is checked.
        shape: rows and columns.
    """
    matrix = sparse.csr_array(shape)
    matrix.data, matrix.indices, matrix.indptr = values, coordinates, pointers
    return matrix
