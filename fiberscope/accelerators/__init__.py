"""The machines, one folder each, found by name and imported only when asked for; and those of a user's."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.user_machines import file_of, is_path, run_file
from fiberscope.workloads.errors import nearest

if TYPE_CHECKING:
    from types import ModuleType

    from fiberscope.accelerators.machine import Accelerator

if __name__ != "fiberscope.accelerators":  # a second name would make a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")

__all__ = ["ConfigurationError", "find", "folder", "installed", "names", "summary"]


def names() -> list[str]:
    """The names of all accelerators, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def installed() -> dict[str, str]:
    """The modules of machines that other packages bring, by name: their entry points ``fiberscope.machines``.

    A name that ships is left out.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  (it reads of every package there is)

    modules = {entry.name: entry.module for entry in entry_points(group="fiberscope.machines")}
    return {name: modules[name] for name in sorted(modules.keys() - set(names()))}


def summary(name: str) -> str:
    """Return the summary of the accelerator of this name; read from its file, as importing it takes long."""
    tree = ast.parse(_origin(name).read_text(encoding="utf-8"))
    words = (word for word in ast.walk(tree) if isinstance(word, ast.keyword) and word.arg == "summary")
    return str(ast.literal_eval(next(words).value))


def folder(name: str) -> Path:
    """Return the folder of an accelerator that is given as to ``find``.

    Raises:
        ConfigurationError: there is none of this name.
    """
    return (file_of(name) if is_path(name) else _origin(name)).parent


def find(name: str) -> Accelerator[Any]:
    """The descriptor of the accelerator with this name, or of the one in this folder or file (``./mine``).

    Raises:
        ConfigurationError: there is none.
    """
    if is_path(name):
        return _descriptor(run_file(file_of(name)), name)
    if name in names():
        return _descriptor(importlib.import_module(_module(name)), name)
    return _descriptor(_brought(name), name)


def _module(name: str) -> str:
    """The module with the descriptor of this name; what ships needs no look at what is installed."""
    if name in names():
        return f"{__name__}.{name}"
    others = installed()
    if name not in others:
        raise ConfigurationError(f"no accelerator is called {name}; {nearest(name, [*names(), *others])}")
    return others[name]


def _brought(name: str) -> ModuleType:
    """The module of a machine that another package brings."""
    module = _module(name)
    try:
        return importlib.import_module(module)
    except Exception as error:
        fault = f"{name}: the package that brings it cannot be imported: {type(error).__name__}: {error}"
        raise ConfigurationError(fault) from error


def _origin(name: str) -> Path:
    """The file with the descriptor of this name."""
    spec = importlib.util.find_spec(_module(name))
    if spec is None or spec.origin is None:
        raise ConfigurationError(f"{name}: the package that brings it has no module {_module(name)}")
    return Path(spec.origin)


def _descriptor(module: ModuleType, name: str) -> Accelerator[Any]:
    from fiberscope.accelerators.machine import Accelerator  # noqa: PLC0415  (a list of names needs nothing heavy)

    descriptor = getattr(module, "ACCELERATOR", None)
    if not isinstance(descriptor, Accelerator):
        raise ConfigurationError(f"{name}: it should have an Accelerator, called ACCELERATOR")
    return descriptor
