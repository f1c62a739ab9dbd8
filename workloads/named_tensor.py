"""A tensor of any order by whatever names it: a file of FROSTT, or whatever names a matrix."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fiberscope.workloads import cache, registry
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.suffixes import suffix_of
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tns import read_tns
from fiberscope.workloads.workload import Source, file_of, load

__all__ = ["NamedTensor", "load_tensor"]


@dataclass(frozen=True)
class NamedTensor:
    """A tensor and where it came from.

    Args:
        name: what it is called.
        source: ``real``, ``surrogate`` or ``generated``.
        tensor: its entries.
        notice: what the user must be told, loudly, in one line.
    """

    name: str
    source: Source
    tensor: SparseTensor
    notice: str | None = None


def load_tensor(name: str | os.PathLike[str], *, exact: bool = False) -> NamedTensor:
    """The tensor of this name.

    Args:
        name: a ``.tns`` file, a tensor of the registry, its file on the data path, or what ``load`` takes.
        exact: no surrogate.

    Raises:
        WorkloadError: unknown, unreadable, or a tensor of the registry whose file is not there.
    """
    text = os.fspath(name)
    file = _tensor_file(text)
    if file is not None and suffix_of(file) == ".tns":
        tensor = read_tns(file)
        return NamedTensor(file.name.partition(".")[0], "real", tensor)
    found = load(text, exact=exact)
    return NamedTensor(found.name, found.source, SparseTensor.from_matrix(found.matrix), found.notice)


def _tensor_file(text: str) -> Path | None:
    """The file that is meant, of a tensor or of a matrix."""
    if not registry.known(text) or Path(text).is_file():
        return file_of(text)
    entry = registry.lookup(text)
    if entry.is_matrix:
        return file_of(text)
    found = next(filter(None, (cache.find(each) for each in (entry.name, *entry.aliases))), None)
    if found is None:
        fix = f"put {entry.name}.tns into a folder on FIBERSCOPE_DATA"
        raise WorkloadError(
            "its file is not there, and tensors have no surrogates", where=entry.name, fix=fix
        )
    return found
