"""Claims of networks: each token leaves once, at the port in its tag, and no input starves.

The tag is the coordinate of a token; its bits from ``PORT_SHIFT`` on are the number of a port.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.concentrator_rtl import ConcentratorParameters
from fiberscope.hw.networks.crossbar_rtl import CrossbarParameters
from fiberscope.hw.rtl.kit.twin import Signal, index_bits
from fiberscope.rtl.formal.properties import End, Properties, all_of, any_of, count, implies


def add_crossbar(parameters: CrossbarParameters, properties: Properties) -> None:
    """Claim that a token leaves in the cycle in which it is taken, at the port in its tag.

    A token whose tag has no existing port is never taken.
    """
    sources, sinks = properties.ends("input"), properties.ends("output")
    ports = [source.fields["coordinate"][PORT_SHIFT:] for source in sources]
    for place, sink in enumerate(sinks):
        asks = [source.valid & (port == place) for source, port in zip(sources, ports, strict=True)]
        takes = [ask & source.ready for ask, source in zip(asks, sources, strict=True)]
        words = [implies(flag, sink.word == source.word) for flag, source in zip(takes, sources, strict=True)]
        _add_arbiter(f"output_{place:02}", properties, asks, takes, sink)
        properties.claim(f"word_{place}", all_of(words), when=sink.moves)
    nowhere = [
        implies(port >= parameters.outputs, ~end.moves) for port, end in zip(ports, sources, strict=True)
    ]
    properties.claim("goes_where_it_says", all_of(nowhere))


def add_concentrator(parameters: ConcentratorParameters, properties: Properties) -> None:
    """Claim that requests leave with their input's port in the tag, and replies at the port in the tag.

    The port of input or output i is ``first_port`` + i.
    """
    ends = {end.stream.label: end for end in properties.ends("input") + properties.ends("output")}
    sources = [ends[f"inputs[{i}]"] for i in range(parameters.requesters)]
    sinks = [ends[f"outputs[{i}]"] for i in range(parameters.repliers)]
    requests, replies = ends["requests"], ends["replies"]
    takes = [source.moves for source in sources]
    _add_arbiter("requests", properties, [source.valid for source in sources], takes, requests)
    for i, source in enumerate(sources):
        same = _is_passed(requests, source, parameters.first_port + i)
        properties.claim(f"word_{i}", same, when=source.moves)
    for i, sink in enumerate(sinks):
        same = _is_passed(replies, sink, parameters.first_port + i)
        properties.claim(f"reply_{i}", same, when=sink.moves)
    properties.claim("a_reply_leaves_once", count([sink.moves for sink in sinks]) == replies.moves)


def _is_passed(whole: End, own: End, port: int) -> Signal:
    """Return whether two tokens are the same, with this port in the tag of ``whole``.

    The tag of ``own`` is the part below the port.
    """
    rest = [own.fields[name] == wire for name, wire in whole.fields.items() if name != "coordinate"]
    tag = whole.fields["coordinate"]
    same = (tag[:PORT_SHIFT] == own.fields["coordinate"]) & (tag[PORT_SHIFT:] == port)
    return all_of([same, *rest])


def _add_arbiter(
    name: str, properties: Properties, asks: Sequence[Signal], takes: Sequence[Signal], sink: End
) -> None:
    """Claim that an output offers a token while any input asks for it, serves one input, and is fair.

    Fair means: while an input asks, at most ``len(asks)`` - 1 tokens of other inputs leave.

    Args:
        name: name of the arbiter in the block, which names the claims too.
        properties: collects the claims.
        asks: for each input, whether it asks for the output.
        takes: for each input, whether its token is taken for the output.
        sink: the output.
    """
    others, behind = len(asks) - 1, properties.inner(f"behind_{name}")
    suffixes = [(1 << len(asks)) - (1 << begin) for begin in range(1, len(asks))]
    properties.claim(f"offers_{name}", sink.valid == any_of(asks))
    properties.claim(f"serves_one_{name}", count(takes) == sink.moves)
    properties.claim(f"turn_{name}", any_of([behind == mask for mask in (0, *suffixes)]))
    for i, (ask, take) in enumerate(zip(asks, takes, strict=True)):
        lost = pyrtl.Register(index_bits(len(asks) + 1), f"lost_{name}_{i}")
        waits = ask & ~take
        lost.next <<= pyrtl.select(waits, (lost + sink.moves)[: len(lost)], 0)
        before = _distance(behind, suffixes, i)
        properties.claim(f"fair_{name}_{i}", (lost + before <= others) & (lost <= others))


def _distance(behind: Signal, suffixes: Sequence[int], place: int) -> Signal:
    """Return the number of requesters with priority over this one.

    Args:
        behind: register of the arbiter: the requesters behind the last one served; 0 if there are none.
        suffixes: its other values: the requesters from 1 on, from 2 on, and so on.
        place: number of the requester.
    """
    places, distance = len(suffixes) + 1, pyrtl.Const(place, 8)
    for begin, mask in enumerate(suffixes, 1):
        distance = pyrtl.select(behind == mask, pyrtl.Const((place - begin) % places, 8), distance)
    return distance
