"""Machines of a user's own: a folder with a ``machine.py``, whose modules import one another as siblings."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from zlib import crc32

from fiberscope.accelerators import module_cache
from fiberscope.accelerators.errors import ConfigurationError

__all__ = ["MACHINE", "file_of", "is_path", "package_name", "plain_name", "run_file"]

MACHINE = "machine.py"  # of a folder
EXPECTED = f"a machine of your own is a folder with a {MACHINE}, or a Python file"
PACKAGE = "__init__.py"
PREFIX = "fiberscope_machine_"  # of the package of a folder


def is_path(name: str) -> bool:
    """Return whether a machine is named by where it is: a Python file, or a folder as in ``./mine``."""
    return name.endswith(".py") or os.path.basename(name) != name or name in (os.curdir, os.pardir)


def file_of(name: str | Path) -> Path:
    """The Python file of a machine that is given by this file or by its folder."""
    path = Path(name)
    return path / MACHINE if path.is_dir() else path


def package_name(folder: Path) -> str:
    """Return the package of the modules of a folder; two folders of the same name have two packages."""
    place = folder.resolve()
    return f"{PREFIX}{re.sub(r'[^a-zA-Z0-9]', '_', place.name)}_{crc32(bytes(place)):x}"


def plain_name(module: str) -> str:
    """Return the name of a module without the package of its folder, if it is of a user's file."""
    return module.partition(".")[2] if module.startswith(PREFIX) else module


def run_file(path: Path, expected: str = EXPECTED) -> ModuleType:
    """A user's file as a module, read anew each time with those beside it that it imports.

    Its folder is a package, so that it writes ``from .parts import Queues``; ``__init__.py`` may be there.

    Args:
        path: the path of the file.
        expected: what should be there, for a message.

    Raises:
        ConfigurationError: there is none, or it cannot be run.
    """
    if not path.is_file():
        raise ConfigurationError(f"{path}: there is no such file; {expected}")
    try:
        with module_cache.use_compiled():
            return importlib.import_module(f"{_package(path.parent)}.{path.stem}")
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{_place(path, error)}: {type(error).__name__}: {error}") from error


def _package(folder: Path) -> str:
    """Make a package of a folder, with nothing imported yet; its name."""
    name = package_name(folder)
    for module in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
        del sys.modules[module]
    importlib.invalidate_caches()  # a file may be newer than what is known of its folder
    spec = _package_spec(name, folder.resolve())
    sys.modules[name] = package = importlib.util.module_from_spec(spec)
    if spec.loader is not None:
        spec.loader.exec_module(package)
    return name


def _package_spec(name: str, folder: Path) -> ModuleSpec:
    if (folder / PACKAGE).is_file():
        package = importlib.util.spec_from_file_location(name, folder / PACKAGE)
        assert package is not None  # its name ends in .py
        return package
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return spec


def _place(path: Path, error: BaseException) -> str:
    """File and line at which running a file failed, of those in its folder."""
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        return f"{path.with_name(Path(error.filename).name)}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    folder = path.parent.resolve()
    beside = [frame for frame in frames if Path(frame.filename).parent == folder]
    return f"{path.with_name(Path(beside[-1].filename).name)}:{beside[-1].lineno}" if beside else f"{path}:1"
