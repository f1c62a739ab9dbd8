"""The machines, one folder each, found by name and imported only when asked for."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from accelerators.errors import ConfigurationError
from workloads.errors import nearest

if TYPE_CHECKING:
    from accelerators.machine import Accelerator

__all__ = ["ConfigurationError", "find", "names"]


def names() -> list[str]:
    """The names of all accelerators, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def find(name: str) -> Accelerator[Any]:
    """The descriptor of the accelerator with this name.

    Raises:
        ConfigurationError: there is none.
    """
    known = names()
    if name not in known:
        raise ConfigurationError(f"no accelerator is called {name}; {nearest(name, known)}")
    descriptor: Accelerator[Any] = importlib.import_module(f"accelerators.{name}").ACCELERATOR
    return descriptor
