"""RTL of the units of ``fiberscope.hw.streams.merged_sums``, which follow a merger whose sums are stored.

``PointsAndSums`` has the table of lists, as ``MergedPoints`` does. The store of partial fibers is next to
the ways, and ``FiberSums`` writes it. A sum has a list number of all ones, which no list has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Content, Field, Stream
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import merged_points_rtl as merged_points
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.memory_rtl import STORED
from fiberscope.hw.streams.merge_tables_rtl import (
    AREA_BITS,
    POINTS,
    TablesParameters,
    partials_written,
    tables_of,
)
from fiberscope.hw.streams.merged_sums import Either, FiberSums, PointsAndSums
from fiberscope.hw.streams.tokens import DATA, DONE
from fiberscope.hw.streams.tokens_rtl import Head

TARGET: Content = {"control": tokens.KIND_BITS, "area": Field("coordinate", AREA_BITS, "unsigned")}


def _points_and_sums(parameters: TablesParameters) -> PortContents:
    """Return the streams of ``PointsAndSums``: as ``MergedPoints``, with ``targets`` and without a store."""
    sent = dict(merged_points.port_contents(parameters))
    del sent["partials"], sent[STORED]
    out_sum = tokens.sink("out_sum", tokens.values(parameters.value_field))
    return {**sent, "targets": Stream("targets", "targets", "output", TARGET), out_sum.label: out_sum}


def _design_points(parameters: TablesParameters, streams: Streams) -> None:
    """Build ``PointsAndSums``; one register holds whether the destination of the fiber has been sent."""
    merged, groups, targets = streams.inputs["merged"], streams.inputs["groups"], streams.outputs["targets"]
    sent = merged_points.points_of(parameters, streams)
    begun: Signal = pyrtl.Register(1, "begun")
    over, ends = groups.fields["control"] == DONE, merged.fields["control"] != DATA
    # The destination leaves when its fiber is known, also before the first element. All other outputs act
    # together, with the destination or later.
    ready = [stream.ready for label, stream in streams.outputs.items() if label != "targets"]
    shown = alias("shown", reduce(and_, ready) & groups.valid)
    targets.send(shown & ~begun, {name: groups.fields[name] for name in TARGET})
    acts = alias("acts", shown & (begun | targets.ready) & (over | merged.valid))
    begun.next <<= pyrtl.select(acts & ends, pyrtl.Const(0, 1), begun | (shown & targets.ready))
    merged.accept(acts & ~over)
    groups.accept(acts & (over | ends))
    # The list number of a sum is all ones, see ``SUM``.
    sums = alias("sums", ~over & ~ends & (~merged.fields["reference"] == 0))
    kind, level = tokens.kind_of(~over & ~ends, ~over & ends, over), pyrtl.Const(1, tokens.LEVEL_BITS)
    for port, payload in sent.items():
        # A sum has a coordinate, but no list to multiply with: it bypasses the multiplier on ``out_sum``.
        valid = acts if port == "out_outer" else acts & ~sums
        tokens.send(streams.outputs[f"{port}[0]"], valid, kind, level, payload)
    valid, payload = acts & (over | ends | sums), merged.fields["value"]
    tokens.send(streams.outputs["out_sum[0]"], valid, kind, level, payload)


@dataclass(frozen=True)
class EitherParameters(ValueParameters):
    """Parameters of a joiner of pairs of fibers, of which at most one has values.

    Args:
        value_bits: width of a value of an integer type, 1 to 53.
        values: type of the values.
    """

    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()


def _either(parameters: EitherParameters) -> PortContents:
    return dict.fromkeys(("in_first", "in_second", "out_val"), tokens.values(parameters.value_field))


def _design_either(_parameters: EitherParameters, streams: Streams) -> None:
    """Build ``Either``: it sends the first visible value, or the stop of both inputs; no registers.

    If both inputs show a value, which must not happen within a pair of fibers, ``in_first`` goes first.
    """
    first, second = (Head.from_stream(streams.inputs[port]) for port in ("in_first", "in_second"))
    room = tokens.room_in(streams)
    of_first = alias("of_first", first.is_data | first.is_empty)
    of_second = alias("of_second", ~of_first & (second.is_data | second.is_empty))
    ends = alias("ends", first.is_control & second.is_control)
    streams.inputs["in_first"].accept(room & (of_first | ends))
    streams.inputs["in_second"].accept(room & (of_second | ends))
    kind, payload = (
        pyrtl.select(of_second, second.fields[name], first.fields[name]) for name in ("control", "value")
    )
    tokens.send(
        streams.outputs["out_val[0]"], room & (of_first | of_second | ends), kind, first.level, payload
    )


def _fiber_sums(parameters: TablesParameters) -> PortContents:
    coordinates = tokens.numbers(parameters.coordinate_bits)
    values = tokens.values(parameters.value_field)
    return {
        "in_crd": coordinates,
        "in_val": values,
        "targets": TARGET,
        "partials": tokens.signals(),
        "out_crd": coordinates,
        "out_val": values,
        STORED: Stream(STORED, STORED, "output", partials_written(parameters)),
    }


def _design_sums(parameters: TablesParameters, streams: Streams) -> None:
    """Build ``FiberSums``: a sum goes into the store, or is passed on; no registers."""
    crd, val = Head.from_stream(streams.inputs["in_crd"]), Head.from_stream(streams.inputs["in_val"])
    targets = streams.inputs["targets"]
    acts = alias("acts", tokens.room_in(streams) & targets.valid & crd.shown & val.shown)
    # The destination beside done is no area, whatever its bits.
    passes = alias("passes", crd.is_done | (targets.fields["area"] == POINTS))
    streams.inputs["in_crd"].accept(acts)
    streams.inputs["in_val"].accept(acts)
    targets.accept(acts & ~crd.is_data)
    tokens.pass_on(streams.outputs["out_crd[0]"], acts & passes, crd)
    tokens.pass_on(streams.outputs["out_val[0]"], acts & passes, val)
    stores = alias("stores", acts & ~passes)
    streams.outputs["partials"].send(stores & ~crd.is_data, {"control": pyrtl.Const(DATA, tokens.KIND_BITS)})
    stored = {
        "ends": ~crd.is_data,
        # The two areas of the store are 0 and 1; the other bit only distinguishes ``POINTS``.
        "area": targets.fields["area"][0],
        "coordinate": crd.payload,
        "reference": ~pyrtl.Const(0, parameters.reference_bits),
        "value": val.payload,
    }
    streams.outputs[STORED].send(stores, stored)


# Each unit is a part of a merger, and runs only together with the other end of the merger.
POINTS_AND_SUMS = unit(
    "points_and_sums",
    PointsAndSums,
    TablesParameters,
    _points_and_sums,
    _design_points,
    alone=False,
    instance=lambda component: tables_of(component.table),
    listed=False,
)
EITHER = unit("either", Either, EitherParameters, _either, _design_either, alone=False, listed=False)
SUMS = unit(
    "fiber_sums",
    FiberSums,
    TablesParameters,
    _fiber_sums,
    _design_sums,
    alone=False,
    instance=lambda component: tables_of(component.table),
    listed=False,
)
