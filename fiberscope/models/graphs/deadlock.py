"""Explain a deadlock of a graph: which paths wait for each other, and how deep channels must be.

Two paths fork at one block and meet again at another block. If the first path delays its tokens, as a path
through a reducer does, the channels of the second path must buffer the tokens in between. If the channels are
full first, neither path moves. A run without bounds and a binary search over further runs find a sufficient
depth.
"""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Stream
from fiberscope.sim import Channel, DeadlockError

__all__ = ["advice", "least_depth"]


def advice(
    stuck: GraphMachine, unbounded: Callable[[], GraphMachine], with_depth: Callable[[int], GraphMachine]
) -> str:
    """Return the advice for a deadlock.

    Args:
        stuck: the machine after the deadlock.
        unbounded: returns a new machine with channels without bounds.
        with_depth: returns a new machine with channels of this depth in tokens.
    """
    free = unbounded()
    if not _runs(free):
        return "The graph deadlocks without bounds too: no capacity is enough."
    full = [place for place, channel in stuck.channel_of.items() if _is_full(channel)]
    lines = [_described(stuck, place, free.channel_of[place]) for place in full]
    depth = least_depth(stuck.parameters.depth, _reached(free), with_depth)
    return "\n".join([*lines, f"Channels of {depth} tokens are enough (tested): --set depth={depth}"])


def least_depth(stuck: int, enough: int, with_depth: Callable[[int], GraphMachine]) -> int:
    """Return the least depth of all channels with which the graph completes, as tested by runs.

    Args:
        stuck: a depth with which the graph deadlocks.
        enough: an estimate of a sufficient depth.
        with_depth: returns a new machine with channels of this depth in tokens.
    """
    low, high = stuck, max(enough, stuck + 1)
    while not _runs(with_depth(high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _runs(with_depth(middle)) else (middle, high)
    return high


def _runs(machine: GraphMachine) -> bool:
    try:
        return machine.kernel.run().complete
    except DeadlockError:
        return False


def _reached(free: GraphMachine) -> int:
    """Return an upper bound of the tokens that any channel without a bound held."""
    return max(channel.capacity for channel in free.kernel.channels())


def _is_full(channel: Channel) -> bool:
    return channel.occupancy >= channel.capacity


def _described(machine: GraphMachine, place: int, free: Channel) -> str:
    """Describe a full channel, and the paths that meet after it."""
    graph = machine.graph
    stream = graph.streams[place]
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    channel = machine.channel_of[place]
    what = (
        f"The stream from {source} {stream.output} to {target} {stream.input} is full "
        f"({channel.occupancy} of {channel.capacity} tokens; unbounded, it grew to {free.capacity} slots)"
    )
    for other in graph.streams_into(target):
        waits = graph.streams.index(other)
        if waits in machine.channel_of and not machine.channel_of[waits].occupancy:
            fork = _fork(machine, stream, other)
            paths = f"{target} waits for {other.input} from {graph.nodes[other.source]}"
            return f"{what}: {paths}" + (f"; both paths come from {graph.nodes[fork]}" if fork else "")
    return what


def _fork(machine: GraphMachine, stream: Stream, other: Stream) -> str | None:
    """Return the nearest block from which both streams come; None if there is none."""
    behind = _sources(machine, other)
    return next((name for name in _sources(machine, stream) if name in behind), None)


def _sources(machine: GraphMachine, stream: Stream) -> list[str]:
    """Return the blocks before a stream, the nearest first."""
    sources, pending = [], [stream.source]
    while pending:
        name = pending.pop(0)
        if name not in sources:
            sources.append(name)
            into = machine.graph.streams_into(machine.graph.nodes[name])
            pending += [before.source for before in into if before.input != "skip"]
    return sources
