"""Lazy imports: public names of a package whose modules are imported at first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def imported_at_first_use(
    package: str,
    homes: Mapping[str, str],
    advice: Callable[[ModuleNotFoundError], str | None] = lambda _error: None,
) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package (PEP 562) whose names are in other modules.

    No module of the package may have one of the names, as its import would replace the name.

    Args:
        package: name of the package.
        homes: module of each name.
        advice: returns an installation hint for a missing module, or None.
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
