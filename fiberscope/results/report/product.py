"""Output files of an answer: ``.npz``, ``.mtx``, and for any ranks ``.npy`` and ``.tns``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import write_bytes
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.suffixes import suffix_of
from fiberscope.workloads.tensor import SparseTensor

MAX_ELEMENTS = 1 << 28  # of a dense array, 2 GiB


def check_product(path: Path) -> None:
    """Check that the ending of a path is a supported format.

    Raises:
        InputError: the ending is not supported; the message has the supported endings.
    """
    if suffix_of(path) not in _WRITERS or path.suffix.lower() == ".gz":
        raise InputError(
            f"{path}: a product is written as {', '.join(_WRITERS)}; end its name in one of these"
        )


def write_product(path: Path, answer: object) -> None:
    """Write an answer atomically in the format of the suffix; ``fiberscope.workloads.load`` reads the file.

    Args:
        path: a path that ``check_product`` accepts.
        answer: a scipy matrix, a numpy array or a ``SparseTensor``; None for a run without a product.

    Raises:
        InputError: there is no product, its ranks do not fit the format, a ``.npy`` file with its zeros would
            have more than ``MAX_ELEMENTS`` elements, or the file cannot be written.
        KeyError: the suffix of the path is not supported.
    """
    if answer is None:
        raise InputError(f"{path}: the run has no product to write")
    suffix = suffix_of(path)
    if suffix not in _ANY_RANK_FORMATS and isinstance(answer, SparseTensor):
        formats = " or ".join(_ANY_RANK_FORMATS)
        raise InputError(f"{path}: the product has {answer.order} ranks; give a name in {formats}")
    file = io.BytesIO()
    _WRITERS[suffix](file, answer)
    write_bytes(path, file.getvalue())


def _write_npz(file: io.BytesIO, answer: Any) -> None:  # noqa: ANN401
    sparse.save_npz(file, sparse.csr_array(_as_two_ranks(answer)))


def _write_npy(file: io.BytesIO, answer: Any) -> None:  # noqa: ANN401
    if np.prod(answer.shape, dtype=float) > MAX_ELEMENTS:
        ending = ".tns" if isinstance(answer, SparseTensor) else ".npz"
        raise InputError(f"an array of {answer.shape} with its zeros is too large; give a name in {ending}")
    np.save(file, answer if isinstance(answer, np.ndarray) else answer.toarray())


def _write_mtx(file: io.BytesIO, answer: Any) -> None:  # noqa: ANN401
    from scipy.io import mmwrite  # noqa: PLC0415  (it takes time to load)

    # without ``symmetry``, scipy searches for a symmetry and writes half of a symmetric product
    mmwrite(file, _as_two_ranks(answer), symmetry="general")


def _write_tns(file: io.BytesIO, answer: Any) -> None:  # noqa: ANN401
    tensor = answer
    if not isinstance(answer, SparseTensor):
        tensor = SparseTensor.from_matrix(sparse.csr_array(_as_two_ranks(answer)))
    # coordinates of the format count from 1; ``repr`` of a float keeps all its bits
    for *coordinates, value in zip(*tensor.coordinates, tensor.values.tolist(), strict=True):
        file.write(f"{' '.join(str(coordinate + 1) for coordinate in coordinates)} {value!r}\n".encode())


def _as_two_ranks(answer: Any) -> Any:  # noqa: ANN401
    """Return an array of one rank as a column."""
    return answer.reshape(-1, 1) if answer.ndim == 1 else answer


_ANY_RANK_FORMATS = (".npy", ".tns")
_WRITERS: Mapping[str, Callable[[io.BytesIO, Any], None]] = {
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".mtx": _write_mtx,
    ".tns": _write_tns,
}
