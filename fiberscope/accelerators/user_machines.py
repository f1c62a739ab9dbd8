"""Machines of users: folders with a ``machine.py``, whose modules import one another as siblings."""

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

MACHINE = "machine.py"  # file with the machine in a folder
EXPECTED = f"a machine of your own is a folder with a {MACHINE}, or a Python file"
PACKAGE = "__init__.py"
PREFIX = "fiberscope_machine_"  # prefix of the package name of a folder


def is_path(name: str) -> bool:
    """Return whether a machine is given by a path: of a Python file, or of a folder such as ``./mine``."""
    return name.endswith(".py") or os.path.basename(name) != name or name in (os.curdir, os.pardir)


def file_of(name: str | Path) -> Path:
    """Return the Python file of a machine that is given by its file or by its folder."""
    path = Path(name)
    return path / MACHINE if path.is_dir() else path


def package_name(folder: Path) -> str:
    """Return the package of the modules of a folder; two folders of the same name have two packages."""
    path = folder.resolve()
    return f"{PREFIX}{re.sub(r'[^a-zA-Z0-9]', '_', path.name)}_{crc32(bytes(path)):x}"


def plain_name(module: str) -> str:
    """Return the name of a module without the package of its folder, if it is of a user's file."""
    return module.partition(".")[2] if module.startswith(PREFIX) else module


def run_file(path: Path, expected: str = EXPECTED) -> ModuleType:
    """Run a user's file and return its module; the file and its siblings are read again at each call.

    The folder of the file becomes a package, with or without ``__init__.py``. The file can thus import
    siblings: ``from .parts import Queues``.

    The modules of an earlier call are dropped: their classes differ from the classes of this call.

    Args:
        path: path of the file.
        expected: description of the expected file, for the error message.

    Raises:
        ConfigurationError: if the file does not exist, or running it fails.
    """
    if not path.is_file():
        raise ConfigurationError(f"{path}: there is no such file; {expected}")
    try:
        with module_cache.use_compiled():
            return importlib.import_module(f"{_package(path.parent)}.{path.stem}")
    # A user's file that exits must not end the command.
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"{_error_location(path, error)}: {type(error).__name__}: {error}"
        ) from error


def _package(folder: Path) -> str:
    """Make a package of a folder, drop its imported modules, and return the name of the package."""
    name = package_name(folder)
    for module in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
        del sys.modules[module]
    importlib.invalidate_caches()  # a file may be newer than the cached listing of its folder
    spec = _package_spec(name, folder.resolve())
    sys.modules[name] = package = importlib.util.module_from_spec(spec)
    # A package without ``__init__.py`` has no loader, and no code to run.
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


def _error_location(path: Path, error: BaseException) -> str:
    """Return file and line of the innermost frame in the file's folder at which running the file failed."""
    # A syntax error has no frame in the file that contains it.
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        return f"{path.with_name(Path(error.filename).name)}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    folder = path.parent.resolve()
    local_frames = [frame for frame in frames if Path(frame.filename).parent == folder]
    if not local_frames:
        return f"{path}:1"
    return f"{path.with_name(Path(local_frames[-1].filename).name)}:{local_frames[-1].lineno}"
