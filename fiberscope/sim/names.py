"""Names: how parts that are alike are numbered, the family that they make, and advice on a wrong name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable

MOST_NAMED = 10

_NUMBER = re.compile(r"_?\d+$")


def numbered(name: str, count: int) -> list[str]:
    """Return the names of ``count`` parts, ``pe00`` to ``pe31``: sorted, they keep their order.

    A number has two digits, or as many as the last number needs. Up to 100 parts, names do not depend on the
    count.
    """
    digits = max(2, len(str(count - 1)))
    return [f"{name}{i:0{digits}d}" for i in range(count)]


def family_name(component: str) -> str:
    """Return the name of a family of like components: ``pe.merger`` for ``gamma.pe00.merger``.

    The instance name without the machine's own scope, and without the numbers that end its parts.
    """
    path = component.partition(".")[2] or component
    return ".".join(_NUMBER.sub("", part) or part for part in path.split("."))


def placed(family: str, families: Container[str]) -> str:
    """The family itself, or that of what it is within, where that stands there as a whole."""
    whole = family.rpartition(".")[0]
    return whole if family not in families and whole in families else family


def nearest(word: str, choices: Iterable[str]) -> str:
    """Advice naming what looks most like a wrong name, or all (of many the first) where nothing does.

    For this room and ``hw``. Those above have that of ``fiberscope.workloads.errors``: neither room may
    import the other.
    """
    names = list(dict.fromkeys(choices))
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.4)
    if close:
        return f"did you mean {' or '.join(close)}?"
    rest = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return f"it has {', '.join([*names[:MOST_NAMED], *rest]) or 'none'}"
