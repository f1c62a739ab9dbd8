"""The accumulator as RTL: the twin of ``fiberscope.hw.fibers.arithmetic.Accumulator``, behind a merge."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.fibers.arithmetic import Accumulator
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Field, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, named, unless
from fiberscope.hw.rtl.kit.unit import Carried, elements, unit


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


def carried(parameters: AccumulatorParameters) -> Carried:
    """Sums in two lanes: the last sum of a fiber and its stop leave together."""
    element = {"control": 1, "coordinate": parameters.coordinate_bits}
    total = element | {"value": Field("value", parameters.sum_bits, "whole")}
    return {
        "products": element | {"value": Field("value", parameters.value_bits, "whole")},
        "sums": total,
        "sums.1": Stream("sums.1", "sums_behind", "output", total),
    }


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


def _added(stand_in: Adapter) -> int:
    """Additions: the elements that neither left nor are held."""
    products = stand_in.end("products")
    return products.elements - stand_in.end("sums").elements - products.within


BLOCK = unit(
    "accumulator",
    Accumulator,
    AccumulatorParameters,
    carried,
    design,
    as_made={"coordinate_bits": MAXIMUM_WIDTH, "value_bits": 48, "sum_bits": WHOLE_BITS},
    counters={"add": _added, "emitted": elements("sums")},
    events=("add",),
    fibers=True,
    together=("sums",),
)
