"""Parameters of the modules at the two ends of a merger, and the wires between them.

The two ends share their state in an event model. In hardware each end has a part of it. The store of
partial fibers is next to the ways, and the stream ``stored`` writes it. The table of lists is after the
merger, and the stream ``lists`` writes it.
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

AREA_BITS = 2  # bits of the number of an area of the store (0 or 1), or of ``POINTS``
POINTS = 2  # in place of an area: the fiber is the last of its task, and leaves as points


@dataclass(frozen=True)
class TablesParameters(ValueParameters):
    """Parameters of both ends of a merger.

    Args:
        lists: capacity for the lists of all tasks in flight, 2 to 65536.
        partials: capacity for the elements of all partial fibers of a round, 2 to 65536.
        carried: number of references that travel along with a list.
        coordinate_bits: width of a coordinate.
        reference_bits: width of a reference, which can also be the number of a list; the number of lists must
            fit.
        value_bits: width of a value of an integer type, 1 to 53.
        values: type of the values.
    """

    lists: int = number(64, 2, 1 << 16)
    partials: int = number(64, 2, 1 << 16)
    carried: int = number(0, 0, 8)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(own.lists + 1), 62))
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()

    @property
    def element(self) -> Content:
        """Return the fields of an element at the input of a merger."""
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
        lists, partials, carried, coordinate_bits, value_bits, values: see ``TablesParameters``.
        reference_bits: width of a reference; the numbers of lists and of fibers must fit.
        radix: number of ways, 2 to 64.
        fibers: number of fibers of the level, 1 to 65536.
        elements: number of elements of all fibers, 1 to 65536.
        waiting: largest number of tasks whose lists have arrived, 1 to 64.
    """

    radix: int = number(8, 2, 64)
    fibers: int = number(64, 1, 1 << 16)
    elements: int = number(512, 1, 1 << 16)
    waiting: int = number(4, 1, 64)
    reference_bits: int = number(
        32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(max(own.fibers, own.lists) + 1), 62)
    )

    @property
    def place_bits(self) -> int:
        """Return the width of a position in the level or the store, the end position included."""
        return max(self.elements, self.partials).bit_length()


def tables_of(lists: Lists) -> dict[str, object]:
    """Return the parameters for the tables that these lists need; capacities are powers of two from 2 up."""
    return {
        "carried": len(lists.carried),
        "lists": list_capacity(lists),
        "partials": _capacity(lists.most_partial),
    }


def list_capacity(lists: Lists) -> int:
    """Return the capacity of the table of lists: ``most_lists``, raised to a power of two."""
    return _capacity(lists.most_lists)


def _capacity(most: int) -> int:
    return 1 << index_bits(max(2, most))


def lists_written(parameters: TablesParameters) -> Content:
    """Return the fields of the stream that writes the table of lists."""
    written: Content = {
        "number": Payload(index_bits(parameters.lists)),
        "coordinate": Payload(parameters.coordinate_bits),
    }
    along = {f"carried{i}": Payload(parameters.reference_bits) for i in range(parameters.carried)}
    return written | along


def partials_written(parameters: TablesParameters) -> Content:
    """Return the fields of the stream that writes the store: an element, or the end of a fiber if ``ends``.

    An area has one bit here, as points do not go to the store.
    """
    return {
        "ends": Payload(1),
        "area": Payload(1),
        "coordinate": Payload(parameters.coordinate_bits),
        "reference": Payload(parameters.reference_bits),
        "value": Payload(parameters.value_field.width),
    }
