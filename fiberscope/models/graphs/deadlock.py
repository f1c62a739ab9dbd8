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
from fiberscope.sim import Channel, DeadlockError, SimulationError


def explain_deadlock(
    deadlocked: GraphMachine,
    build_unbounded: Callable[[], GraphMachine],
    build_with_depth: Callable[[int], GraphMachine],
) -> str:
    """Return which paths wait for each other, and a sufficient depth of the channels.

    The explanation runs further machines: one without bounds, and one for each depth that is tried.

    Args:
        deadlocked: the machine after the deadlock.
        build_unbounded: returns a new machine with channels without bounds.
        build_with_depth: returns a new machine with channels of this depth in tokens.

    Returns:
        A line for each full channel, and a line with the depth, or with the failure of a run with deeper
        channels. If the graph fails or deadlocks without bounds, too, a single line says so.
    """
    unbounded_run = build_unbounded()
    try:
        completes = unbounded_run.kernel.run().complete
    except DeadlockError:
        completes = False
    except SimulationError as error:
        return f"Without bounds, the graph fails too: {error}"
    if not completes:
        return "The graph deadlocks without bounds too: no capacity is enough."
    # channels have the number of their stream in the graph, in both machines
    full_channels = [number for number, channel in deadlocked.channel_of.items() if _is_full(channel)]
    lines = [_describe(deadlocked, number, unbounded_run.channel_of[number]) for number in full_channels]
    try:
        depth = find_least_depth(
            deadlocked.parameters.depth, _bound_capacity(unbounded_run), build_with_depth
        )
    except SimulationError as error:
        return "\n".join([*lines, f"With deeper channels, the graph fails: {error}"])
    return "\n".join([*lines, f"Channels of {depth} tokens are enough (tested): --set depth={depth}"])


def find_least_depth(
    deadlocked: int, sufficient: int, build_with_depth: Callable[[int], GraphMachine]
) -> int:
    """Return the least depth of all channels with which the graph completes, as tested by runs.

    The graph must complete without bounds; otherwise the search does not end. The search assumes that the
    graph also completes with every larger depth.

    Args:
        deadlocked: a depth with which the graph deadlocks.
        sufficient: an estimate of a sufficient depth; it is doubled until the graph completes.
        build_with_depth: returns a new machine with channels of this depth in tokens.

    Raises:
        SimulationError: a run fails otherwise than by a deadlock.
    """
    low, high = deadlocked, max(sufficient, deadlocked + 1)
    while not _completes_run(build_with_depth(high)):
        low, high = high, 2 * high  # the estimate was too small: ``high`` deadlocks
    # ``low`` deadlocks and ``high`` completes, until they are neighbours
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _completes_run(build_with_depth(middle)) else (middle, high)
    return high


def _completes_run(machine: GraphMachine) -> bool:
    try:
        return machine.kernel.run().complete
    except DeadlockError:
        return False


def _bound_capacity(unbounded_run: GraphMachine) -> int:
    """Return an upper bound of the tokens that any channel without a bound held: the slots it grew to."""
    return max(channel.capacity for channel in unbounded_run.kernel.channels())


def _is_full(channel: Channel) -> bool:
    return channel.occupancy >= channel.capacity


def _describe(machine: GraphMachine, number: int, unbounded: Channel) -> str:
    """Describe a full channel, and the paths that meet after it.

    The first empty stream into the same block is the path for which the block waits. Without an empty stream,
    only the channel is described.
    """
    graph = machine.graph
    stream = graph.streams[number]
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    channel = machine.channel_of[number]
    message = (
        f"The stream from {source} {stream.output} to {target} {stream.input} is full "
        f"({channel.occupancy} of {channel.capacity} tokens; unbounded, it grew to {unbounded.capacity} "
        "slots)"
    )
    for other in graph.list_streams_into(target):
        other_number = graph.streams.index(other)
        if other_number in machine.channel_of and not machine.channel_of[other_number].occupancy:
            fork = _fork(machine, stream, other)
            paths = f"{target} waits for {other.input} from {graph.nodes[other.source]}"
            return f"{message}: {paths}" + (f"; both paths come from {graph.nodes[fork]}" if fork else "")
    return message


def _fork(machine: GraphMachine, stream: Stream, other: Stream) -> str | None:
    """Return the block nearest to ``stream`` from which both streams come; None if there is none."""
    other_sources = _list_sources(machine, other)
    # sources are in the order of a breadth-first search, so the first common source is the nearest
    return next((name for name in _list_sources(machine, stream) if name in other_sources), None)


def _list_sources(machine: GraphMachine, stream: Stream) -> list[str]:
    """Return the blocks before a stream, the nearest first, each once; the first is its own source."""
    sources, pending = [], [stream.source]
    while pending:
        name = pending.pop(0)
        if name not in sources:
            sources.append(name)
            inputs = machine.graph.list_streams_into(machine.graph.nodes[name])
            # skip streams run backwards, from a joiner to a scanner
            pending += [feeding.source for feeding in inputs if feeding.input != "skip"]
    return sources
