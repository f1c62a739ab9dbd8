"""Libraries of optional extras, and the hint that names the extra to install."""

from __future__ import annotations

from typing import Final

from fiberscope.base.progress import install_commands

__all__ = ["advice", "missing"]

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


def advice(error: ModuleNotFoundError) -> str | None:
    """Return the hint for a module that was not found; None if no extra has it."""
    library = (error.name or "").partition(".")[0]
    return missing(library) if library in EXTRAS else None


def missing(library: str) -> str:
    """Say that a library is not installed, and how to install the extra that has it."""
    return f"{library} is not installed: {install_commands(EXTRAS[library])}"
