"""What stands in an extra that may not be installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fiberscope.errors import InputError

__all__ = ["sweeping"]

LIBRARIES = ("dask", "dask_jobqueue", "distributed", "duckdb", "optuna", "pandas", "pyarrow")


@contextmanager
def sweeping() -> Iterator[None]:
    """Make a line of what the extra ``sweep`` would have brought.

    Raises:
        InputError: within it a library of the extra was not found.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in LIBRARIES:
            raise
        raise InputError(
            f"{library} is not installed, which sweeps need: pip install 'fiberscope[sweep]'"
        ) from error
