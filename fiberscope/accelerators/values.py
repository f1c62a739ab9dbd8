"""Machines with a configurable value type: the setting ``value``, element sizes, and converted operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from fiberscope.accelerators.composition import CompositionParameters
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.hw.fibers.arrays import rounded_to
from fiberscope.hw.value_type import AUTO, DOUBLE, INTEGER, TYPES, ValueName, ValueType
from fiberscope.workloads.canonical import CsrArray

VALUE_BITS = {AUTO: 64, INTEGER: 32} | {name: kind.bits for name, kind in TYPES.items() if kind.floats}


class TypedParameters(CompositionParameters):
    """Parameters of a machine whose ``value`` is the type of all its values.

    ``METADATA_BITS`` of a subclass names the sizes in its section ``format`` that include a value, with the
    bits that lie beside the value. ``UNIT`` is the number of bits in which these sizes are counted. Sizes
    that are ``auto`` follow from the type.
    """

    METADATA_BITS: ClassVar[Mapping[str, int]]
    UNIT: ClassVar[int] = 8

    value: ValueName

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Replace each size ``auto`` in the section ``format`` by the size that the value type implies."""
        sizes, value = fields.get("format"), VALUE_BITS.get(fields.get("value", AUTO))
        if not isinstance(sizes, Mapping) or value is None:
            return fields
        implied = {key: (metadata + value) // cls.UNIT for key, metadata in cls.METADATA_BITS.items()}
        return fields | {
            "format": {**sizes, **{key: size for key, size in implied.items() if sizes.get(key) == AUTO}}
        }


def convert_values(
    value_type: ValueType, a: CsrArray, b: CsrArray, setting: str = "value"
) -> tuple[CsrArray, CsrArray]:
    """Return A and B with values of a type; the operands themselves if the type is a double.

    Args:
        value_type: type of the values.
        a, b: the operands.
        setting: key of the parameter that names the type, for error messages.

    Raises:
        ConfigurationError: if the type cannot represent a value; the message names the first such value.
    """
    if value_type is DOUBLE:
        return a, b
    first = _convert(value_type, "A", a, setting)
    return first, first if b is a else _convert(value_type, "B", b, setting)


def _convert(value_type: ValueType, name: str, matrix: CsrArray, setting: str) -> CsrArray:
    try:
        data = rounded_to(value_type, matrix.data, setting)
    except ValueError as error:
        raise ConfigurationError(f"{name}: {error}") from None
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)
