"""The position multiplier as RTL: the twin of ``PositionMultiplier``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.lanes.divider_rtl import constant_of
from fiberscope.hw.lanes.items_rtl import WORD_BITS, ItemParameters
from fiberscope.hw.lanes.position_multiplier import DEPTH, PositionMultiplier, digit_bits
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.rows import LANES, Lane, Row
from fiberscope.hw.rtl.kit.twin import Signal, Streams
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, elements, rows, unit


@dataclass(frozen=True)
class PositionMultiplierParameters(ItemParameters):
    """Parameters of a multiplier.

    Args:
        width: bits of number, factor, offset and product, 1 to 62.
        reference_bits: ignored: a reference is an offset and has ``width`` + 1 bits.
        word_bits: see ``ItemParameters``.
        lanes: products a cycle, 1 to 64.
    """

    width: int = number(32, 1, MAXIMUM_WIDTH)  # as in ItemParameters
    lanes: int = number(8, *LANES)


def port_contents(parameters: PositionMultiplierParameters) -> PortContents:
    """Return the ports: rows of numbers with offsets as references, their factors, and rows of products."""
    width, lanes = parameters.width, parameters.lanes
    return {
        "lanes": Lanes(parameters.item(reference=width + 1), lanes),
        "factors": {"coordinate": width},
        "products": Lanes(parameters.item(reference=0), lanes),
    }


def design(parameters: PositionMultiplierParameters, streams: Streams) -> None:
    """Create a stage for each digit of the factor; the last stage has no registers.

    There are ``DEPTH - 1`` register stages: the channels at ``products`` are the registers of the last stage.
    The factor accompanies each row through the stages. The reference of a lane is the sum so far: the offset
    plus the products of the number and the digits, modulo 2**``width``.
    """
    rows, factor = constant_of(streams, "factors", "lanes", "products", DEPTH - 1)
    # A reference is signed and has a bit more than an offset. In an unsigned offset the sign bit is 0.
    row: Row = [{**lane, "reference": lane["reference"][: parameters.width]} for lane in rows.entering]
    bits = digit_bits(parameters.width)
    for stage in range(DEPTH):
        row = [_added(lane, factor, stage * bits, bits) for lane in row]
        if stage < DEPTH - 1:
            row = rows.stage(stage, row)
            # The next array, with another factor, may enter before this row leaves.
            factor = rows.register(f"stage{stage:02}_factor", factor)
    # The lanes with stops are computed too; pass_out replaces their fields by zeros.
    rows.pass_out([_product(lane) for lane in row])


def _added(lane: Lane, factor: Signal, shift: int, bits: int) -> Lane:
    """Return the lane after the product of its number and a digit of the factor is added.

    The sum is modulo 2**w, with w the bits of the factor.

    Args:
        lane: a lane with the number as ``coordinate`` and the sum so far, of w bits, as ``reference``.
        factor: the factor of the lane's array.
        shift: lowest bit of the digit in the factor.
        bits: bits of the digit.
    """
    width = len(factor)
    # Factors of 1, 2 and 4 bits have no digit for the last stages, as digits are rounded up to whole bits.
    if shift >= width:
        return lane
    product = lane["coordinate"] * factor[shift : shift + bits]
    shifted = pyrtl.concat(product, pyrtl.Const(0, shift)) if shift else product
    total = lane["reference"] + shifted
    return {**lane, "reference": total[:width]}


def _product(lane: Lane) -> Lane:
    """Return the lane with the sum as coordinate, without reference, which ``products`` does not have."""
    fields = {field: wire for field, wire in lane.items() if field != "reference"}
    return {**fields, "coordinate": lane["reference"]}


BLOCK = unit(
    "position_multiplier",
    PositionMultiplier,
    PositionMultiplierParameters,
    port_contents,
    design,
    arguments=("lanes", "width"),
    as_made={"word_bits": WORD_BITS[1]},  # the widest; a machine's component has no width of its values
    status=(PENDING,),
    counters={"rows": rows("lanes"), "multiply": elements("lanes")},
    events=("multiply",),
    fibers=True,
    through=("lanes", "products"),
)
