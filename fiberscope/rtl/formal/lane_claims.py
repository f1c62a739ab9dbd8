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
from fiberscope.rtl.formal.pipeline import Pipeline, RowConstant
from fiberscope.rtl.formal.properties import Group, Properties, all_of, any_of, count, implies


def add_divider(parameters: DividerParameters, properties: Properties) -> None:
    """Claim that quotient and remainder are right, by the bits that each stage has computed.

    After k bits, the upper k bits of the dividend equal the partial quotient times the divisor plus a
    remainder below the divisor. With a divisor of 0, all bits of the quotient are 1, and the remainder equals
    the upper bits of the dividend.
    """
    dividends, divisors, results = (properties.end(name) for name in ("dividends", "divisors", "results"))
    stages = divider_depth(parameters.width, parameters.bits_per_stage)
    divisor = RowConstant(properties, divisors, dividends).word
    rows = Pipeline(properties, dividends, results, stages, divisor)
    for stage in range(stages):
        last = stage == stages - 1
        bits = min((stage + 1) * parameters.bits_per_stage, parameters.width)
        name = "last" if last else f"stage{stage:02}"
        claims = []
        if not last:
            claims.append(properties.inner(f"{name}_divisor") == rows.attached(stage))
        for i, lane in enumerate(rows.lanes(stage)):
            partial = {
                field: properties.inner(f"{name}_lane{i:02}_{field}")
                for field in ("control", "coordinate", "reference")
            }
            right = _is_divided(lane["coordinate"], rows.attached(stage), partial, bits)
            claims.append(partial["control"] == lane["control"])
            claims.append(lane["control"] | right if last else right)
        properties.claim(f"divided_{bits}_bits", all_of(claims), when=rows.full[stage])
    shown = [
        lane[field] == properties.inner(f"last_lane{i:02}_{field}")
        for i, lane in enumerate(results.lanes)
        for field in ("control", "coordinate", "reference")
    ]
    properties.claim("results", all_of(shown), when=results.valid)
    properties.cover("divisor_of_zero", rows.full[-1] & (rows.attached(stages - 1) == 0))


def _is_divided(dividend: Signal, divisor: Signal, partial: Group, bits: int) -> Signal:
    """Return whether ``bits`` bits of the quotient are right, with the rest of the dividend above them.

    Args:
        dividend: the dividend of the lane.
        divisor: the divisor of the array.
        partial: fields of the lane in a stage: ``coordinate`` has the quotient, ``reference`` the remainder.
        bits: number of computed bits.
    """
    width = len(dividend)
    quotient, remainder = partial["coordinate"][:bits], partial["reference"]
    upper = dividend[width - bits :]
    whole = quotient * divisor + remainder == upper
    by_zero = (quotient == (1 << bits) - 1) & (remainder == upper)
    right = pyrtl.select(divisor == 0, by_zero, whole & (remainder < divisor))
    return right if bits == width else right & (partial["coordinate"][bits:] == dividend[: width - bits])


def add_benes(parameters: BenesParameters, properties: Properties) -> None:
    """Claim that a row leaves with the same words; the double network may copy or omit words.

    The covers ask that the word of each input lane reaches output lane 0.
    """
    rows = Pipeline(properties, properties.end("inputs"), properties.end("outputs"), parameters.stages + 1)
    sink = properties.end("outputs")
    before, behind = rows.lanes(parameters.stages), sink.lanes
    watched = properties.constant(len(packed(behind[0])), "watched_word")
    came, leaves = (count([packed(lane) == watched for lane in lanes]) for lanes in (before, behind))
    if parameters.form == MINIMAL:
        properties.claim("a_permutation", came == leaves, when=sink.valid)
    else:
        properties.claim("no_word_from_nowhere", came != 0, when=sink.valid & (leaves != 0))
    for i, lane in enumerate(before):
        properties.cover(
            f"lane_{i}_to_lane_0", sink.valid & behind[0][MASK] & (packed(lane) == packed(behind[0]))
        )


def add_adder_network(parameters: AdderNetworkParameters, properties: Properties) -> None:
    """Claim that the sums of a neuron add up to its leaves, and that each run of leaves has one sum.

    The coordinate of a leaf is its neuron. A run is a maximal sequence of adjacent leaves of one neuron.
    """
    leaves, sums = properties.end("leaves"), properties.end("sums")
    stages = network_depth(parameters.leaves)
    rows = Pipeline(properties, leaves, sums, stages)
    watched = properties.constant(parameters.id_bits, "watched_neuron")
    came = [lane[MASK] & (lane["coordinate"] == watched) for lane in rows.lanes(stages - 1)]
    left = [lane[MASK] & (lane["coordinate"] == watched) for lane in sums.lanes]
    width = sums.stream.widths["value"] + 1
    before = _total(came, rows.lanes(stages - 1), width)
    properties.claim("sums_of_a_neuron", before == _total(left, sums.lanes, width), when=sums.valid)
    begins = [own & ~previous for own, previous in zip(came, [pyrtl.Const(0, 1), *came[:-1]], strict=True)]
    properties.claim("a_sum_a_run", count(begins) == count(left), when=sums.valid)
    for stage in range(stages - 1):
        properties.claim(
            f"sums_of_stage_{stage}", _stage_sums(properties, rows, stage), when=rows.full[stage]
        )


def _stage_sums(properties: Properties, rows: Pipeline, stage: int) -> Signal:
    """Return whether the lanes of a stage have their sums.

    The adder of a lane adds the leaves of its neuron within its span, if the next leaf is of the neuron.
    Lanes with adders in later stages have their leaf.
    """
    leaves = rows.lanes(stage)
    joined = [
        left[MASK] & right[MASK] & (left["coordinate"] == right["coordinate"])
        for left, right in pairwise(leaves)
    ]
    claims = []
    for i, leaf in enumerate(leaves):
        lane = {
            name: properties.inner(f"stage{stage:02}_lane{i:02}_{name}")
            for name in (MASK, "coordinate", "value")
        }
        width = len(lane["value"])
        total = leaf["value"].sign_extended(width)
        if i < len(joined) and level(i) <= stage:
            span = range(i + 1 - (1 << level(i)), i + 1 + (1 << level(i)))
            flags = [all_of(joined[min(i, j) : max(i, j)]) for j in span]
            whole = _total(flags, [leaves[j] for j in span], width)
            total = pyrtl.select(joined[i], whole, total)
        if i < len(joined):
            claims.append(properties.inner(f"stage{stage:02}_lane{i:02}_joined") == joined[i])
        same = (lane[MASK] == leaf[MASK]) & (lane["coordinate"] == leaf["coordinate"])
        claims += [same, lane["value"] == total]
    return all_of(claims)


def _total(flags: Sequence[Signal], lanes: Sequence[Group], width: int) -> Signal:
    """Return the sum of the values of the flagged lanes, modulo 2 to the power of ``width``."""
    total = pyrtl.Const(0, width)
    for flag, lane in zip(flags, lanes, strict=True):
        value = lane["value"].sign_extended(width)
        total = (total + pyrtl.select(flag, value, pyrtl.Const(0, width)))[:width]
    return total


def add_packer(parameters: PackerParameters, properties: Properties) -> None:
    """Claim that items leave in order, exactly once, in full rows except the last of a fiber.

    An item is the token of a lane without mask and control. The queue has the items that wait inside.
    """
    source, sink = properties.end("lanes"), properties.end("packed")
    outputs = parameters.outputs
    waiting = pyrtl.Register(parameters.places.bit_length(), "waiting")
    queue = [DataRegister(len(_item(source.lanes[0])), f"queued_{i}") for i in range(parameters.kept)]
    number, items = waiting, [*queue, *[pyrtl.Const(0, len(queue[0]))] * (parameters.places - len(queue))]
    for lane in source.lanes:
        comes = source.moves & lane[MASK] & ~lane["control"]
        items = [
            pyrtl.select(comes & (number == place), _item(lane), item) for place, item in enumerate(items)
        ]
        number = (number + comes)[: len(waiting)]
    rest = pyrtl.select(number > outputs, (number - outputs)[: len(waiting)], 0)
    waiting.next <<= pyrtl.select(sink.moves, rest, number)
    for place, register in enumerate(queue):
        later = place + outputs
        register.next <<= pyrtl.select(
            sink.moves, items[later] if later < len(items) else register, items[place]
        )
    stops = any_of([source.moves & lane[MASK] & lane["control"] for lane in source.lanes])
    ends = pyrtl.Register(1, "ends")
    ends.next <<= (ends | stops) & ~(sink.moves & (number < outputs))
    for i, lane in enumerate(sink.lanes):
        has_item = number > i
        same = (lane["control"] == ~has_item) & implies(has_item, _item(lane) == items[i])
        properties.claim(f"lane_{i}", same, when=sink.moves)
    properties.claim("full_rows", (number >= outputs) | ends | stops, when=sink.moves)
    properties.claim("takes_nothing_before_the_end", ~source.moves, when=ends)
    properties.claim("ends", properties.inner("ending") == ends)
    kept = [implies(waiting > i, properties.inner(f"kept_{i:02}") == item) for i, item in enumerate(queue)]
    properties.claim(
        "queue", all_of([properties.inner("held") == waiting, waiting <= parameters.kept, *kept])
    )
    properties.cover("full", waiting == parameters.kept)


def _item(lane: Group) -> Signal:
    """Return the fields of a lane without mask and control, as one word."""
    return packed({name: wire for name, wire in lane.items() if name not in (MASK, "control")})
