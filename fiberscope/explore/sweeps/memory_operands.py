"""Operands in memory as files, so that the processes of a sweep can read them."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.results.report.remote_files import address_of
from fiberscope.results.store_layout import OPERANDS
from fiberscope.workloads import Workload, from_scipy
from fiberscope.workloads.sparse import sparse

__all__ = ["saved_operands"]


@contextmanager
def saved_operands(workloads: object, store: str | Path | None) -> Iterator[dict[str, str]]:
    """Save the matrices among the workloads of a sweep while the context lasts.

    Args:
        workloads: one or several texts, paths, matrices of numpy or scipy, or ``Workload`` objects; or the
            names of texts, which may be empty.
        store: the store of the sweep. If it is a folder of this computer, the files stay in it.

    Yields:
        The text of each workload, with the name that tables show; an empty name without one.

    Raises:
        InputError: two matrices have the same name.
        WorkloadError: an object that is no matrix.
    """
    if isinstance(workloads, Mapping):
        yield dict(workloads)
        return
    alone = isinstance(workloads, str) or not isinstance(workloads, Sequence)
    every = [workloads] if alone else list(workloads)  # type: ignore[call-overload]
    several = [shlex.quote(str(each)) if isinstance(each, Path) else each for each in every]
    texts = [workload for workload in several if isinstance(workload, str)]
    if len(texts) == len(several):
        yield dict.fromkeys(texts, "")
        return
    if store is not None and not address_of(str(store)):
        yield _save(several, Path(store, OPERANDS))
        return
    with tempfile.TemporaryDirectory(prefix="fiberscope-") as folder:
        yield _save(several, Path(folder))


def _save(workloads: Sequence[object], folder: Path) -> dict[str, str]:
    names: dict[str, str] = {}
    for workload in workloads:
        if isinstance(workload, str):
            names[workload] = ""
            continue
        matrix = workload if isinstance(workload, Workload) else from_scipy(workload)
        text = shlex.quote(str(_written(matrix, folder)))
        if text not in names and matrix.name in names.values():
            fix = 'fiberscope.workloads.from_scipy(matrix, "name") names a matrix'
            raise InputError(f"two workloads in memory are called {matrix.name}; {fix}")
        names[text] = matrix.name
    return names


def _written(workload: Workload, folder: Path) -> Path:
    """Return the file of a matrix, in a folder for its content, so that the same matrix has the same file."""
    name = re.sub(r"[^\w.-]", "_", workload.name)
    path = folder / workload.digest[:12] / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}.npz")
        sparse.save_npz(half, workload.matrix)
        half.rename(path)
    return path
