"""Claims of blocks that sort, count, compare, multiply and add up the lanes of a row.

Each ``add_...`` function adds the claims of one block with these parameters to ``properties``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import add

import pyrtl

from fiberscope.hw.lanes.cluster_counter_rtl import ClusterCounterParameters
from fiberscope.hw.lanes.comparator_bank import NONZERO
from fiberscope.hw.lanes.comparator_bank_rtl import ComparatorBankParameters
from fiberscope.hw.lanes.position_multiplier import DEPTH, digit_bits
from fiberscope.hw.lanes.position_multiplier_rtl import PositionMultiplierParameters
from fiberscope.hw.lanes.prefix_sum import PARALLEL
from fiberscope.hw.lanes.prefix_sum import depth as sum_depth
from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.hw.lanes.sorting_network import depth as sort_depth
from fiberscope.hw.lanes.sorting_network_rtl import SortingNetworkParameters
from fiberscope.hw.rtl.kit.interface import MASK
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, packed
from fiberscope.rtl.formal.pipeline import Pipeline, RowConstant
from fiberscope.rtl.formal.properties import End, Group, Properties, all_of, count, implies


def _assume_stops_last(properties: Properties, rows: End) -> None:
    """Assume that no number follows a stop within a row."""
    pairs = pairwise(rows.lanes)
    wire = all_of([implies(before["control"], behind["control"]) for before, behind in pairs])
    properties.assume("stops_last", implies(rows.valid, wire))


def add_sorting_network(parameters: SortingNetworkParameters, properties: Properties) -> None:
    """Claim that a row leaves with the same items, in the order of their coordinates, stops last.

    The items are counted in every stage: each item (``watched``) is there as often as in the input row.
    """
    source, sink = properties.end("lanes"), properties.end("sorted")
    stages = sort_depth(parameters.lanes) - 1
    rows = Pipeline(properties, source, sink, stages)
    names = [name for name in source.stream.widths if name != "control"]
    watched = properties.constant(sum(source.stream.widths[name] for name in names), "watched_item")

    def number(lanes: Sequence[Group]) -> Signal:
        own = [packed({name: lane[name] for name in names}) == watched for lane in lanes]
        return count([same & ~lane["control"] for same, lane in zip(own, lanes, strict=True)])

    for stage in range(stages):
        inside = [
            {name: properties.inner(f"stage{stage:02}_lane{i:02}_{name}") for name in ("control", *names)}
            for i in range(parameters.lanes)
        ]
        same = number(inside) == number(rows.lanes(stage))
        properties.claim(f"items_of_stage_{stage}", same, when=rows.full[stage])
    properties.claim("same_items", number(sink.lanes) == number(rows.lanes(-1)), when=sink.valid)
    pairs = [
        (pyrtl.concat(before["control"], before["coordinate"]), behind)
        for before, behind in pairwise(sink.lanes)
    ]
    ascending = [
        behind["control"] | (key <= pyrtl.concat(behind["control"], behind["coordinate"]))
        for key, behind in pairs
    ]
    properties.claim("sorted", all_of(ascending), when=sink.valid)


def add_cluster_counter(_parameters: ClusterCounterParameters, properties: Properties) -> None:
    """Claim that each number of a row leaves with the count of equal numbers directly before it in the row.

    The row passes within the cycle. The count is the ``reference`` of the output.
    """
    source, sink = properties.end("sorted"), properties.end("clusters")
    properties.claim("passes", (source.valid == sink.valid) & (source.ready == sink.ready))
    rank = pyrtl.Const(0, 1)
    before: Group | None = None
    for i, (lane, sent) in enumerate(zip(source.lanes, sink.lanes, strict=True)):
        if before is not None:
            equal = lane["coordinate"] == before["coordinate"]
            rank = pyrtl.select(equal, rank + 1, pyrtl.Const(0, len(rank) + 1))
        same = [sent[name] == wire for name, wire in lane.items() if name not in ("control", "reference")]
        right = all_of([sent["reference"] == rank, *same])
        claim = (sent["control"] == lane["control"]) & (lane["control"] | right)
        properties.claim(f"rank_of_lane_{i}", claim, when=sink.valid)
        before = lane


def add_comparator_bank(parameters: ComparatorBankParameters, properties: Properties) -> None:
    """Claim that ``flags`` has the result of each item's test, and ``kept`` all passing items and stops.

    The test is ``value != 0``, or a coordinate that differs from that of the item before in its fiber.
    """
    source, flags, kept = (properties.end(name) for name in ("lanes", "flags", "kept"))
    can = source.valid & flags.ready & kept.ready
    together = (flags.moves == can) & (kept.moves == can) & (source.moves == can)
    properties.claim("together", together)
    has_item, last = pyrtl.Register(1, "has_item"), DataRegister(parameters.width, "last_coordinate")
    any_before, before = has_item, last
    for i, lane in enumerate(source.lanes):
        stop, item = lane[MASK] & lane["control"], lane[MASK] & ~lane["control"]
        if parameters.test == NONZERO:
            passes = lane["value"] != 0
        else:
            passes = ~any_before | (lane["coordinate"] != before)
        any_before = pyrtl.select(stop, pyrtl.Const(0, 1), any_before | item)
        before = pyrtl.select(item, lane["coordinate"], before)
        flag, again = flags.lanes[i], kept.lanes[i]
        tested = (flag[MASK] == lane[MASK]) & implies(item, flag["coordinate"] == passes)
        properties.claim(f"flag_of_lane_{i}", tested, when=flags.moves)
        same = implies(again[MASK] & item, packed(again) == packed(lane))
        properties.claim(f"lane_{i}", (again[MASK] == (stop | (item & passes))) & same, when=kept.moves)
    has_item.next <<= pyrtl.select(source.moves, any_before, has_item)
    last.next <<= pyrtl.select(source.moves, before, last)
    if parameters.test != NONZERO:
        same = implies(has_item, properties.inner("coordinate_before") == last)
        properties.claim("last_item", (properties.inner("known") == has_item) & same)


def add_position_multiplier(parameters: PositionMultiplierParameters, properties: Properties) -> None:
    """Claim that each product is its offset plus number times factor, by the digits of each stage.

    A digit has ``digit_bits`` bits of the factor. A stage adds the number times its digit.
    """
    source, factors, sink = (properties.end(name) for name in ("lanes", "factors", "products"))
    factor = RowConstant(properties, factors, source).word
    rows = Pipeline(properties, source, sink, DEPTH - 1, factor)
    width, bits = parameters.width, digit_bits(parameters.width)
    for stage in range(DEPTH - 1):
        digits = rows.attached(stage)[: min((stage + 1) * bits, width)]
        goes_on = (stage + 1) * bits < width  # a later stage multiplies
        claims = [properties.inner(f"stage{stage:02}_factor") == rows.attached(stage)] if goes_on else []
        for i, lane in enumerate(rows.lanes(stage)):
            inside = {**lane, "reference": _product(lane, digits, width)}
            claims += [
                properties.inner(f"stage{stage:02}_lane{i:02}_{field}") == wire
                for field, wire in inside.items()
                if goes_on or field != "coordinate"
            ]
        properties.claim(f"digits_of_stage_{stage}", all_of(claims), when=rows.full[stage])
    for i, (lane, sent) in enumerate(zip(rows.lanes(-1), sink.lanes, strict=True)):
        right = sent["coordinate"] == _product(lane, rows.attached(-1), width)
        claim = (sent["control"] == lane["control"]) & (lane["control"] | right)
        properties.claim(f"product_of_lane_{i}", claim, when=sink.valid)


def _product(lane: Group, factor: Signal, width: int) -> Signal:
    """Return the offset (``reference``) of a lane plus its number (``coordinate``) times a factor."""
    return (lane["reference"] + lane["coordinate"] * factor)[:width]


def add_prefix_sum(parameters: PrefixSumParameters, properties: Properties) -> None:
    """Claim that each sum is the sum of all numbers of its array so far, itself included.

    In the parallel form, a lane has the sum of its last 2, 4, 8, ... lanes after each level of adders. An
    array ends with a row whose last lane is a stop.
    """
    source, sink = properties.end("lanes"), properties.end("sums")
    _assume_stops_last(properties, source)
    stages = sum_depth(parameters.form, parameters.lanes)
    rows = Pipeline(properties, source, sink, stages)
    before = pyrtl.Register(parameters.width, "sum_before")
    total = before
    for i, (lane, sent) in enumerate(zip(rows.lanes(-1), sink.lanes, strict=True)):
        total = (total + lane["coordinate"])[: parameters.width]
        claim = (sent["control"] == lane["control"]) & (lane["control"] | (sent["coordinate"] == total))
        properties.claim(f"sum_of_lane_{i}", claim, when=sink.valid)
    ends = rows.lanes(-1)[-1]["control"]
    following = pyrtl.select(ends, pyrtl.Const(0, parameters.width), total)
    before.next <<= pyrtl.select(sink.moves, following, before)
    properties.claim("offset", properties.inner("offset") == pyrtl.select(rows.full[-1], following, before))
    for stage in range(stages - 1 if parameters.form == PARALLEL else 0):
        numbers = [lane["coordinate"] for lane in rows.lanes(stage)]
        claims = [
            properties.inner(f"stage{stage:02}_lane{i:02}_control") == lane["control"]
            for i, lane in enumerate(rows.lanes(stage))
        ]
        for i in range(parameters.lanes):
            near = reduce(add, numbers[max(0, i + 1 - (2 << stage)) : i + 1])[: parameters.width]
            claims.append(properties.inner(f"stage{stage:02}_lane{i:02}_coordinate") == near)
        properties.claim(f"sums_of_stage_{stage}", all_of(claims), when=rows.full[stage])
