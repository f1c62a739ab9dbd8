"""RTL of the multiplier and the accumulator of ``fiberscope.hw.fibers.arithmetic``."""

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

MULTIPLIES = "multiplies"  # status output: an element is multiplied by its scale in this cycle
PASSES = "passes"  # status output: an element without a scale passes unchanged in this cycle


@dataclass(frozen=True)
class MultiplierParameters(ValueParameters):
    """Parameters of a multiplier together with its output channel; widths in bits.

    Args:
        coordinate_bits: width of a coordinate, 1 to 62.
        reference_bits: width of the number of a scale, 1 to 64, in two's complement.
        value_bits: width of values and scales that are integers, 1 to 53; a product keeps its lowest
            ``value_bits`` bits.
        capacity, latency: capacity in tokens and latency in cycles of the channel; the stages of the
            multiplication are part of the latency.
        values: type of the values.
    """

    coordinate_bits: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(32, 1, 64)
    value_bits: int = number(32, 1, WHOLE_BITS)
    capacity: int = number(6, *CAPACITY)
    latency: int = number(4, *LATENCY)
    values: str = value_type()


def multiplier_contents(parameters: MultiplierParameters) -> PortContents:
    """Return the fields of each port; the scale that the reference names accompanies the element."""
    element: Content = {
        "control": 1,
        "coordinate": parameters.coordinate_bits,
        "reference": parameters.reference_bits,
        "value": parameters.value_field,
    }
    return {"operands": {**element, **scaled(parameters.value_field.width)}, "products": element}


def multiplier(parameters: MultiplierParameters, streams: Streams) -> None:
    """Build a multiplier whose pipeline is part of the latency of its output channel.

    A slot of the channel is reserved for each token that is taken. The pipeline therefore never stalls, and
    its registers need no enable. A reference that names no scale is not detected, unlike in the event class.
    """
    operands, lag = streams.inputs["operands"], parameters.latency - 1
    fields = operands.fields
    value = fields["value"]
    scales = alias("scales", ~fields["control"] & ~fields["reference"][-1])  # not a stop, reference >= 0
    product = parameters.computed_in(lag, "mul", value, fields[SCALE], parameters.value_bits)
    worked_on = {name: delayed(fields[name], lag) for name in ("control", "coordinate", "reference")}
    worked_on["value"] = pyrtl.select(delayed(scales, lag), product, delayed(value, lag))
    _held, (taken,) = buffered(parameters, [operands], [worked_on], streams.outputs["products"], late=True)
    streams.show(MULTIPLIES, taken & scales)
    streams.show(PASSES, taken & ~scales & ~fields["control"])


@dataclass(frozen=True)
class AccumulatorParameters(SummingParameters):
    """Parameters of an accumulator; widths in bits.

    Args:
        coordinate_bits: width of a coordinate, 1 to 62.
        value_bits: width of a value that is an integer, 1 to 53.
        sum_bits: width of a sum, ``value_bits`` to 53; the sender must avoid sums that do not fit.
        reference_bits: width of the reference of a product, 0 to 64; it is dropped.
        values: type of the values.
    """

    coordinate_bits: int = number(32, 1, MAXIMUM_WIDTH)
    value_bits: int = number(32, 1, WHOLE_BITS)
    sum_bits: int = number(48, 1, WHOLE_BITS)
    reference_bits: int = number(0, 0, 64)
    values: str = value_type()


def port_contents(parameters: AccumulatorParameters) -> PortContents:
    """Return the fields of each port.

    ``sums`` has a second lane, ``sums.1``, because the last sum of a fiber and its stop leave together.
    """
    element: Content = {"control": 1, "coordinate": parameters.coordinate_bits}
    total = element | {"value": parameters.sum_field}
    value = {"value": parameters.value_field}
    return {
        "products": {**element, **payload_widths(parameters.reference_bits, 0), **value},
        "sums": total,
        "sums.1": Stream("sums.1", "sums_behind", "output", total),
    }


def design(parameters: AccumulatorParameters, streams: Streams) -> None:
    """Build the accumulator: registers for the held sum, a comparison of coordinates, and an adder."""
    products, sums, behind = streams.inputs["products"], streams.outputs["sums"], streams.outputs["sums.1"]
    holding: Signal = pyrtl.Register(1, "holding")
    coordinate: Signal = DataRegister(parameters.coordinate_bits, "held_coordinate")
    total: Signal = DataRegister(parameters.sum_field.width, "held_sum")
    stop, place = products.fields["control"], products.fields["coordinate"]
    value = products.fields["value"].sign_extended(len(total))
    adds = alias("adds", ~stop & holding & (coordinate == place))
    # A stop after elements leaves on the second lane, together with the held sum on the first lane. The
    # second lane is ready only with two free slots, so its ``ready`` implies that of the first lane.
    # An element that begins a sum needs a slot even if no sum is held, as in the event class.
    room = alias("room", pyrtl.select(stop & holding, behind.ready, sums.ready))
    taken = alias("taken", products.valid & (adds | room))
    products.accept(adds | room)
    holding.next <<= pyrtl.select(taken, ~stop, holding)
    coordinate.next <<= pyrtl.select(taken, place, coordinate)
    # An element of another coordinate begins the next sum; the held sum leaves in the same cycle
    added = pyrtl.select(adds, parameters.added(total, value), value)
    total.next <<= pyrtl.select(taken, added, total)
    # The first lane sends the held sum, or a stop if no sum is held (an empty fiber). With a stop, it waits
    # for a slot of the second lane, as both tokens must leave together
    offers = products.valid & pyrtl.select(stop, ~holding | behind.ready, holding & ~adds)
    sums.send(
        offers,
        {"control": ~holding, "coordinate": unless(~holding, coordinate), "value": unless(~holding, total)},
    )
    nothing = {
        name: pyrtl.Const(0, len(wire)) for name, wire in (("coordinate", coordinate), ("value", total))
    }
    behind.send(products.valid & stop & holding, {"control": pyrtl.Const(1, 1)} | nothing)


def _added(adapter: Adapter) -> int:
    """Return the number of additions: each element is added to a sum, except the first of each sum."""
    products = adapter.end("products")
    # There are as many first elements as sums that have left, plus one if a sum is held.
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
