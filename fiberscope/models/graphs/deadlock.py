"""Explain a deadlock of a graph: which paths wait for each other, and how deep channels must be.

Two paths fork at a block and meet again at another. If one of them holds its tokens back, as a path through a
reducer does, the other has to hold as many meanwhile; where its channels cannot, neither moves. The
sufficient depth is searched by running the graph again, first without a bound, then by halving.
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
        stuck: the machine as it stands.
        unbounded: makes it anew without bounds.
        with_depth: makes it anew with channels of this depth.
    """
    free = unbounded()
    if not _runs(free):
        return "The graph deadlocks without bounds too: no capacity is enough."
    full = [place for place, channel in stuck.channel_of.items() if _is_full(channel)]
    lines = [_described(stuck, place, free.channel_of[place]) for place in full]
    depth = least_depth(stuck.parameters.depth, _reached(free), with_depth)
    return "\n".join([*lines, f"Channels of {depth} tokens are enough (tested): --set depth={depth}"])


def least_depth(stuck: int, enough: int, with_depth: Callable[[int], GraphMachine]) -> int:
    """The least depth of all channels with which the graph runs to its end; ``stuck`` is one that does not.

    A depth is taken as enough only after a run with it.
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
    """No channel without a bound held more than this."""
    return max(channel.capacity for channel in free.kernel.channels())


def _is_full(channel: Channel) -> bool:
    return channel.occupancy >= channel.capacity


def _described(machine: GraphMachine, place: int, free: Channel) -> str:
    """One full channel, and the paths that meet behind it."""
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
    """The nearest block that both streams come from."""
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
