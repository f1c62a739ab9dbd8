"""Loading of a workload by path, generator or name, or from memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fiberscope.workloads import cache, parse_cache, registry, spec
from fiberscope.workloads.array_file import parse_named_array
from fiberscope.workloads.canonical import CsrArray, Duplicates, check_shape, digest
from fiberscope.workloads.download import DownloadError
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.files import is_path
from fiberscope.workloads.graph_view import GRAPH, apply_view, full_view, graph_view
from fiberscope.workloads.memory_arrays import decode_object
from fiberscope.workloads.named_tensor import Source, generate_tensor, tensor_in
from fiberscope.workloads.suffixes import SUFFIXES
from fiberscope.workloads.tensor import SparseTensor


@dataclass(frozen=True)
class Workload:
    """A matrix and its origin.

    Args:
        name: name of the matrix.
        source: ``real``, ``surrogate``, ``generated`` or ``memory``.
        matrix: canonical CSR (float64, int64, sorted).
        digest: sha256 of shape, indptr, indices, values.
        notice: one line that the user must see; a surrogate always has a notice.
        origin: name of the file, URL, or full text of the generator or view; for a matrix in memory, its
            name.
    """

    name: str
    source: Source
    matrix: CsrArray
    digest: str
    notice: str | None
    origin: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape: rows and columns."""
        return tuple(int(size) for size in self.matrix.shape)

    @property
    def nonzeros(self) -> int:
        """Return the number of stored entries."""
        return int(self.matrix.nnz)


def load(
    name: str | os.PathLike[str],
    *,
    exact: bool = False,
    progress: Callable[[int, int], None] | None = None,
    duplicates: Duplicates = "sum",
) -> Workload:
    """Load the workload with this name.

    A name is looked up in the folders of the environment variable ``FIBERSCOPE_DATA``. If it is in the
    registry, it is then looked up among the shipped matrices and in the cache, then downloaded. If all of
    these fail, a surrogate replaces the matrix.

    Args:
        name: a path, a generator (``uniform:rows=...``), a name, or one of these as a graph
            (``graph:order=degree,of=...``) or in windows. An array of more than two ranks becomes a matrix.
        exact: whether surrogates are refused.
        progress: called during a download with the bytes received and the total.
        duplicates: treatment of duplicates in a file of a matrix, see ``read_matrix``; a view of a graph has
            its own.

    Raises:
        WorkloadError: unknown, unreadable, not a matrix, or not available with ``exact``.
    """
    text = os.fspath(name)
    view = spec.view_keyword(text)
    if view == GRAPH:
        return _load_view(text, exact, progress)
    # windows and arrays of a file may have any number of ranks
    if (view is not None or parse_named_array(text) is not None) and (
        ranked_tensor := tensor_in(text)
    ) is not None:
        loaded = ranked_tensor.of_order(2, text)
        return _build_workload(loaded.name, loaded.source, loaded.matrix, loaded.origin, loaded.notice)
    if spec.is_spec(text) and not Path(text).exists():  # a file with this name precedes the generator
        drawn, full = spec.generate(text)
        if isinstance(drawn, SparseTensor):
            drawn = generate_tensor(full, drawn).of_order(2, text).matrix
        return _build_workload(full, "generated", drawn, full)
    if is_path(text):
        return _load_file(_base_name(text), text, Path(text).name, duplicates)
    if not registry.is_registered(text):
        return _from_data_path(text, duplicates)
    return _load_registered(registry.lookup(text), exact, progress, duplicates)


def _load_view(text: str, exact: bool, progress: Callable[[int, int], None] | None) -> Workload:
    view, of = graph_view(text)
    # except for sums, the view needs the parallel edges, which it treats itself
    read_as: Duplicates = "sum" if view.duplicates == "sum" else "keep"
    viewed = load(of, exact=exact, progress=progress, duplicates=read_as)
    matrix = apply_view(viewed.matrix, view, text)
    return replace(viewed, name=text, matrix=matrix, digest=digest(matrix), origin=full_view(view, of))


def from_scipy(matrix: Any, name: str = "memory") -> Workload:  # noqa: ANN401 - any format, or a dense array
    """Return a workload of a sparse matrix (explicit zeros stay) or of a dense array (zeros are not stored).

    A vector of rank 1 is a column.

    Args:
        matrix: the matrix of scipy, numpy, the library sparse, or a graph of networkx.
        name: name of the workload in messages and reports.

    Raises:
        WorkloadError: not two-dimensional, not real numbers, not finite, indices out of range.
    """
    content = decode_object(matrix, name)
    if isinstance(content, SparseTensor):
        if content.order not in (1, 2):
            raise WorkloadError(f"{content.order} dimensions; a matrix has 2", location=name)
        # before the array of row pointers is allocated; a vector has one number, checked as both
        check_shape(content.shape[0], content.shape[-1], content.nonzeros, name)
        content = content.unfolded(1).matrix() if content.order == 1 else content.matrix()
    return _build_workload(name, "memory", content, name)


def _build_workload(
    name: str, source: Source, matrix: CsrArray, origin: str, notice: str | None = None
) -> Workload:
    return Workload(name, source, matrix, digest(matrix), notice, origin)


def _base_name(text: str) -> str:
    """Return the name of a file without its longest known suffix; a name that is only a suffix stays."""
    file = Path(text).name
    longest = max((suffix for suffix in SUFFIXES if file.lower().endswith(suffix)), key=len, default="")
    return file[: len(file) - len(longest)] or file


def _from_data_path(name: str, duplicates: Duplicates) -> Workload:
    file = cache.find(name)
    if file is None:
        fault = (
            f"{name!r} is not a file, a generator or a known matrix, and not in a folder of FIBERSCOPE_DATA"
        )
        raise WorkloadError(fault, fix=suggest(name, registry.names()))
    return _load_file(name, file, file.name, duplicates)


def _load_registered(
    entry: registry.Entry, exact: bool, progress: Callable[[int, int], None] | None, duplicates: Duplicates
) -> Workload:
    """Load a matrix of the registry: from the data path, shipped, cached or downloaded; else a surrogate."""
    if not entry.is_matrix:
        raise WorkloadError(f"a tensor of rank {len(entry.shape)}; a matrix is needed", location=entry.name)
    # the user's file comes first, then what needs no network
    if (data_file := cache.on_data_path(entry)) is not None:
        return _load_real(entry, data_file, data_file.name, duplicates)
    if (file := cache.find_shipped_file(entry)) is not None:
        return _load_real(entry, file, file.name, duplicates)
    try:
        file = cache.fetch(entry, progress)
    except DownloadError as error:
        return _load_surrogate(entry, exact, error)
    return _load_real(entry, file, entry.address or file.name, duplicates)


def _load_file(name: str, file: str | Path, origin: str, duplicates: Duplicates) -> Workload:
    parsed_file = parse_cache.read_parsed(file, duplicates)
    return Workload(name, "real", parsed_file.matrix, parsed_file.digest, parsed_file.note, origin)


def _load_real(entry: registry.Entry, file: Path, origin: str, duplicates: Duplicates) -> Workload:
    workload = _load_file(entry.name, file, origin, duplicates)
    if workload.shape == entry.shape or entry.approximate:  # the shape of such an entry is rounded
        return workload
    sizes = [" x ".join(map(str, shape)) for shape in (workload.shape, entry.shape)]
    notice = f"NOTE: {origin} is {sizes[0]}, and the registry's {entry.name} is {sizes[1]}"
    return replace(workload, notice="; ".join(filter(None, (notice, workload.notice))))


def _load_surrogate(entry: registry.Entry, exact: bool, error: DownloadError) -> Workload:
    """Return a surrogate for a matrix whose download failed; refuse it if only the exact matrix will do."""

    from fiberscope.workloads.surrogate import surrogate  # noqa: PLC0415  (most matrices need no surrogate)

    remedy = f"put {entry.name}.mtx into a folder on FIBERSCOPE_DATA"
    if exact:
        raise WorkloadError(
            f"the exact matrix is not available ({error})", location=entry.name, fix=remedy
        ) from error
    matrix, details = surrogate(entry)
    notice = (
        f"SURROGATE: this is not {entry.name} but a stand-in: {details} ({error}); for the real one {remedy}"
    )
    return _build_workload(entry.name, "surrogate", matrix, f"surrogate of {entry.name}", notice)
