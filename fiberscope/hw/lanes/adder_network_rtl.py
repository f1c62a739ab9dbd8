"""The forwarding adder network as RTL: the twin of ``fiberscope.hw.lanes.adder_network.AdderNetwork``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_

import pyrtl

from fiberscope.hw.lanes.adder_network import AdderNetwork, depth, level
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.rows import Row, Rows
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import Fields, Lanes, PortContents, rows, tokens, unit

LEAVES = (2, 4, 8, 16, 32, 64, 128)  # sizes for which the module is tested; the component allows 256
OPERAND_BITS = 32


@dataclass(frozen=True)
class AdderNetworkParameters(Parameters):
    """Parameters of an adder network; widths in bits.

    Args:
        leaves: a power of two, 2 to 128.
        id_bits: bits of the id of a virtual neuron, 1 to 62.
        operand_bits: of an operand, an integer in two's complement, 1 to 32; a sum has log2 ``leaves`` more.
    """

    leaves: int = one_of(16, *LEAVES)
    id_bits: int = number(8, 1, MAXIMUM_WIDTH)
    operand_bits: int = number(16, 1, OPERAND_BITS)


def port_contents(parameters: AdderNetworkParameters) -> PortContents:
    """Return the ports: rows with a mask. A sum has one bit more than an operand for each level of adders."""
    bits, lanes = parameters.operand_bits, parameters.leaves
    leaf: Fields = {"coordinate": parameters.id_bits, "value": Field("value", bits, "whole")}
    total = {**leaf, "value": Field("value", bits + lanes.bit_length() - 1, "whole")}
    return {"leaves": Lanes(leaf, lanes, mask=True), "sums": Lanes(total, lanes, mask=True)}


def design(parameters: AdderNetworkParameters, streams: Streams) -> None:
    """Create a stage for each level of adders, and the output register.

    Lane a holds leaf a until the level of adder a, and the sum of adder a after that level. The flag
    ``joined`` of a lane says that the next leaf belongs to the same neuron, so that the lane's adder adds.
    """
    rows = Rows(streams, "leaves", "sums", depth(parameters.leaves))
    row = _joined(rows.entering)
    for stage in range(depth(parameters.leaves) - 1):
        row = rows.stage(stage, _added(row, stage))
    flags = [lane["joined"] for lane in row]
    width = parameters.operand_bits + parameters.leaves.bit_length() - 1
    # A lane without a sum is empty: its mask is 0, whatever its other fields hold
    rows.leave(
        [
            {
                "mask": lane["mask"] & _is_lane(flags, i),
                "coordinate": lane["coordinate"],
                "value": lane["value"].sign_extended(width),
            }
            for i, lane in enumerate(row)
        ]
    )


def _joined(row: Row) -> Row:
    """Return the row with a flag in each lane: whether its leaf and the next belong to the same neuron."""
    none = pyrtl.Const(0, 1)  # the last lane has no leaf behind it
    flags = [
        alias(f"joined_{i:03}", lane["mask"] & behind["mask"] & (lane["coordinate"] == behind["coordinate"]))
        for i, (lane, behind) in enumerate(pairwise(row))
    ]
    return [{**lane, "joined": flag} for lane, flag in zip(row, [*flags, none], strict=True)]


def _added(row: Row, stage: int) -> Row:
    """Return the row after the adders of a level; ``stage`` is the number of the level."""
    # Adder a is of level n if a + 1 is an odd multiple of 2**n. On both sides of an adder, the adders of the
    # lower levels m < n are 2**m lanes away.
    behind, flags = list(row), [lane["joined"] for lane in row]
    steps = [1 << below for below in range(stage)]
    for adder in range((1 << stage) - 1, len(row) - 1, 2 << stage):
        left = _operand(row, adder, [(adder - step, flags[adder - step : adder]) for step in steps])
        right = _operand(
            row, adder + 1, [(adder + step, flags[adder + 1 : adder + 1 + step]) for step in steps]
        )
        # An adder between two neurons adds nothing: its lane keeps its own leaf, in the width of a sum
        total = alias(f"sum_{adder:03}", _sum(left, right))
        own = row[adder]["value"].sign_extended(len(total))
        behind[adder] = {**row[adder], "value": pyrtl.select(flags[adder], total, own)}
    return behind


def _operand(row: Row, leaf: int, adders: Sequence[tuple[int, Sequence[Signal]]]) -> Signal:
    """Return the operand of an adder from one side: the sum there that spans most leaves of the neuron.

    Args:
        leaf: the nearest leaf on this side, the operand if no sum is within the neuron.
        adders: the adders of lower levels on this side, the nearest first, each with the flags of the lanes
            between; its sum is within the neuron if all these flags are set.
    """
    chosen = row[leaf]["value"]
    for adder, flags in adders:
        value = row[adder]["value"]
        width = max(len(value), len(chosen))
        within = reduce(and_, flags)
        chosen = pyrtl.select(within, value.sign_extended(width), chosen.sign_extended(width))
    return chosen


def _sum(left: Signal, right: Signal) -> Signal:
    """Return the sum of two integers in two's complement, which has one bit more than the wider of them."""
    width = max(len(left), len(right)) + 1
    return (left.sign_extended(width) + right.sign_extended(width))[:width]


def _is_lane(flags: Sequence[Signal], lane: int) -> Signal:
    """Return whether a sum leaves on this lane, see ``fiberscope.hw.lanes.adder_network.output_lanes``.

    This is the lane of the neuron's highest adder, or of its only leaf. The lane's adder is the highest if
    the neuron ends on both sides before the next higher adders, which are one span away.
    """
    span = 1 << level(lane)
    alone = ~flags[lane] & (~flags[lane - 1] if lane else pyrtl.Const(1, 1))
    if lane == len(flags) - 1:
        return alone
    # If all flags up to the next higher adder are set, the neuron extends to that adder
    below = reduce(and_, flags[lane - span : lane]) if lane >= span else pyrtl.Const(0, 1)
    above = flags[lane + 1 : lane + 1 + span]
    beyond = reduce(and_, above) if lane + span < len(flags) - 1 else pyrtl.Const(0, 1)
    return alone | (flags[lane] & ~below & ~beyond)


def _additions(adapter: Adapter) -> int:
    """Return the number of additions so far; exact only while no vector is in the pipeline.

    A neuron of n operands takes n - 1 additions. A vector in the pipeline counts with all its operands.
    """
    return adapter.end("leaves").tokens - adapter.end("sums").tokens


BLOCK = unit(
    "adder_network",
    AdderNetwork,
    AdderNetworkParameters,
    port_contents,
    design,
    arguments=("leaves",),
    as_made={"id_bits": 62, "operand_bits": OPERAND_BITS},
    status=(PENDING,),
    counters={"vectors": rows("leaves"), "neurons": tokens("sums"), "add": _additions},
    events=("add",),
    through=("leaves", "sums"),
)
