"""Prefix sums as RTL: the twin of ``fiberscope.hw.lanes.prefix_sum.PrefixSum``, in its three forms."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, Level, PrefixSum, depth, network
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.rows import LANES, Row, Rows
from fiberscope.hw.rtl.kit.twin import Signal, Streams, unless
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, elements, rows, unit


@dataclass(frozen=True)
class PrefixSumParameters(Parameters):
    """Parameters of a prefix sum; widths in bits.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: numbers a cycle, 1 to 64.
        width: bits of a number and of a sum, 1 to 62.
        reference_bits: bits of a reference, 0 to 64; 0 omits references, which are then 0.
        value_bits: bits of a value: 0, 32 or 64; 0 omits values, which are then 0.
    """

    form: str = choice(PARALLEL, FORMS)
    lanes: int = number(32, *LANES)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(0, 0, 64)
    value_bits: int = one_of(0, 0, 32, 64)


def port_contents(parameters: PrefixSumParameters) -> PortContents:
    """Return the ports: rows of numbers, and rows of sums with the same fields."""
    element = {"control": 1, "coordinate": parameters.width}
    element |= payload_widths(parameters.reference_bits, parameters.value_bits)
    return dict.fromkeys(("lanes", "sums"), Lanes(element, parameters.lanes))


def design(parameters: PrefixSumParameters, streams: Streams) -> None:
    """Create a stage for each level of the network, and a stage of adders for the offset.

    Stops pass through the adders like numbers, and are sent with zeros. The module does not check its inputs:
    no number may follow a stop in its row.
    """
    rows = Rows(streams, "lanes", "sums", depth(parameters.form, parameters.lanes))
    row = rows.entering
    for stage, level in enumerate(network(parameters.form, parameters.lanes)):
        row = rows.stage(stage, added(row, level))
    # ``leave`` has the registers of the last stage, whose adders add the offset.
    rows.leave(with_offset(rows, row))


def added(row: Row, level: Level) -> Row:
    """Return the row after a level of adders (``lanes.prefix_sum.network``), all of which read ``row``."""
    behind = list(row)
    for source, target in level:
        behind[target] = {
            **row[target],
            "coordinate": _sum(row[target]["coordinate"], row[source]["coordinate"]),
        }
    return behind


def with_offset(rows: Rows, row: Row) -> Row:
    """Return the row after the offset is added: the last sum of the array's previous row, in a register.

    The offset is 0 after reset and after the end of an array. Call this once, for the last stage.
    """
    offset: Signal = pyrtl.Register(len(row[0]["coordinate"]), "offset")
    sums = [_sum(lane["coordinate"], offset) for lane in row]
    after = unless(row[-1]["control"], sums[-1])  # an array ends with a stop in its last lane
    # Only a row that enters the last stage updates the offset; a stalled row would be added twice.
    offset.next <<= pyrtl.select(rows.arriving(), after, offset)
    return [{**lane, "coordinate": total} for lane, total in zip(row, sums, strict=True)]


def _sum(left: Signal, right: Signal) -> Signal:
    """Return a sum modulo 2**width."""
    return (left + right)[: len(left)]


BLOCK = unit(
    "prefix_sum",
    PrefixSum,
    PrefixSumParameters,
    port_contents,
    design,
    arguments=("form", "lanes", "width"),
    as_made={"reference_bits": 64, "value_bits": 64},
    status=(PENDING,),
    counters={"rows": rows("lanes"), "numbers": elements("lanes")},
    events=("numbers",),
    fibers=True,
    through=("lanes", "sums"),
)
