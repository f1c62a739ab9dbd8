"""The position multiplier as RTL: the twin of ``hw.position_multiplier.PositionMultiplier``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from hw.position_multiplier import DEPTH, MAXIMUM_WIDTH, PositionMultiplier, digit_bits
from hw.rtl.channel import PENDING
from hw.rtl.divider import constant_of
from hw.rtl.items import ItemParameters
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Bundle, Interface, Stream
from hw.rtl.kit.parameters import number
from hw.rtl.kit.rows import LANES, Lane, Row
from hw.rtl.kit.twin import Signal, Streams


@dataclass(frozen=True)
class PositionMultiplierParameters(ItemParameters):
    """What a multiplier is made for: ``width``, 1 to 36 bits, ``word_bits`` and ``lanes``.

    References, the offsets, have the width and a bit more; ``reference_bits`` is not looked at.
    """

    width: int = number(32, 1, MAXIMUM_WIDTH)
    lanes: int = number(8, *LANES)


def interface(parameters: PositionMultiplierParameters) -> Interface:
    """Ports: ``lanes`` and ``products``, rows; ``factors``; ``pending`` while a row is inside or enters."""
    width, lanes = parameters.width, parameters.lanes
    return Interface(
        "position_multiplier",
        (
            Bundle("lanes", "lanes", "input", parameters.item(reference=width + 1), lanes),
            Stream("factors", "factors", "input", {"coordinate": width}),
            Bundle("products", "products", "output", parameters.item(reference=0), lanes),
        ),
        (PENDING,),
    )


def design(parameters: PositionMultiplierParameters, between: Streams) -> None:
    """A stage for each digit of the factor, which goes along; the last without registers.

    The reference of a lane is the sum so far: the offset, then the products with the digits.
    """
    rows, factor = constant_of(between, "factors", "lanes", "products", DEPTH - 1)
    row: Row = [{**lane, "reference": lane["reference"][: parameters.width]} for lane in rows.entering]
    bits = digit_bits(parameters.width)
    for stage in range(DEPTH):
        row = [_added(lane, factor, stage * bits, bits) for lane in row]
        if stage < DEPTH - 1:
            row = rows.stage(stage, row)
            factor = rows.register(f"stage{stage:02}_factor", factor)
    rows.pass_out([_product(lane) for lane in row])


def _added(lane: Lane, factor: Signal, shift: int, bits: int) -> Lane:
    """The lane with the product of its number and a digit of the factor added."""
    width = len(factor)
    if shift >= width:
        return lane
    product = lane["coordinate"] * factor[shift : shift + bits]
    shifted = pyrtl.concat(product, pyrtl.Const(0, shift)) if shift else product
    total = lane["reference"] + shifted
    return {**lane, "reference": total[:width]}


def _product(lane: Lane) -> Lane:
    """The sum in the place of the number."""
    fields = {field: wire for field, wire in lane.items() if field != "reference"}
    return {**fields, "coordinate": lane["reference"]}


class PositionMultiplierStandIn(Adapter):
    """Stands in for a ``PositionMultiplier``; the ports are those of ``hw.rtl.position_multiplier``."""

    PORTS = PositionMultiplier.PORTS
    EVENTS = ("multiply",)
    FIBERS = True
    THROUGH = ("lanes", "products")

    def counters(self) -> dict[str, int]:
        """Rows taken, and numbers multiplied."""
        lanes = self.end("lanes")
        return {"rows": lanes.rows, "multiply": lanes.elements}


def _matching(lanes: int = 8, width: int = 32) -> PositionMultiplierParameters:
    return PositionMultiplierParameters(width, word_bits=53, lanes=lanes)


BLOCK = RtlBlock(
    "position_multiplier",
    "products of the numbers of an array and a factor, with an offset each, lanes products a cycle",
    PositionMultiplierParameters,
    _matching,
    interface,
    design,
    PositionMultiplierStandIn,
    lambda name, parameters: PositionMultiplier(name, parameters.lanes, parameters.width),
)
