"""Names of parts that are alike: how they are numbered, and the family that they make."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"_?\d+$")


def numbered(name: str, count: int) -> list[str]:
    """The names of so many parts, ``pe00`` to ``pe31``: sorted, they keep their order."""
    digits = len(str(count - 1))
    return [f"{name}{i:0{digits}d}" for i in range(count)]


def family_name(component: str) -> str:
    """What all that are alike are called: ``pe.merger`` for ``gamma.pe00.merger``.

    The instance name without the machine's own scope, and without the numbers that end its parts.
    """
    path = component.partition(".")[2] or component
    return ".".join(_NUMBER.sub("", part) or part for part in path.split("."))
