"""Storage of in-memory operands as files, for the processes of a sweep."""

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


@contextmanager
def saved_operands(workloads: object, store: str | Path | None) -> Iterator[dict[str, str]]:
    """Save the in-memory matrices among the workloads of a sweep during the context.

    Args:
        workloads: one or several texts, paths, matrices of numpy or scipy, or ``Workload`` objects; or names
            by text, which may be empty.
        store: the store of the sweep; in a local store, the files are permanent.

    Yields:
        The text of each workload, with its name in tables or an empty name.

    Raises:
        InputError: two matrices have the same name.
        WorkloadError: an object is no matrix.
    """
    if isinstance(workloads, Mapping):
        yield dict(workloads)
        return
    is_single = isinstance(workloads, str) or not isinstance(workloads, Sequence)
    listed = [workloads] if is_single else list(workloads)  # type: ignore[call-overload]
    items = [shlex.quote(str(workload)) if isinstance(workload, Path) else workload for workload in listed]
    texts = [workload for workload in items if isinstance(workload, str)]
    if len(texts) == len(items):
        yield dict.fromkeys(texts, "")
        return
    if store is not None and not address_of(str(store)):
        yield _save(items, Path(store, OPERANDS))
        return
    with tempfile.TemporaryDirectory(prefix="fiberscope-") as folder:
        yield _save(items, Path(folder))


def _save(workloads: Sequence[object], folder: Path) -> dict[str, str]:
    names: dict[str, str] = {}
    for workload in workloads:
        if isinstance(workload, str):
            names[workload] = ""
            continue
        matrix = workload if isinstance(workload, Workload) else from_scipy(workload)
        text = shlex.quote(str(_save_matrix(matrix, folder)))
        if text not in names and matrix.name in names.values():
            fix = 'fiberscope.workloads.from_scipy(matrix, "name") names a matrix'
            raise InputError(f"two workloads in memory are called {matrix.name}; {fix}")
        names[text] = matrix.name
    return names


def _save_matrix(workload: Workload, folder: Path) -> Path:
    """Save a matrix in a folder named by its content, and return the path."""
    name = re.sub(r"[^\w.-]", "_", workload.name)
    path = folder / workload.digest[:12] / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.npz")
        sparse.save_npz(partial, workload.matrix)
        partial.rename(path)
    return path
