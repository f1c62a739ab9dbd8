"""Claims of blocks that divide, permute, add up and pack the lanes of a row.

Each ``add_...`` function adds the claims of one block with these parameters to ``properties``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyrtl

from fiberscope.hw.lanes.adder_network import depth as network_depth
from fiberscope.hw.lanes.adder_network import level
from fiberscope.hw.lanes.adder_network_rtl import AdderNetworkParameters
from fiberscope.hw.lanes.divider import depth as divider_depth
from fiberscope.hw.lanes.divider_rtl import DividerParameters
from fiberscope.hw.lanes.packer_rtl import PackerParameters
from fiberscope.hw.networks.benes import MINIMAL
from fiberscope.hw.networks.benes_rtl import BenesParameters
from fiberscope.hw.rtl.kit.interface import MASK
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, packed
from fiberscope.rtl.formal.pipeline import ArrayConstant, RowMonitor
from fiberscope.rtl.formal.properties import LaneFields, Properties, all_of, any_of, count, implies


def add_divider(parameters: DividerParameters, properties: Properties) -> None:
    """Claim that quotient and remainder are right, by the bits that each stage has computed.

    After k bits, the upper k bits of the dividend equal the partial quotient times the divisor plus a
    remainder below the divisor. With a divisor of 0, all bits of the quotient are 1, and the remainder equals
    the upper bits of the dividend.
    """
    dividends, divisors, results = (properties.stream(name) for name in ("dividends", "divisors", "results"))
    stages = divider_depth(parameters.width, parameters.bits_per_stage)
    divisor = ArrayConstant(properties, divisors, dividends).word
    rows = RowMonitor(properties, dividends, results, stages, divisor)
    for stage in range(stages):
        is_last = stage == stages - 1
        bits = min((stage + 1) * parameters.bits_per_stage, parameters.width)
        name = "last" if is_last else f"stage{stage:02}"
        claims = []
        if not is_last:
            claims.append(properties.inner(f"{name}_divisor") == rows.extra(stage))
        for i, lane in enumerate(rows.lanes(stage)):
            partial = {
                field: properties.inner(f"{name}_lane{i:02}_{field}")
                for field in ("control", "coordinate", "reference")
            }
            is_right = _is_divided(lane["coordinate"], rows.extra(stage), partial, bits)
            claims.append(partial["control"] == lane["control"])
            # Inner stages divide the number of a stop too; the output register has zeros for a stop.
            claims.append(lane["control"] | is_right if is_last else is_right)
        # Claims on every stage make the proof inductive: each follows from the claim on the stage before.
        properties.claim(f"divided_{bits}_bits", all_of(claims), when=rows.is_full[stage])
    results_of_last_stage = [
        lane[field] == properties.inner(f"last_lane{i:02}_{field}")
        for i, lane in enumerate(results.lanes)
        for field in ("control", "coordinate", "reference")
    ]
    properties.claim("results", all_of(results_of_last_stage), when=results.valid)
    properties.cover("divisor_of_zero", rows.is_full[-1] & (rows.extra(stages - 1) == 0))


def _is_divided(dividend: Signal, divisor: Signal, partial: LaneFields, bits: int) -> Signal:
    """Return whether ``bits`` bits of the quotient are right, with the rest of the dividend above them.

    Args:
        dividend: the dividend of the lane.
        divisor: the divisor of the array.
        partial: fields of the lane in a stage: ``coordinate`` has the quotient, ``reference`` the remainder.
        bits: number of computed bits.
    """
    width = len(dividend)
    quotient, remainder = partial["coordinate"][:bits], partial["reference"]
    upper_bits = dividend[width - bits :]
    # PyRTL widens products and sums to all their bits, so nothing overflows.
    is_exact = quotient * divisor + remainder == upper_bits
    is_by_zero = (quotient == (1 << bits) - 1) & (remainder == upper_bits)
    is_right = pyrtl.select(divisor == 0, is_by_zero, is_exact & (remainder < divisor))
    return (
        is_right if bits == width else is_right & (partial["coordinate"][bits:] == dividend[: width - bits])
    )


def add_benes(parameters: BenesParameters, properties: Properties) -> None:
    """Claim that a row leaves with the same words; the double network may copy or omit words.

    The covers ask that the word of each input lane reaches output lane 0.
    """
    # The registers between columns, and the output register.
    rows = RowMonitor(
        properties, properties.stream("inputs"), properties.stream("outputs"), parameters.stages + 1
    )
    sink = properties.stream("outputs")
    inputs, outputs = rows.lanes(parameters.stages), sink.lanes
    # A claim about the count of one arbitrary word is a claim about every word.
    watched = properties.constant(len(packed(outputs[0])), "watched_word")
    entered, left = (count([packed(lane) == watched for lane in lanes]) for lanes in (inputs, outputs))
    if parameters.form == MINIMAL:
        properties.claim("a_permutation", entered == left, when=sink.valid)
    else:
        properties.claim("no_word_from_nowhere", entered != 0, when=sink.valid & (left != 0))
    for i, lane in enumerate(inputs):
        properties.cover(
            f"lane_{i}_to_lane_0", sink.valid & outputs[0][MASK] & (packed(lane) == packed(outputs[0]))
        )


def add_adder_network(parameters: AdderNetworkParameters, properties: Properties) -> None:
    """Claim that the sums of a neuron add up to its leaves, and that each run of leaves has one sum.

    The coordinate of a leaf is its neuron. A run is a maximal sequence of adjacent leaves of one neuron.
    """
    leaves, sums = properties.stream("leaves"), properties.stream("sums")
    stages = network_depth(parameters.leaves)
    rows = RowMonitor(properties, leaves, sums, stages)
    watched = properties.constant(parameters.id_bits, "watched_neuron")
    leaf_flags = [lane[MASK] & (lane["coordinate"] == watched) for lane in rows.lanes(stages - 1)]
    sum_flags = [lane[MASK] & (lane["coordinate"] == watched) for lane in sums.lanes]
    width = sums.definition.widths["value"] + 1
    leaf_total = _total(leaf_flags, rows.lanes(stages - 1), width)
    properties.claim("sums_of_a_neuron", leaf_total == _total(sum_flags, sums.lanes, width), when=sums.valid)
    # A leaf of the neuron begins a run unless the leaf before is of the neuron too.
    run_starts = [
        flag & ~previous
        for flag, previous in zip(leaf_flags, [pyrtl.Const(0, 1), *leaf_flags[:-1]], strict=True)
    ]
    properties.claim("a_sum_a_run", count(run_starts) == count(sum_flags), when=sums.valid)
    for stage in range(stages - 1):
        properties.claim(
            f"sums_of_stage_{stage}", _stage_sums(properties, rows, stage), when=rows.is_full[stage]
        )


def _stage_sums(properties: Properties, rows: RowMonitor, stage: int) -> Signal:
    """Return whether the lanes of a stage have their sums.

    The adder of a lane adds the leaves of its neuron within its span, if the next leaf is of the neuron.
    Lanes with adders in later stages have their leaf.
    """
    leaves = rows.lanes(stage)
    has_next = [
        leaf[MASK] & next_leaf[MASK] & (leaf["coordinate"] == next_leaf["coordinate"])
        for leaf, next_leaf in pairwise(leaves)
    ]
    claims = []
    for i, leaf in enumerate(leaves):
        lane = {
            name: properties.inner(f"stage{stage:02}_lane{i:02}_{name}")
            for name in (MASK, "coordinate", "value")
        }
        width = len(lane["value"])
        total = leaf["value"].sign_extended(width)
        # The last lane has no adder. Leaf j counts if all leaves between j and the adder are of the neuron.
        if i < len(has_next) and level(i) <= stage:
            span = range(i + 1 - (1 << level(i)), i + 1 + (1 << level(i)))
            flags = [all_of(has_next[min(i, j) : max(i, j)]) for j in span]
            span_total = _total(flags, [leaves[j] for j in span], width)
            total = pyrtl.select(has_next[i], span_total, total)
        if i < len(has_next):
            claims.append(properties.inner(f"stage{stage:02}_lane{i:02}_joined") == has_next[i])
        is_same_leaf = (lane[MASK] == leaf[MASK]) & (lane["coordinate"] == leaf["coordinate"])
        claims += [is_same_leaf, lane["value"] == total]
    return all_of(claims)


def _total(flags: Sequence[Signal], lanes: Sequence[LaneFields], width: int) -> Signal:
    """Return the sum of the values of the flagged lanes, modulo 2 to the power of ``width``."""
    total = pyrtl.Const(0, width)
    for flag, lane in zip(flags, lanes, strict=True):
        value = lane["value"].sign_extended(width)
        total = (total + pyrtl.select(flag, value, pyrtl.Const(0, width)))[:width]
    return total


def add_packer(parameters: PackerParameters, properties: Properties) -> None:
    """Claim that items leave in order, exactly once, in full rows except the last of a fiber.

    An item is the token of a lane without mask and control. The queue has the items that wait inside. This
    model of the packer appends the items of a row one by one, where the block computes all places at once.
    """
    source, sink = properties.stream("lanes"), properties.stream("packed")
    outputs = parameters.outputs
    waiting = pyrtl.Register(parameters.places.bit_length(), "waiting")
    queue = [DataRegister(len(_item(source.lanes[0])), f"queued_{i}") for i in range(parameters.kept)]
    number, items = waiting, [*queue, *[pyrtl.Const(0, len(queue[0]))] * (parameters.places - len(queue))]
    for lane in source.lanes:
        is_pushed = source.fire & lane[MASK] & ~lane["control"]
        items = [
            pyrtl.select(is_pushed & (number == position), _item(lane), item)
            for position, item in enumerate(items)
        ]
        number = (number + is_pushed)[: len(waiting)]
    # ``number`` and ``items`` now include the row that is taken; an output row removes the first ``outputs``.
    remaining = pyrtl.select(number > outputs, (number - outputs)[: len(waiting)], 0)
    waiting.next <<= pyrtl.select(sink.fire, remaining, number)
    for position, register in enumerate(queue):
        next_position = position + outputs
        register.next <<= pyrtl.select(
            sink.fire, items[next_position] if next_position < len(items) else register, items[position]
        )
    has_stop = any_of([source.fire & lane[MASK] & lane["control"] for lane in source.lanes])
    # An array ends with a row that is not full, which may have only stops.
    is_ending = pyrtl.Register(1, "ends")
    is_ending.next <<= (is_ending | has_stop) & ~(sink.fire & (number < outputs))
    for i, lane in enumerate(sink.lanes):
        has_item = number > i
        is_item = (lane["control"] == ~has_item) & implies(has_item, _item(lane) == items[i])
        properties.claim(f"lane_{i}", is_item, when=sink.fire)
    properties.claim("full_rows", (number >= outputs) | is_ending | has_stop, when=sink.fire)
    properties.claim("takes_nothing_before_the_end", ~source.fire, when=is_ending)
    properties.claim("ends", properties.inner("ending") == is_ending)
    # The registers of the block hold the queue: with this claim, the others can be proven by induction.
    stored = [implies(waiting > i, properties.inner(f"kept_{i:02}") == item) for i, item in enumerate(queue)]
    properties.claim(
        "queue", all_of([properties.inner("held") == waiting, waiting <= parameters.kept, *stored])
    )
    properties.cover("full", waiting == parameters.kept)


def _item(lane: LaneFields) -> Signal:
    """Return the fields of a lane without mask and control, as one word."""
    return packed({name: wire for name, wire in lane.items() if name not in (MASK, "control")})
