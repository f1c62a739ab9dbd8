"""Libraries of optional extras, and the hint that names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fiberscope.base.progress import install_commands

EXTRAS: Final = {
    "cocotb": "rtl",
    "cocotb_tools": "rtl",
    "dask": "sweep",
    "dask_jobqueue": "sweep",
    "distributed": "sweep",
    "duckdb": "sweep",
    "matplotlib": "plots",
    "optuna": "search",
    "pandas": "sweep",
    "perfetto": "perfetto",
    "pyarrow": "sweep",
    "pyosys": "area",
    "pyrtl": "rtl",
    "safetensors": "layers",
    "starlette": "live",
    "upath": "sweep",
    "uvicorn": "live",
}  # by library


def find_extra_hint(error: ModuleNotFoundError) -> str | None:
    """Return the hint for a module that was not found; None if no extra has it."""
    library = (error.name or "").partition(".")[0]
    return missing(library) if library in EXTRAS else None


@contextmanager
def name_extras(feature: str) -> Iterator[None]:
    """Add the required extra to the error of an import that fails because the extra is missing.

    Raises:
        ModuleNotFoundError: with the feature and the commands that install the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if hint := find_extra_hint(error):
            raise ModuleNotFoundError(f"{feature}: {hint}", name=error.name) from None
        raise


def missing(library: str) -> str:
    """Return a message that a library is not installed, with the commands that install its extra."""
    return f"{library} is not installed: {install_commands(EXTRAS[library])}"
