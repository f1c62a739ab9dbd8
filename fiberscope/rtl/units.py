"""The units that can take the place of a machine's parts: those of the catalogue, and those of its folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from fiberscope.accelerators.own import file_of, is_path, run_file
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.block import RtlBlock

__all__ = ["units"]

FILES = "*_rtl.py"  # beside the components, as in ``hw``


def units(accelerator: str) -> Mapping[str, RtlBlock]:
    """The units by name; those in the folder of a machine of one's own go first.

    Raises:
        ConfigurationError: a file there cannot be run.
    """
    if not is_path(accelerator):
        return BLOCKS
    files = sorted(file_of(accelerator).resolve().parent.glob(FILES))
    return {**BLOCKS, **_own(tuple((file, file.stat().st_mtime_ns) for file in files))}


@lru_cache
def _own(files: tuple[tuple[Path, int], ...]) -> Mapping[str, RtlBlock]:
    """The units of files, each with the time at which it was written."""
    made = [vars(run_file(file)) for file, _written in files]
    own = (one for module in made for one in module.values() if isinstance(one, RtlBlock))
    return {one.name: one for one in own}
