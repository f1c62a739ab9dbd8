"""Which values a parameter may have by itself, as its model bounds it; not what several must agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, PlainSerializer
from pydantic.fields import FieldInfo

from fiberscope.accelerators.configuration import format_value, leaf_fields

__all__ = ["Range", "ranges"]


@dataclass(frozen=True)
class Range:
    """Bounds, both included, or choices; as a configuration writes them. What has neither is any text."""

    minimum: object = None
    maximum: object = None
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``1 to 256``, ``at least 1 B``, ``none or affinity``; empty of any text."""
        if self.choices:
            *others, last = self.choices
            return f"{', '.join(others)} or {last}" if others else last
        if self.maximum is None:
            return "" if self.minimum is None else f"at least {self.minimum}"
        return f"at most {self.maximum}" if self.minimum is None else f"{self.minimum} to {self.maximum}"


def ranges(model: type[BaseModel]) -> dict[str, Range]:
    """The range of every parameter of a configuration, by dotted key."""
    return {key: _range(field) for key, field in leaf_fields(model)}


def _range(field: FieldInfo) -> Range:
    if field.annotation is bool:
        return Range(choices=("true", "false"))
    if get_origin(field.annotation) is Literal:
        return Range(choices=tuple(format_value(choice) for choice in get_args(field.annotation)))
    return Range(_bound(field, "ge"), _bound(field, "le"))


def _bound(field: FieldInfo, name: str) -> object:
    """A bound, a quantity with its unit."""
    bounds = [getattr(item, name) for item in field.metadata if hasattr(item, name)]
    texts: list[Any] = [item.func for item in field.metadata if isinstance(item, PlainSerializer)]
    return texts[0](bounds[0]) if bounds and texts else next(iter(bounds), None)
