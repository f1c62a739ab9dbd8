"""Reader of MATLAB files in a separate process, as scipy's reader may crash on a damaged file.

Run as a program, the module reads a file from standard input. It writes the matrix to standard output as
``numpy.savez`` does: the array ``dense``, the arrays of a sparse layout, or the text ``error``.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.errors import WorkloadError, suggest

_COLLECTION = "Problem"  # SuiteSparse keeps its matrix as field A of a structure of this name


def read_matlab(stream: BinaryIO, location: str, variable: str = "") -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a matrix in a file: ``dense``, or the arrays of a sparse layout.

    Args:
        stream: the file, at its beginning.
        location: name of the file, for errors.
        variable: name of the matrix, or of a field of SuiteSparse's structure; empty for the only matrix.

    Raises:
        WorkloadError: the file is damaged, has no such matrix, has several matrices and none is named, or has
            no numbers in the matrix.
    """
    program = "from fiberscope.workloads.matlab_file import _main; _main()"
    command = [sys.executable, "-c", program, location, variable]
    with tempfile.TemporaryFile() as output:
        # the child reads a plain file by its descriptor, and gets the content of any other stream
        source = {"stdin": stream} if isinstance(stream, io.BufferedReader) else {"input": stream.read()}
        stream.seek(0)
        child = subprocess.run(command, stdout=output, stderr=subprocess.DEVNULL, check=False, **source)
        if child.returncode != 0:  # a crash: all other faults come as ``error``
            raise WorkloadError(
                "not a matrix of MATLAB version 5 to 7.2: the file is damaged", location=location
            )
        output.seek(0)
        with np.load(output, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    if "error" in arrays:
        raise WorkloadError(str(arrays["error"]), location=location)
    return arrays


def _main() -> None:
    """Read a file from standard input and write its matrix to standard output."""
    from scipy.io import loadmat  # noqa: PLC0415 - it brings scipy.linalg, which nothing else needs

    source: Any = sys.stdin.buffer if sys.stdin.seekable() else io.BytesIO(sys.stdin.buffer.read())
    try:
        arrays = _to_arrays(_select_matrix(loadmat(source), *sys.argv[1:]))
    except Exception as error:  # scipy raises many types of errors for damaged files
        reason = str(error) if isinstance(error, WorkloadError) else _describe_damage(error)
        arrays = {"error": np.asarray(" ".join(reason.split()))}
    archive = io.BytesIO()
    np.savez(archive, **arrays)  # type: ignore[arg-type]
    sys.stdout.buffer.write(archive.getbuffer())


def _describe_damage(error: Exception) -> str:
    return f"not a matrix of MATLAB version 5 to 7.2 ({type(error).__name__}: {error})"


def _select_matrix(content: dict[str, Any], location: str, variable: str) -> Any:  # noqa: ANN401
    """Return the named or only matrix; in SuiteSparse's structure, the named field or field A.

    The other variables of a file with SuiteSparse's structure are ignored.
    """
    # scipy adds ``__header__``, ``__version__`` and ``__globals__``
    matrices = {name: value for name, value in content.items() if not name.startswith("__")}
    if _COLLECTION in content:
        record = content[_COLLECTION]
        matrices = {name: record[name][0, 0] for name in record.dtype.names}
    matrices = {name: value for name, value in matrices.items() if hasattr(value, "ndim")}
    if variable and variable not in matrices:
        raise WorkloadError(f"it has no array {variable}", fix=suggest(variable, matrices))
    if variable or (_COLLECTION in content and "A" in matrices):
        return matrices[variable or "A"]
    if len(matrices) != 1:
        names = ", ".join(f"{location}:{name}" for name in matrices) or "it has none"
        raise WorkloadError(f"it holds {len(matrices)} matrices", fix=f"name one of them: {names}")
    return next(iter(matrices.values()))


def _to_arrays(matrix: Any) -> dict[str, npt.NDArray[Any]]:  # noqa: ANN401
    """Return a matrix as arrays without Python objects."""
    if hasattr(matrix, "format"):
        content = matrix if matrix.format == "csc" else matrix.tocsc()
        arrays = {"format": np.asarray("csc"), "shape": np.asarray(content.shape)}
        return arrays | {name: getattr(content, name) for name in ("data", "indices", "indptr")}
    if matrix.dtype.hasobject:
        raise WorkloadError("it holds no matrix of numbers, but a cell array or a structure")
    return {"dense": matrix}
