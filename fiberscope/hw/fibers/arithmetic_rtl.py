"""Multiplier and accumulator as RTL: twins of those in ``fiberscope.hw.fibers.arithmetic``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.merge_rtl import SCALE, scaled
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.arithmetic import SummingParameters, ValueParameters, value_type
from fiberscope.hw.rtl.kit.channel import CAPACITY, LATENCY, buffered
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Content, Stream
from fiberscope.hw.rtl.kit.parameters import number, payload_widths
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, delayed, unless
from fiberscope.hw.rtl.kit.unit import PortContents, elements, unit

MULTIPLIES = "multiplies"  # status outputs: an element is scaled in this cycle,
PASSES = "passes"  # or passes without


@dataclass(frozen=True)
class MultiplierParameters(ValueParameters):
    """Parameters of a multiplier, with the channel behind it; widths in bits.

    Args:
        coordinate_bits: 1 to 62.
        reference_bits: bits of the number of a scale, 1 to 64, in two's complement.
        value_bits: bits of values and scales that are whole numbers, 1 to 53; of a product so many are kept.
        capacity, latency: the capacity and latency of the channel; a product takes its latency.
        values: their type.
    """

    coordinate_bits: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(32, 1, 64)
    value_bits: int = number(32, 1, WHOLE_BITS)
    capacity: int = number(6, *CAPACITY)
    latency: int = number(4, *LATENCY)
    values: str = value_type()


def multiplier_contents(parameters: MultiplierParameters) -> PortContents:
    """The scale that the reference names comes beside the element."""
    element: Content = {
        "control": 1,
        "coordinate": parameters.coordinate_bits,
        "reference": parameters.reference_bits,
        "value": parameters.value_field,
    }
    return {"operands": {**element, **scaled(parameters.value_field.width)}, "products": element}


def multiplier(parameters: MultiplierParameters, between: Streams) -> None:
    """A multiplier, of whole numbers the lower half kept, on the way into the channel behind it.

    A token has its place there as soon as it is taken, so nothing holds up what is worked on: the registers
    of a product need no enable.
    """
    operands, lag = between.inputs["operands"], parameters.latency - 1
    fields = operands.fields
    value = fields["value"]
    scales = alias("scales", ~fields["control"] & ~fields["reference"][-1])
    product = parameters.computed_in(lag, "mul", value, fields[SCALE], parameters.value_bits)
    worked_on = {name: delayed(fields[name], lag) for name in ("control", "coordinate", "reference")}
    worked_on["value"] = pyrtl.select(delayed(scales, lag), product, delayed(value, lag))
    _held, (taken,) = buffered(parameters, [operands], [worked_on], between.outputs["products"], late=True)
    between.show(MULTIPLIES, taken & scales)
    between.show(PASSES, taken & ~scales & ~fields["control"])


@dataclass(frozen=True)
class AccumulatorParameters(SummingParameters):
    """Parameters of an accumulator; widths in bits.

    Args:
        coordinate_bits: 1 to 62.
        value_bits: bits of a value that is a whole number, 1 to 53.
        sum_bits: bits of a sum, ``value_bits`` to 53; what does not fit is for the sender to avoid.
        reference_bits: bits of a reference that products have, which is dropped, 0 to 64.
        values: their type.
    """

    coordinate_bits: int = number(32, 1, MAXIMUM_WIDTH)
    value_bits: int = number(32, 1, WHOLE_BITS)
    sum_bits: int = number(48, 1, WHOLE_BITS)
    reference_bits: int = number(0, 0, 64)
    values: str = value_type()


def port_contents(parameters: AccumulatorParameters) -> PortContents:
    """Sums in two lanes: the last sum of a fiber and its stop leave together."""
    element: Content = {"control": 1, "coordinate": parameters.coordinate_bits}
    total = element | {"value": parameters.sum_field}
    value = {"value": parameters.value_field}
    return {
        "products": {**element, **payload_widths(parameters.reference_bits, 0), **value},
        "sums": total,
        "sums.1": Stream("sums.1", "sums_behind", "output", total),
    }


def design(parameters: AccumulatorParameters, between: Streams) -> None:
    """A register for the sum that is held, a comparison of coordinates, an adder."""
    products, sums, behind = between.inputs["products"], between.outputs["sums"], between.outputs["sums.1"]
    holding: Signal = pyrtl.Register(1, "holding")
    coordinate: Signal = DataRegister(parameters.coordinate_bits, "held_coordinate")
    total: Signal = DataRegister(parameters.sum_field.width, "held_sum")
    stop, place = products.fields["control"], products.fields["coordinate"]
    value = products.fields["value"].sign_extended(len(total))
    adds = alias("adds", ~stop & holding & (coordinate == place))
    room = alias("room", pyrtl.select(stop & holding, behind.ready, sums.ready))
    taken = alias("taken", products.valid & (adds | room))
    products.accept(adds | room)
    holding.next <<= pyrtl.select(taken, ~stop, holding)
    coordinate.next <<= pyrtl.select(taken, place, coordinate)
    added = pyrtl.select(adds, parameters.added(total, value), value)
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


def _added(adapter: Adapter) -> int:
    """Additions: the elements that neither left nor are held."""
    products = adapter.end("products")
    return products.elements - adapter.end("sums").elements - products.in_fiber


MULTIPLIER = unit(
    "multiplier",
    Multiplier,
    MultiplierParameters,
    multiplier_contents,
    multiplier,
    status=(MULTIPLIES, PASSES),
    alone=False,
    listed=False,
    fibers_of={"products": "operands"},
)

BLOCK = unit(
    "accumulator",
    Accumulator,
    AccumulatorParameters,
    port_contents,
    design,
    arguments=("values",),
    as_made={"coordinate_bits": MAXIMUM_WIDTH, "value_bits": 48, "sum_bits": WHOLE_BITS},
    counters={"add": _added, "emitted": elements("sums")},
    events=("add",),
    fibers=True,
    together=("sums",),
    fibers_of={"sums": "products"},
)
