"""Small machines whose components have signals, for tests of waveforms."""

from fractions import Fraction
from pathlib import Path

from networks import Arbiter, Delay, Edge, Join, Network, Node, build, make_component
from vcd_reader import Vcd, read_vcd

from fiberscope.sim import Component, Kernel, Signal
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens
from fiberscope.sim.trace import write_vcd


class WatchedSource(StreamSource):
    """Shows how many tokens it has sent, and whether that is all."""

    def signals(self):
        return (Signal("sent"), Signal("phase", kind="state", states=("sending", "all sent")))

    def sample(self):
        return (len(self.sent), int(len(self.sent) == len(self.tokens)))


class WatchedSink(StreamSink):
    """Shows minus the number of tokens it has received."""

    def signals(self):
        return (Signal("owed", kind="integer", width=16),)

    def sample(self):
        return (-len(self.received),)


class WatchedDelay(Delay):
    """Shows the coordinate that it holds, and whether it holds one."""

    def signals(self):
        return (Signal("coordinate", width=12), Signal("holds", width=1))

    def sample(self):
        return (self.held or 0, int(self.held is not None))


def make_watched(number: int, node: Node) -> Component:
    """The component of a node, under the machine's name ``toy``."""
    name = f"toy.{node.kind}{number}"
    match node.kind:
        case "source":
            return WatchedSource(name, data_tokens(range(1, node.count + 1)), node.stalls)
        case "sink":
            return WatchedSink(name, node.stalls)
        case "delay":
            return WatchedDelay(name, node.cycles)
        case "join":
            return Join(name)
        case "arbiter":
            return Arbiter(name)
    return make_component(number, node)


def funnel(
    sources: tuple[Node, ...],
    gather: str = "arbiter",
    *,
    frequencies: tuple[Fraction, ...] = (Fraction(10**9),),
    hold: int = 2,
    capacity: int = 2,
    latency: int = 1,
    pauses: tuple[int, ...] = (),
) -> Network:
    """Sources into one stage that gathers them, a delay and a sink, the last two in the last clock domain."""
    middle, last = len(sources), len(frequencies) - 1
    nodes = (*sources, Node(gather, 0), Node("delay", last, cycles=hold), Node("sink", last, stalls=pauses))
    edges = (
        *(Edge(number, 0, middle, number, capacity, latency) for number in range(middle)),
        Edge(middle, 0, middle + 1, 0, capacity, latency),
        Edge(middle + 1, 0, middle + 2, 0, capacity, latency),
    )
    return Network(frequencies, nodes, edges)


SMALL = funnel((Node("source", 0, 3, stalls=(1,)), Node("source", 0, 2)))


def watched(network: Network = SMALL, *, make=make_watched, **kernel_options) -> Kernel:
    """The network in a fresh kernel."""
    return build(network, make=make, **kernel_options)[0]


def trace(path: Path, network: Network = SMALL, *, make=make_watched, cycle_limit=None, **options) -> Vcd:
    """Run the network traced, without marks of colour unless they are asked for; gives the waveform."""
    kernel = watched(network, make=make)
    with write_vcd(kernel, path, **{"colours": False, **options}):
        kernel.run(cycle_limit=cycle_limit)
    return read_vcd(path)
