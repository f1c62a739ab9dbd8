"""Marks of a surrogate wherever its name is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["DAGGER", "SURROGATE", "footnote", "mark"]

SURROGATE: Final = "surrogate"  # the source of an operand
DAGGER: Final = "†"


def mark(name: str, source: object) -> str:
    """Return a name as it is shown: with a dagger behind it if its source is a surrogate."""
    return f"{name}{DAGGER}" if source == SURROGATE else name


def footnote(names: Iterable[str]) -> str:
    """Return the note on the dagger, which names the surrogates; empty if there are none."""
    several = ", ".join(dict.fromkeys(names))
    text = f"{DAGGER} a surrogate with the shape and degrees of the real matrix, which was not at hand"
    return f"{text}: {several}" if several else ""
