"""Claims of networks: each token leaves once, at the port of its tag or address, and no input starves.

The tag is the coordinate of a token; its bits from ``PORT_SHIFT`` on are the number of a port.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.concentrator_rtl import ConcentratorParameters
from fiberscope.hw.networks.crossbar_rtl import ADDRESS, CrossbarParameters
from fiberscope.hw.rtl.kit.trees import remainder
from fiberscope.hw.rtl.kit.twin import Signal, index_bits
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of, any_of, count, implies


def add_crossbar(parameters: CrossbarParameters, properties: Properties) -> None:
    """Claim that a token leaves in the cycle in which it is taken, at the output of its address or port.

    A token whose tag has no existing port is never taken.
    """
    sources, sinks = properties.streams("input"), properties.streams("output")
    goals = [_goals(parameters, source) for source in sources]
    for output, sink in enumerate(sinks):
        requests = [source.valid & goal[output] for source, goal in zip(sources, goals, strict=True)]
        grants = [request & source.ready for request, source in zip(requests, sources, strict=True)]
        # One granted token at most (``serves_one``), so the output has the word of the granted input.
        same_word = [
            implies(flag, sink.word == source.word) for flag, source in zip(grants, sources, strict=True)
        ]
        _add_arbiter(f"output_{output:02}", properties, requests, grants, sink)
        properties.claim(f"word_{output}", all_of(same_word), when=sink.fire)
    is_kept = [implies(~any_of(goal), ~source.fire) for goal, source in zip(goals, sources, strict=True)]
    properties.claim("goes_where_it_says", all_of(is_kept))


def _goals(parameters: CrossbarParameters, source: StreamWires) -> list[Signal]:
    """Return for each output whether a token at an input, if there is one, goes there."""
    if parameters.route == ADDRESS:
        line = source.fields["reference"][parameters.interleave_bits :]
        return [remainder(line, parameters.outputs) == output for output in range(parameters.outputs)]
    port, firsts = (
        source.fields["coordinate"][PORT_SHIFT:],
        range(0, parameters.outputs * parameters.group, parameters.group),
    )
    return [(port >= first) & (port < first + parameters.group) for first in firsts]


def add_concentrator(parameters: ConcentratorParameters, properties: Properties) -> None:
    """Claim that requests leave with their input's port in the tag, and replies at the port in the tag.

    The port of input or output i is ``first_port`` + i.
    """
    streams = {
        stream.definition.label: stream
        for stream in properties.streams("input") + properties.streams("output")
    }
    sources = [streams[f"inputs[{i}]"] for i in range(parameters.requesters)]
    sinks = [streams[f"outputs[{i}]"] for i in range(parameters.repliers)]
    requests, replies = streams["requests"], streams["replies"]
    grants = [source.fire for source in sources]
    _add_arbiter("requests", properties, [source.valid for source in sources], grants, requests)
    for i, source in enumerate(sources):
        is_passed = _is_passed(requests, source, parameters.first_port + i)
        properties.claim(f"word_{i}", is_passed, when=source.fire)
    for i, sink in enumerate(sinks):
        is_passed = _is_passed(replies, sink, parameters.first_port + i)
        properties.claim(f"reply_{i}", is_passed, when=sink.fire)
    properties.claim("a_reply_leaves_once", count([sink.fire for sink in sinks]) == replies.fire)


def _is_passed(tagged: StreamWires, plain: StreamWires, port: int) -> Signal:
    """Return whether two tokens are the same, with this port in the tag of ``tagged``.

    The tag of ``plain`` is the part below the port.
    """
    same_fields = [plain.fields[name] == wire for name, wire in tagged.fields.items() if name != "coordinate"]
    tag = tagged.fields["coordinate"]
    same_tag = (tag[:PORT_SHIFT] == plain.fields["coordinate"]) & (tag[PORT_SHIFT:] == port)
    return all_of([same_tag, *same_fields])


def _add_arbiter(
    name: str, properties: Properties, requests: Sequence[Signal], grants: Sequence[Signal], sink: StreamWires
) -> None:
    """Claim that an output offers a token while any input asks for it, serves one input, and is fair.

    Fair means: while an input asks without a pause, at most ``len(requests) - 1`` tokens of others leave.

    Args:
        name: name of the arbiter in the block, which names the claims too.
        properties: collects the claims.
        requests: for each input, whether it asks for the output.
        grants: for each input, whether its token is taken for the output.
        sink: the output.
    """
    max_losses, register = len(requests) - 1, properties.inner(f"behind_{name}")
    suffixes = [(1 << len(requests)) - (1 << first) for first in range(1, len(requests))]
    properties.claim(f"offers_{name}", sink.valid == any_of(requests))
    properties.claim(f"serves_one_{name}", count(grants) == sink.fire)
    # The reachable values of the register: induction begins in any state that the claims allow.
    properties.claim(f"turn_{name}", any_of([register == mask for mask in (0, *suffixes)]))
    for i, (request, grant) in enumerate(zip(requests, grants, strict=True)):
        losses = pyrtl.Register(index_bits(len(requests) + 1), f"lost_{name}_{i}")
        is_waiting = request & ~grant
        losses.next <<= pyrtl.select(is_waiting, (losses + sink.fire)[: len(losses)], 0)
        # Each loss leaves at least one requester less before this one. The sum makes the claim inductive.
        predecessors = _requesters_before(register, suffixes, i)
        properties.claim(f"fair_{name}_{i}", (losses + predecessors <= max_losses) & (losses <= max_losses))


def _requesters_before(register: Signal, suffixes: Sequence[int], requester: int) -> Signal:
    """Return the number of requesters with priority over this one.

    Args:
        register: of the arbiter: the mask of the requesters after the last one served; 0 if there are none.
        suffixes: its other values: the requesters from 1 on, from 2 on, and so on.
        requester: number of the requester.
    """
    # 8 bits number up to 256 requesters. A register of 0 gives requester 0 the first turn.
    requester_count, distance = len(suffixes) + 1, pyrtl.Const(requester, 8)
    for first, mask in enumerate(suffixes, 1):
        distance = pyrtl.select(
            register == mask, pyrtl.Const((requester - first) % requester_count, 8), distance
        )
    return distance
