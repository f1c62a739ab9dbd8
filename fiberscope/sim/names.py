"""Names: numbers of equal parts, the family name of equal parts, and advice for a wrong name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable
from functools import lru_cache

MAX_CHOICES = 10

_NUMBER = re.compile(r"_?\d+$")


def numbered(name: str, count: int) -> list[str]:
    """Return the names of ``count`` parts, ``pe00`` to ``pe31``. Their alphabetical order is their order.

    A number has two digits, or as many as the last number needs. Up to 100 parts, names do not depend on the
    count.
    """
    digits = max(2, len(str(count - 1)))
    return [f"{name}{i:0{digits}d}" for i in range(count)]


@lru_cache(maxsize=16384)  # a report asks several times for each component
def family_name(component: str) -> str:
    """Return the name of a family of equal components: ``pe.merger`` for ``gamma.pe00.merger``.

    The family name is the instance name without the machine's name and without the trailing numbers of its
    parts.
    """
    path = component.partition(".")[2] or component
    return ".".join(_NUMBER.sub("", part) or part for part in path.split("."))


def family_or_parent(family: str, families: Container[str]) -> str:
    """Return the family, or its parent if only the parent is among the families."""
    parent = family.rpartition(".")[0]
    return parent if family not in families and parent in families else family


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return advice that names the choices most similar to a wrong name, or else the first choices.

    This function is for ``sim`` and ``hw``. Other packages use ``fiberscope.workloads.errors``.
    """
    names = list(dict.fromkeys(choices))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    if close:
        return f"did you mean {' or '.join(close)}?"
    remainder = [f"and {len(names) - MAX_CHOICES} more"] if len(names) > MAX_CHOICES else []
    return f"it has {', '.join([*names[:MAX_CHOICES], *remainder]) or 'none'}"
