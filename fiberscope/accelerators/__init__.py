"""Look-up of machines by name: shipped machines, machines in other packages, and machines of users.

Each shipped machine is a package in this folder. A machine is imported only when ``find`` is called for it.
Its module has the descriptor, an ``Accelerator``, in the variable ``ACCELERATOR``.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.user_machines import file_of, is_path, run_file
from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from types import ModuleType

    from fiberscope.accelerators.machine import Accelerator

if __name__ != "fiberscope.accelerators":  # a second name would make a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")

__all__ = ["ConfigurationError", "find", "folder", "installed", "names", "summary"]


def names() -> list[str]:
    """Return the sorted names of all shipped accelerators."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def installed() -> dict[str, str]:
    """Return the modules of machines in other packages, by name.

    They are the entry points of the group ``fiberscope.machines``. Names of shipped accelerators are omitted.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  (it reads the metadata of all packages)

    modules = {entry.name: entry.module for entry in entry_points(group="fiberscope.machines")}
    return {name: modules[name] for name in sorted(modules.keys() - set(names()))}


def summary(name: str) -> str:
    """Return the summary of an accelerator, read from the syntax tree of its source, as an import is slow.

    Raises:
        ConfigurationError: if no accelerator has this name.
    """
    tree = ast.parse(_origin(name).read_text(encoding="utf-8"))
    keywords = (node for node in ast.walk(tree) if isinstance(node, ast.keyword))
    return str(ast.literal_eval(next(keyword.value for keyword in keywords if keyword.arg == "summary")))


def folder(name: str) -> Path:
    """Return the folder of an accelerator.

    Args:
        name: name or path of the accelerator, as for ``find``.

    Raises:
        ConfigurationError: if no accelerator has this name.
    """
    return (file_of(name) if is_path(name) else _origin(name)).parent


def find(name: str) -> Accelerator[Any]:
    """Return the descriptor of an accelerator.

    Args:
        name: name of an accelerator, or path of a user's folder or file, for example ``./mine``.

    Raises:
        ConfigurationError: if there is no such accelerator, or if its module cannot be imported or has no
            descriptor.
    """
    if is_path(name):
        return _descriptor(run_file(file_of(name)), name)
    if _is_shipped(name):
        return _descriptor(importlib.import_module(_module(name)), name)
    return _descriptor(_import_package_machine(name), name)


def _is_shipped(name: str) -> bool:
    """Return whether a shipped accelerator has this name; a look at one folder is faster than all names."""
    return any(name in os.listdir(place) and Path(place, name, "__init__.py").is_file() for place in __path__)


def _module(name: str) -> str:
    """Return the name of the module with the descriptor of an accelerator.

    Shipped names are looked up first, since reading the entry points of all packages is slow.
    """
    if _is_shipped(name):
        return f"{__name__}.{name}"
    others = installed()
    if name not in others:
        raise ConfigurationError(f"no accelerator is called {name}; {suggest(name, [*names(), *others])}")
    return others[name]


def _import_package_machine(name: str) -> ModuleType:
    """Import and return the module of a machine in another package."""
    module = _module(name)
    try:
        return importlib.import_module(module)
    except Exception as error:
        fault = f"{name}: the package that brings it cannot be imported: {type(error).__name__}: {error}"
        raise ConfigurationError(fault) from error


def _origin(name: str) -> Path:
    """Return the source file of the module with the descriptor."""
    spec = importlib.util.find_spec(_module(name))
    if spec is None or spec.origin is None:
        raise ConfigurationError(f"{name}: its package has no module {_module(name)}")
    return Path(spec.origin)


def _descriptor(module: ModuleType, name: str) -> Accelerator[Any]:
    from fiberscope.accelerators.machine import Accelerator  # noqa: PLC0415  (a list of names needs nothing heavy)

    descriptor = getattr(module, "ACCELERATOR", None)
    if not isinstance(descriptor, Accelerator):
        raise ConfigurationError(f"{name}: it should have an Accelerator, called ACCELERATOR")
    return descriptor
