"""Ranges of single parameters, from the bounds of their models; constraints between parameters excluded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, PlainSerializer
from pydantic.fields import FieldInfo

from fiberscope.accelerators.configuration import format_value, leaf_fields


@dataclass(frozen=True)
class Range:
    """The range of a parameter: inclusive bounds or choices, as written in a configuration.

    A range with neither bounds nor choices allows any text.
    """

    minimum: object = None
    maximum: object = None
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a text such as ``1 to 256``, ``at least 1 B``, ``none or affinity``; empty for any text."""
        if self.choices:
            *others, last = self.choices
            return f"{', '.join(others)} or {last}" if others else last
        if self.maximum is None:
            return "" if self.minimum is None else f"at least {self.minimum}"
        return f"at most {self.maximum}" if self.minimum is None else f"{self.minimum} to {self.maximum}"


def ranges(model: type[BaseModel]) -> dict[str, Range]:
    """Return the range of every parameter of a configuration, by dotted key.

    Exclusive bounds of a field (``gt``, ``lt``) are not a part of its range.
    """
    return {key: _range(field) for key, field in leaf_fields(model)}


def _range(field: FieldInfo) -> Range:
    if field.annotation is bool:
        return Range(choices=("true", "false"))
    if get_origin(field.annotation) is Literal:
        return Range(choices=tuple(format_value(choice) for choice in get_args(field.annotation)))
    return Range(_bound(field, "ge"), _bound(field, "le"))


def _bound(field: FieldInfo, name: str) -> object:
    """Return the bound ``ge`` or ``le`` of a field, with its unit if the field is a quantity, or None."""
    bounds = [getattr(item, name) for item in field.metadata if hasattr(item, name)]
    texts: list[Any] = [item.func for item in field.metadata if isinstance(item, PlainSerializer)]
    return texts[0](bounds[0]) if bounds and texts else next(iter(bounds), None)
