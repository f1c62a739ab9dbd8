"""RTL of the output unit of a merger, ``fiberscope.hw.streams.merged_points.MergedPoints``.

A table has the coordinate of each list in flight, and the references that travel along with it; the stream
``lists`` writes this table. The stream ``stored`` writes the store of partial fibers, which is next to the
ways.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.interface import Field, Stream
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.memory_rtl import LISTS, STORED, Memory
from fiberscope.hw.streams.merge_tables_rtl import (
    AREA_BITS,
    POINTS,
    TablesParameters,
    lists_written,
    partials_written,
    tables_of,
)
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.tokens import DATA, DONE


@dataclass(frozen=True)
class MergedPointsParameters(TablesParameters):
    """Parameters of the unit after a merger.

    Args:
        lists, partials, carried, coordinate_bits, reference_bits, value_bits, values: see
            ``TablesParameters``.
    """


def port_contents(parameters: TablesParameters) -> PortContents:
    """Return the streams: elements and the destination of each fiber; points, and elements to store."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    references = tokens.numbers(parameters.reference_bits)
    along = [tokens.sink(f"out_carried{place}", references) for place in range(parameters.carried)]
    area = Field("coordinate", AREA_BITS, "unsigned")
    ports = (
        tokens.source("merged", parameters.element),
        tokens.source("groups", {"control": tokens.KIND_BITS, "area": area}),
        tokens.source(LISTS, lists_written(parameters)),
        Stream("partials", "partials", "output", tokens.signals()),
        tokens.sink("out_outer", coordinates),
        tokens.sink("out_inner", coordinates),
        tokens.sink("out_val", tokens.values(parameters.value_field)),
        *along,
        Stream(STORED, STORED, "output", partials_written(parameters)),
    )
    return {stream.label: stream for stream in ports}


def design(parameters: MergedPointsParameters, streams: Streams) -> None:
    """Build the unit: an element leaves with its list's table entry, or for the store; no registers.

    The unit acts only if all outputs have a free slot, also those that it does not use in the cycle.
    """
    merged, groups = streams.inputs["merged"], streams.inputs["groups"]
    over = alias("over", groups.fields["control"] == DONE)
    # The done of ``groups`` leaves without an element, on the outputs of points.
    acts = alias("acts", tokens.room_in(streams) & groups.valid & (over | merged.valid))
    points = alias("points", over | (groups.fields["area"] == POINTS))
    ends = alias("ends", merged.fields["control"] != DATA)
    merged.accept(acts & ~over)
    groups.accept(acts & (over | ends))
    kind = tokens.kind_of(~over & ~ends, ~over & ends, over)
    # A stop of level 1 ends a task, as in ``MergedPoints``.
    level = pyrtl.Const(1, tokens.LEVEL_BITS)
    for port, payload in points_of(parameters, streams).items():
        tokens.send(streams.outputs[f"{port}[0]"], acts & points, kind, level, payload)
    stores = alias("stores", acts & ~points)
    streams.outputs["partials"].send(stores & ends, {"control": pyrtl.Const(DATA, tokens.KIND_BITS)})
    parts = {name: merged.fields[name] for name in ("coordinate", "reference", "value")}
    # The upper bit of the area only marks ``POINTS``.
    streams.outputs[STORED].send(stores, {"ends": ends, "area": groups.fields["area"][0], **parts})


def points_of(parameters: TablesParameters, streams: Streams) -> dict[str, Signal]:
    """Return the payload of each output for the element at the output of the merger."""
    merged, lists = streams.inputs["merged"].fields, _tables(parameters, streams)
    # Numbers of lists wrap at the size of the table. The entry that is read for a sum has no use.
    source = merged["reference"]
    return {
        "out_outer": merged["coordinate"],
        "out_inner": lists["coordinate"][source],
        "out_val": merged["value"],
        **{f"out_{name}": memory[source] for name, memory in lists.items() if name != "coordinate"},
    }


def _tables(parameters: TablesParameters, streams: Streams) -> dict[str, Memory]:
    """Return the memories of coordinates and of references that travel along, by the number of the list."""
    written = streams.inputs[LISTS]
    written.accept(pyrtl.Const(1, 1))
    tables = {}
    for name, wire in written.fields.items():
        if name != "number":
            tables[name] = Memory(f"{name}_of_list", parameters.lists, len(wire))
            tables[name].write(written.fields["number"], wire, written.valid)
    return tables


BLOCK = unit(
    "merged_points",
    MergedPoints,
    MergedPointsParameters,
    port_contents,
    design,
    alone=False,
    instance=lambda component: tables_of(component.table),
    listed=False,
)
