"""The RTL units that can replace a machine's parts, from the catalogue and from the machine's folder.

A *unit* (``RtlBlock``) is the definition of a block from which its RTL module and its adapter follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fiberscope import accelerators
from fiberscope.accelerators.user_machines import file_of, is_path, run_file
from fiberscope.hw.rtl.catalogue import BLOCKS, PARTS
from fiberscope.hw.rtl.kit.block import RtlBlock

FILES = "*_rtl.py"  # files that define units, in the folder of the components


def units(accelerator: str) -> Mapping[str, RtlBlock]:
    """Return the units by name. Units in the machine's folder have priority over those of the catalogue.

    Args:
        accelerator: name of a shipped machine, or the path of a user's machine. For another name, only the
            units of the catalogue are returned.

    Raises:
        ConfigurationError: a file of a user's machine cannot be run.
    """
    if not is_path(accelerator):
        return {**BLOCKS, **_shipped_units(accelerator)}
    files = sorted(file_of(accelerator).resolve().parent.glob(FILES))
    return {**BLOCKS, **_user_units(tuple((file, file.stat().st_mtime_ns) for file in files))}


def measured_units(accelerator: str) -> Mapping[str, RtlBlock]:
    """Return the units whose netlists are measured, including those that the catalogue does not list.

    Args:
        accelerator: see ``units``; empty for the units of the catalogue alone.

    Raises:
        ConfigurationError: see ``units``.
    """
    if not accelerator or is_path(accelerator):
        return {**PARTS, **units(accelerator)}
    return {**PARTS, **_units_of(_modules(accelerator), listed=False), **units(accelerator)}


@lru_cache
def _shipped_units(accelerator: str) -> Mapping[str, RtlBlock]:
    """Return the units in the folder of a shipped machine."""
    return _units_of(_modules(accelerator))


def _modules(accelerator: str) -> Iterator[ModuleType]:
    """Import the modules of a shipped machine that define units; none for a name without a folder."""
    package = f"fiberscope.accelerators.{accelerator}"
    folder = Path(accelerators.__path__[0]) / accelerator
    return (import_module(f"{package}.{file.stem}") for file in sorted(folder.glob(FILES)))


@lru_cache
def _user_units(files: tuple[tuple[Path, int], ...]) -> Mapping[str, RtlBlock]:
    """Return the units of files. The time of change of each file is part of the key of the cache."""
    return _units_of(run_file(file) for file, _written in files)


def _units_of(modules: Iterable[ModuleType], *, listed: bool = True) -> Mapping[str, RtlBlock]:
    """Return the listed or the unlisted units among the variables of modules, by name.

    Of units with the same name, the last counts. Imported units count too.
    """
    blocks = (block for module in modules for block in vars(module).values())
    return {block.name: block for block in blocks if isinstance(block, RtlBlock) and block.listed == listed}
