"""Claims of blocks that sort, count, compare, multiply and add up the lanes of a row.

Each ``add_...`` function adds the claims of one block with these parameters to ``properties``. A block of
several stages also gets claims on each stage: they are the invariants that the induction needs. A lane is a
number or, if ``control`` is high, a stop.
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
from fiberscope.rtl.formal.pipeline import ArrayConstant, RowMonitor
from fiberscope.rtl.formal.properties import LaneFields, Properties, StreamWires, all_of, count, implies


def _assume_stops_last(properties: Properties, rows: StreamWires) -> None:
    """Assume that no number follows a stop within a row."""
    pairs = pairwise(rows.lanes)
    is_ordered = all_of([implies(lane["control"], next_lane["control"]) for lane, next_lane in pairs])
    properties.assume("stops_last", implies(rows.valid, is_ordered))


def add_sorting_network(parameters: SortingNetworkParameters, properties: Properties) -> None:
    """Claim that a row leaves with the same items, in the order of their coordinates, stops last.

    The items are counted in every stage: each item (``watched``) is there as often as in the input row.
    """
    source, sink = properties.stream("lanes"), properties.stream("sorted")
    stages = sort_depth(parameters.lanes) - 1
    rows = RowMonitor(properties, source, sink, stages)
    names = [name for name in source.definition.widths if name != "control"]
    # Any one item stands for all: a stage permutes a row if the item is as often in it as in the input row.
    watched = properties.constant(sum(source.definition.widths[name] for name in names), "watched_item")

    def items(lanes: Sequence[LaneFields]) -> Signal:
        is_item = [packed({name: lane[name] for name in names}) == watched for lane in lanes]
        return count([flag & ~lane["control"] for flag, lane in zip(is_item, lanes, strict=True)])

    for stage in range(stages):
        stage_lanes = [
            {name: properties.inner(f"stage{stage:02}_lane{i:02}_{name}") for name in ("control", *names)}
            for i in range(parameters.lanes)
        ]
        is_same = items(stage_lanes) == items(rows.lanes(stage))
        properties.claim(f"items_of_stage_{stage}", is_same, when=rows.is_full[stage])
    properties.claim("same_items", items(sink.lanes) == items(rows.lanes(-1)), when=sink.valid)
    # the control bit is the upper bit of the key: a stop is above every coordinate
    pairs = [
        (pyrtl.concat(lane["control"], lane["coordinate"]), next_lane)
        for lane, next_lane in pairwise(sink.lanes)
    ]
    is_ascending = [
        next_lane["control"] | (key <= pyrtl.concat(next_lane["control"], next_lane["coordinate"]))
        for key, next_lane in pairs
    ]
    properties.claim("sorted", all_of(is_ascending), when=sink.valid)


def add_cluster_counter(_parameters: ClusterCounterParameters, properties: Properties) -> None:
    """Claim that each number of a row leaves with the count of equal numbers directly before it in the row.

    The row passes within the cycle. The count is the ``reference`` of the output.
    """
    source, sink = properties.stream("sorted"), properties.stream("clusters")
    properties.claim("passes", (source.valid == sink.valid) & (source.ready == sink.ready))
    rank = pyrtl.Const(0, 1)
    previous: LaneFields | None = None
    for i, (lane, sent_lane) in enumerate(zip(source.lanes, sink.lanes, strict=True)):
        if previous is not None:
            is_equal = lane["coordinate"] == previous["coordinate"]
            rank = pyrtl.select(is_equal, rank + 1, pyrtl.Const(0, len(rank) + 1))
        same = [
            sent_lane[name] == wire for name, wire in lane.items() if name not in ("control", "reference")
        ]
        is_right = all_of([sent_lane["reference"] == rank, *same])
        claim = (sent_lane["control"] == lane["control"]) & (lane["control"] | is_right)
        properties.claim(f"rank_of_lane_{i}", claim, when=sink.valid)
        previous = lane


def add_comparator_bank(parameters: ComparatorBankParameters, properties: Properties) -> None:
    """Claim that ``flags`` has the result of each item's test, and ``kept`` all passing items and stops.

    The test is ``value != 0``, or a coordinate that differs from that of the item before in its fiber.
    """
    source, flags, kept = (properties.stream(name) for name in ("lanes", "flags", "kept"))
    can_fire = source.valid & flags.ready & kept.ready
    together = (flags.fire == can_fire) & (kept.fire == can_fire) & (source.fire == can_fire)
    properties.claim("together", together)
    has_item, last = (pyrtl.Register(1, "has_item"), DataRegister(parameters.width, "last_coordinate"))
    # the item before a lane: in a lower lane of this row, or else the last of the fiber in earlier rows
    has_previous, previous = has_item, last
    for i, lane in enumerate(source.lanes):
        stop, item = lane[MASK] & lane["control"], lane[MASK] & ~lane["control"]
        if parameters.test == NONZERO:
            passing = lane["value"] != 0
        else:
            passing = ~has_previous | (lane["coordinate"] != previous)
        has_previous = pyrtl.select(stop, pyrtl.Const(0, 1), has_previous | item)
        previous = pyrtl.select(item, lane["coordinate"], previous)
        flag, kept_lane = flags.lanes[i], kept.lanes[i]
        is_tested = (flag[MASK] == lane[MASK]) & implies(item, flag["coordinate"] == passing)
        properties.claim(f"flag_of_lane_{i}", is_tested, when=flags.fire)
        is_same = implies(kept_lane[MASK] & item, packed(kept_lane) == packed(lane))
        properties.claim(
            f"lane_{i}", (kept_lane[MASK] == (stop | (item & passing))) & is_same, when=kept.fire
        )
    has_item.next <<= pyrtl.select(source.fire, has_previous, has_item)
    last.next <<= pyrtl.select(source.fire, previous, last)
    if parameters.test != NONZERO:
        is_same = implies(has_item, properties.inner("coordinate_before") == last)
        properties.claim("last_item", (properties.inner("known") == has_item) & is_same)


def add_position_multiplier(parameters: PositionMultiplierParameters, properties: Properties) -> None:
    """Claim that each product is its offset plus number times factor, by the digits of each stage.

    A digit has ``digit_bits`` bits of the factor. A stage adds the number times its digit.
    """
    source, factors, sink = (properties.stream(name) for name in ("lanes", "factors", "products"))
    factor = ArrayConstant(properties, factors, source).word
    rows = RowMonitor(properties, source, sink, DEPTH - 1, factor)
    width, bits = parameters.width, digit_bits(parameters.width)
    for stage in range(DEPTH - 1):
        # after this stage, a lane has the product with the digits so far, the low bits of the factor
        digits = rows.extra(stage)[: min((stage + 1) * bits, width)]
        is_partial = (stage + 1) * bits < width  # a later stage multiplies
        claims = [properties.inner(f"stage{stage:02}_factor") == rows.extra(stage)] if is_partial else []
        for i, lane in enumerate(rows.lanes(stage)):
            stage_fields = {**lane, "reference": _product(lane, digits, width)}
            # number and factor have no registers in a stage behind which no stage multiplies
            claims += [
                properties.inner(f"stage{stage:02}_lane{i:02}_{field}") == wire
                for field, wire in stage_fields.items()
                if is_partial or field != "coordinate"
            ]
        properties.claim(f"digits_of_stage_{stage}", all_of(claims), when=rows.is_full[stage])
    for i, (lane, output) in enumerate(zip(rows.lanes(-1), sink.lanes, strict=True)):
        is_right = output["coordinate"] == _product(lane, rows.extra(-1), width)
        claim = (output["control"] == lane["control"]) & (lane["control"] | is_right)
        properties.claim(f"product_of_lane_{i}", claim, when=sink.valid)


def _product(lane: LaneFields, factor: Signal, width: int) -> Signal:
    """Return the offset (``reference``) of a lane plus its number (``coordinate``) times a factor.

    The result is modulo 2**``width``, as in the block.
    """
    return (lane["reference"] + lane["coordinate"] * factor)[:width]


def add_prefix_sum(parameters: PrefixSumParameters, properties: Properties) -> None:
    """Claim that each sum is the sum of all numbers of its array so far, itself included.

    In the parallel form, a lane has the sum of its last 2, 4, 8, ... lanes after each level of adders. An
    array ends with a row whose last lane is a stop.
    """
    source, sink = properties.stream("lanes"), properties.stream("sums")
    _assume_stops_last(properties, source)
    stages = sum_depth(parameters.form, parameters.lanes)
    rows = RowMonitor(properties, source, sink, stages)
    previous_sum = pyrtl.Register(parameters.width, "sum_before")
    total = previous_sum
    for i, (lane, output) in enumerate(zip(rows.lanes(-1), sink.lanes, strict=True)):
        total = (total + lane["coordinate"])[: parameters.width]
        claim = (output["control"] == lane["control"]) & (lane["control"] | (output["coordinate"] == total))
        properties.claim(f"sum_of_lane_{i}", claim, when=sink.valid)
    # stops are last in a row: if any lane has a stop, the last lane has one
    is_array_end = rows.lanes(-1)[-1]["control"]
    next_sum = pyrtl.select(is_array_end, pyrtl.Const(0, parameters.width), total)
    previous_sum.next <<= pyrtl.select(sink.fire, next_sum, previous_sum)
    # the block adds a row to its offset when the row enters the last stage, before the row leaves
    properties.claim(
        "offset", properties.inner("offset") == pyrtl.select(rows.is_full[-1], next_sum, previous_sum)
    )
    for stage in range(stages - 1 if parameters.form == PARALLEL else 0):
        numbers = [lane["coordinate"] for lane in rows.lanes(stage)]
        claims = [
            properties.inner(f"stage{stage:02}_lane{i:02}_control") == lane["control"]
            for i, lane in enumerate(rows.lanes(stage))
        ]
        for i in range(parameters.lanes):
            partial_sum = reduce(add, numbers[max(0, i + 1 - (2 << stage)) : i + 1])[: parameters.width]
            claims.append(properties.inner(f"stage{stage:02}_lane{i:02}_coordinate") == partial_sum)
        properties.claim(f"sums_of_stage_{stage}", all_of(claims), when=rows.is_full[stage])
