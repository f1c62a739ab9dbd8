"""Marks of surrogates in names and footnotes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SURROGATE: Final = "surrogate"  # the source of an operand
DAGGER: Final = "†"


def mark(name: str, source: object) -> str:
    """Return the displayed name, with a dagger for a surrogate."""
    return f"{name}{DAGGER}" if source == SURROGATE else name


def format_footnote(names: Iterable[str]) -> str:
    """Return the footnote of the dagger with the names of the surrogates; empty without surrogates."""
    listed = ", ".join(dict.fromkeys(names))
    text = f"{DAGGER} a surrogate with the shape and degrees of the real matrix, which was not at hand"
    return f"{text}: {listed}" if listed else ""
