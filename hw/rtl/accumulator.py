"""The accumulator as RTL: the twin of ``hw.arithmetic.Accumulator``, the reduce stage behind a merge."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from hw.arithmetic import Accumulator
from hw.rows import MAXIMUM_WIDTH
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.codec import WHOLE_BITS
from hw.rtl.kit.interface import Field, Interface, Stream
from hw.rtl.kit.parameters import Parameters, check_range, number
from hw.rtl.kit.twin import DataRegister, Signal, Streams, named, unless


@dataclass(frozen=True)
class AccumulatorParameters(Parameters):
    """What an accumulator is made for; widths in bits.

    Args:
        coordinate_bits: 1 to 62.
        value_bits: of a value, an integer in two's complement, 1 to 53.
        sum_bits: of a sum, ``value_bits`` to 53; what does not fit is for the sender to avoid.

    Raises:
        ValueError: for a number out of its range.
    """

    coordinate_bits: int = number(32, 1, MAXIMUM_WIDTH)
    value_bits: int = number(32, 1, WHOLE_BITS)
    sum_bits: int = number(48, 1, WHOLE_BITS)

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        check_range("accumulator", "sum_bits", self.sum_bits, self.value_bits, WHOLE_BITS)


def interface(parameters: AccumulatorParameters) -> Interface:
    """Ports: ``products``, and ``sums`` in two lanes: the last sum of a fiber and its stop leave together."""
    element = {"control": 1, "coordinate": parameters.coordinate_bits}
    product = element | {"value": Field("value", parameters.value_bits, "whole")}
    total = element | {"value": Field("value", parameters.sum_bits, "whole")}
    return Interface(
        "accumulator",
        (
            Stream("products", "products", "input", product),
            Stream("sums", "sums", "output", total),
            Stream("sums.1", "sums_behind", "output", total),
        ),
    )


def design(parameters: AccumulatorParameters, between: Streams) -> None:
    """A register for the sum that is held, a comparison of coordinates, an adder."""
    products, sums, behind = between.inputs["products"], between.outputs["sums"], between.outputs["sums.1"]
    holding: Signal = pyrtl.Register(1, "holding")
    coordinate: Signal = DataRegister(parameters.coordinate_bits, "held_coordinate")
    total: Signal = DataRegister(parameters.sum_bits, "held_sum")
    stop, place = products.fields["control"], products.fields["coordinate"]
    value = products.fields["value"].sign_extended(parameters.sum_bits)
    adds = named("adds", ~stop & holding & (coordinate == place))
    room = named("room", pyrtl.select(stop & holding, behind.ready, sums.ready))
    taken = named("taken", products.valid & (adds | room))
    products.accept(adds | room)
    holding.next <<= pyrtl.select(taken, ~stop, holding)
    coordinate.next <<= pyrtl.select(taken, place, coordinate)
    added = pyrtl.select(adds, (total + value)[: len(total)], value)
    total.next <<= pyrtl.select(taken, added, total)
    offers = products.valid & pyrtl.select(stop, ~holding | behind.ready, holding & ~adds)
    sums.send(
        offers,
        {
            "control": ~holding,
            "coordinate": unless(~holding, coordinate),
            "value": unless(~holding, total),
        },
    )
    nothing = {
        name: pyrtl.Const(0, len(wire)) for name, wire in (("coordinate", coordinate), ("value", total))
    }
    behind.send(products.valid & stop & holding, {"control": pyrtl.Const(1, 1)} | nothing)


class AccumulatorStandIn(Adapter):
    """Stands in for an ``Accumulator``; the module's ports are those of ``hw.rtl.accumulator``."""

    PORTS = Accumulator.PORTS
    EVENTS = ("add",)
    FIBERS = True
    TOGETHER = ("sums",)

    def counters(self) -> dict[str, int]:
        """Additions: the elements that neither left nor are held; and the sums."""
        products, emitted = self.end("products"), self.end("sums").elements
        return {"add": products.elements - emitted - products.within, "emitted": emitted}


BLOCK = RtlBlock(
    "accumulator",
    "adds up neighbours of equal coordinate, one element a cycle",
    AccumulatorParameters,
    lambda: AccumulatorParameters(62, 48, WHOLE_BITS),
    interface,
    design,
    AccumulatorStandIn,
    lambda name, parameters: Accumulator(name),
)
