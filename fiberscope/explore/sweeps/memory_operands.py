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
from fiberscope.results.report.remote_files import find_address
from fiberscope.results.store_layout import OPERANDS
from fiberscope.workloads import Workload, from_scipy
from fiberscope.workloads.sparse import sparse


@contextmanager
def save_operands(workloads: object, store: str | Path | None) -> Iterator[dict[str, str]]:
    """Save the in-memory matrices among the workloads of a sweep during the context.

    Args:
        workloads: a workload, a sequence of workloads, or a mapping from the texts of workloads to their
            names, whose content is yielded unchanged. A workload is a text as on the command line, a path, a
            matrix (see ``from_scipy``), or a ``Workload``.
        store: the store of the sweep. Files in a local store remain after the context. With a remote store or
            None, the files are in a temporary folder.

    Yields:
        A mapping from the text of each workload to its name in tables. The name is empty if the text is the
        name. The text of a matrix is the path of its file.

    Raises:
        InputError: two different matrices have the same name. A matrix without a name is called ``memory``.
        WorkloadError: an object is not a matrix.
    """
    if isinstance(workloads, Mapping):
        yield dict(workloads)
        return
    # A matrix is no ``Sequence``, so that it is a single workload
    is_single = isinstance(workloads, str) or not isinstance(workloads, Sequence)
    workload_list = [workloads] if is_single else list(workloads)  # type: ignore[call-overload]
    is_in_memory = any(not isinstance(workload, str | Path) for workload in workload_list)
    if is_in_memory and (store is None or find_address(str(store))):
        with tempfile.TemporaryDirectory(prefix="fiberscope-") as folder:
            yield _save_matrices(workload_list, Path(folder))
        return
    yield _save_matrices(workload_list, Path(store or "", OPERANDS))  # saves nothing if all are texts


def _save_matrices(workloads: Sequence[object], folder: Path) -> dict[str, str]:
    """Save the matrices among ``workloads`` in ``folder``; return all names by text."""
    names: dict[str, str] = {}
    for workload in workloads:
        if isinstance(workload, str | Path):
            names[workload if isinstance(workload, str) else shlex.quote(str(workload))] = ""
            continue
        matrix = workload if isinstance(workload, Workload) else from_scipy(workload)
        text = shlex.quote(str(_save_matrix(matrix, folder)))
        # Equal matrices of one name have one file, and so one text: they are one workload
        if text not in names and matrix.name in names.values():
            hint = 'name a matrix with fiberscope.workloads.from_scipy(matrix, "name")'
            raise InputError(f"two different matrices are called {matrix.name}; {hint}")
        names[text] = matrix.name
    return names


def _save_matrix(workload: Workload, folder: Path) -> Path:
    """Save a matrix as ``DIGEST/NAME.npz``, unless this file exists, and return its path.

    The path follows from content and name, so that a later sweep of the same matrix finds the file.
    """
    name = re.sub(r"[^\w.-]", "_", workload.name)
    path = folder / workload.digest[:12] / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Rename a complete file, so that a concurrent sweep with this store never reads a part of it.
        partial = path.with_suffix(f".{os.getpid()}.npz")
        sparse.save_npz(partial, workload.matrix)
        partial.rename(path)
    return path
