"""Public names of a package that are imported when first used, so that importing it costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

__all__ = ["imported_at_first_use"]


def imported_at_first_use(
    package: str,
    homes: Mapping[str, str],
    advice: Callable[[ModuleNotFoundError], str | None] = lambda _error: None,
) -> Callable[[str], object]:
    """The ``__getattr__`` of a package (PEP 562) whose names are in other modules.

    No module of the package may be called as one of the names: once imported, it would take its place.

    Args:
        package: its name.
        homes: the module of each name.
        advice: what to install for a module that was not found; None if it does not know.
    """

    def home_of(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package} has no attribute {name}")
        try:
            return getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if hint := advice(error):
                raise ModuleNotFoundError(f"{package}.{name}: {hint}", name=error.name) from None
            raise

    return home_of
