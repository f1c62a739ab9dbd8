"""The machines, one folder each, found by name and imported only when asked for; and those of a user's."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from fiberscope.accelerators import built
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.workloads.errors import nearest

if TYPE_CHECKING:
    from types import ModuleType

    from fiberscope.accelerators.machine import Accelerator

if __name__ != "fiberscope.accelerators":  # a second name would make a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")

__all__ = ["ConfigurationError", "find", "names", "run_file", "summary"]


def names() -> list[str]:
    """The names of all accelerators, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def summary(name: str) -> str:
    """What the accelerator of this name is, in a line; read from its file, as importing it takes long."""
    spec = importlib.util.find_spec(f"{__name__}.{name}")
    assert spec is not None  # it is one of the names
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    words = (word for word in ast.walk(tree) if isinstance(word, ast.keyword) and word.arg == "summary")
    return str(ast.literal_eval(next(words).value))


def find(name: str) -> Accelerator[Any]:
    """The descriptor of the accelerator with this name, or of the one in this file (``my/machine.py``).

    Raises:
        ConfigurationError: there is none.
    """
    if name.endswith(".py"):
        return _descriptor(run_file(Path(name)), name)
    known = names()
    if name not in known:
        raise ConfigurationError(f"no accelerator is called {name}; {nearest(name, known)}")
    return _descriptor(importlib.import_module(f"fiberscope.accelerators.{name}"), name)


def _descriptor(module: ModuleType, name: str) -> Accelerator[Any]:
    from fiberscope.accelerators.machine import Accelerator  # noqa: PLC0415  (a list of names needs nothing heavy)

    descriptor = getattr(module, "ACCELERATOR", None)
    if not isinstance(descriptor, Accelerator):
        raise ConfigurationError(f"{name}: it should have an Accelerator, called ACCELERATOR")
    return descriptor


def run_file(path: Path) -> ModuleType:
    """A user's file as a module, read anew each time; its own folder is not searched for others.

    Raises:
        ConfigurationError: there is none, or it cannot be run.
    """
    if not path.is_file():
        raise ConfigurationError(f"{path}: there is no such file; a machine of one's own is a Python file")
    name = f"fiberscope_machine_{path.stem}_{crc32(bytes(path.resolve())):x}"  # two of the same name are two
    spec = built.spec(path.stem, path) or importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # its name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for what looks itself up there, as pydantic's models do
    try:
        with built.used():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = _line_in(path, error)
        raise ConfigurationError(f"{path}:{line}: {type(error).__name__}: {error}") from error
    return module


def _line_in(path: Path, error: BaseException) -> int:
    """The line of a file at which running it failed."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return max((frame.lineno or 1 for frame in frames if Path(frame.filename) == path.absolute()), default=1)
