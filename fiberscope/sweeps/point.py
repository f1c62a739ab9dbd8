"""A point of a sweep: one run, as plain data that goes to any process of any computer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fiberscope.errors import InputError

__all__ = ["Point", "operands"]

_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<tensor>.+)", re.DOTALL)


@dataclass(frozen=True)
class Point:
    """One run.

    Args:
        command: that it is of: ``sim``, ``model``, ``analyze``, ``convert`` or ``graph``.
        accelerator: what runs, in words: an accelerator, a specification, files of the analytical model, the
            formats of a conversion, a graph.
        workload: on what, in words: A, A and B, or ``NAME=TENSOR`` for each.
        settings: parameters by dotted key.
        config: a YAML file of parameters below them.
        exact: refuse surrogates.
        places: where a file says what, as ``study.yaml:3:9``: by key of a study, and by dotted key.
    """

    command: str
    accelerator: str
    workload: str
    settings: Mapping[str, object] = field(default_factory=dict)
    config: str | None = None
    exact: bool = False
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def document(self) -> dict[str, Any]:
        """The point as JSON has it."""
        return asdict(self)

    def __str__(self) -> str:
        """What tells it from others."""
        given = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return " ".join(filter(None, (self.accelerator, self.workload, given)))


def operands(workload: str) -> tuple[list[str], dict[str, str]]:
    """The operands of a workload: those without a name in their order, and the others by name.

    Raises:
        InputError: a quote that is not closed.
    """
    try:
        words = shlex.split(workload)
    except ValueError as error:
        raise InputError(f"{workload}: {str(error).lower()}; quote names with blanks") from error
    named = {word: match for word in words if (match := _NAMED.fullmatch(word)) and ":" not in match["name"]}
    plain = [word for word in words if word not in named]
    return plain, {match["name"]: match["tensor"] for match in named.values()}
