"""Parameters of the modules at the two ends of a merger, and the wires between them.

An event model has what both know in one place. Here each has a part: the store of partial fibers is with the
ways, and ``stored`` writes it; the table of lists is behind the merger, and ``lists`` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Content, Payload
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import index_bits
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.merge_lists import Lists

__all__ = [
    "AREA_BITS",
    "POINTS",
    "TablesParameters",
    "WaysParameters",
    "lists_written",
    "partials_written",
    "tables_of",
]

AREA_BITS = 2
POINTS = 2  # the area of a task's last fiber: none


@dataclass(frozen=True)
class TablesParameters(ValueParameters):
    """Parameters of both ends of a merger; widths in bits.

    Args:
        lists: that the tasks have which are under way, 2 to 65536.
        partials: elements of all partial fibers of a round, 2 to 65536.
        carried: references that travel along with a list.
        coordinate_bits, reference_bits: of coordinates and references, which also hold the number of a list.
        value_bits: bits of a value that is a whole number, 1 to 53.
        values: their type.
    """

    lists: int = number(64, 2, 1 << 16)
    partials: int = number(64, 2, 1 << 16)
    carried: int = number(0, 0, 8)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62)
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()

    @property
    def element(self) -> Content:
        """Fields of an element, as a merger takes it."""
        return {
            "control": 1,
            "coordinate": self.coordinate_bits,
            "reference": self.reference_bits,
            "value": self.value_field,
        }


@dataclass(frozen=True)
class WaysParameters(TablesParameters):
    """Parameters of the ways of a merger.

    Args:
        lists, partials, carried, coordinate_bits, reference_bits, value_bits, values: of both ends.
        radix: ways, 2 to 64.
        fibers: the fibers of the level, 1 to 65536.
        elements: of all its fibers, 1 to 65536.
        waiting: tasks whose lists have come, 1 to 64.
    """

    radix: int = number(8, 2, 64)
    fibers: int = number(64, 1, 1 << 16)
    elements: int = number(512, 1, 1 << 16)
    waiting: int = number(4, 1, 64)

    @property
    def place_bits(self) -> int:
        """Bits that number the elements of the level, or of the store, and what is behind the last."""
        return max(self.elements, self.partials).bit_length()


def tables_of(lists: Lists) -> dict[str, object]:
    """Places for what two ends of a merger had to know, powers of two."""
    places = {"lists": lists.most_lists, "partials": lists.most_partial}
    return {
        "carried": len(lists.carried),
        **{name: 1 << index_bits(max(2, most)) for name, most in places.items()},
    }


def lists_written(parameters: TablesParameters) -> Content:
    """Fields of what a table of lists is written by."""
    written: Content = {
        "number": Payload(index_bits(parameters.lists)),
        "coordinate": Payload(parameters.coordinate_bits),
    }
    along = {f"carried{i}": Payload(parameters.reference_bits) for i in range(parameters.carried)}
    return written | along


def partials_written(parameters: TablesParameters) -> Content:
    """Fields of what a store of partial fibers is written by: an element, or the end of a fiber."""
    return {
        "ends": Payload(1),
        "area": Payload(1),
        "coordinate": Payload(parameters.coordinate_bits),
        "reference": Payload(parameters.reference_bits),
        "value": Payload(parameters.value_field.width),
    }
