"""Random networks of simple components, as data and as components of the engine.

``reference_model.py`` runs the same data without the engine.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from fiberscope.sim import ANY, Component, ComponentStatistics, DeadlockError, Input, Kernel, Output
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens


@dataclass(frozen=True)
class Node:
    """One component: its kind, clock domain and numbers.

    ``count``: tokens of a source. ``cycles``: how long a delay holds a token. ``stalls``: pauses of a source
    or sink. How many inputs and outputs it has follows from the edges.
    """

    kind: str
    domain: int
    count: int = 0
    cycles: int = 1
    stalls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Edge:
    """One channel, from the ``output``-th output of a node to the ``input``-th input of another."""

    producer: int
    output: int
    consumer: int
    input: int
    capacity: int
    latency: int


@dataclass(frozen=True)
class Network:
    """Nodes and the channels between them; frequencies in hertz, one a domain."""

    frequencies: tuple[Fraction, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass
class Result:
    """Result of a network: its end, the (cycle, number) pairs of each sink, and the accounting.

    ``cycles`` has for each node how many cycles it was ``busy``, ``idle``, waiting at ``in[i]``, ``out[i]``.
    """

    ended: str
    received: dict[int, list[tuple[int, int]]]
    cycles: dict[int, dict[str, int]] = field(default_factory=dict)


class Stage(Component):
    """A base class with any number of inputs and outputs."""

    PORTS = (Input("in", ANY, array=True, optional=True), Output("out", ANY, array=True, optional=True))

    def elaborate(self):
        self.inputs, self.outputs = self.channels("in"), self.channels("out")

    def full(self):
        """Return the first output without space, or None."""
        return next((channel for channel in self.outputs if not channel.can_push()), None)

    def send(self, number):
        for channel in self.outputs:
            channel.push(0, number, 0, 0.0)


class Delay(Stage):
    """A component that delays each token for some cycles before the next."""

    def __init__(self, name, cycles):
        super().__init__(name)
        self.hold, self.held, self.until = cycles, None, 0

    def tick(self, now):
        if self.held is None:
            if not self.inputs[0].can_pop():
                return self.idle()
            self.held = self.inputs[0].coordinate()
            self.inputs[0].pop()
            self.until = now + self.hold
        if now < self.until:
            return self.busy(self.until)
        if self.full():
            return self.wait_output(self.full())
        self.send(self.held)
        self.held = None
        return self.busy(now + 1)


class Join(Stage):
    """A component that adds one token of each input, and sends the sum to each output."""

    def tick(self, now):
        missing = [channel for channel in self.inputs if not channel.can_pop()]
        if len(missing) == len(self.inputs):
            return self.idle()
        if missing:
            return self.wait_input(missing[0])
        if self.full():
            return self.wait_output(self.full())
        self.send(sum(channel.coordinate() for channel in self.inputs))
        for channel in self.inputs:
            channel.pop()
        return self.busy(now + 1)


class Arbiter(Stage):
    """A component that forwards one token in a cycle, from its inputs in round-robin order."""

    turn = 0

    def tick(self, now):
        ways = len(self.inputs)
        order = [(self.turn + step) % ways for step in range(ways)]
        chosen = next((way for way in order if self.inputs[way].can_pop()), None)
        if chosen is None:
            return self.idle()
        if self.full():
            return self.wait_output(self.full())
        self.send(self.inputs[chosen].coordinate())
        self.inputs[chosen].pop()
        self.turn = (chosen + 1) % ways
        return self.busy(now + 1)


class Twins(Stage):
    """A component that sends two tokens for one, in the same cycle."""

    def tick(self, now):
        if not self.inputs[0].can_pop():
            return self.idle()
        if self.outputs[0].space() < 2:
            return self.wait_output(self.outputs[0])
        self.send(self.inputs[0].coordinate())
        self.send(-self.inputs[0].coordinate())
        self.inputs[0].pop()
        return self.busy(now + 1)


class Batch(Stage):
    """A component that adds all visible tokens, up to four, and sends the sum."""

    def tick(self, now):
        if not self.inputs[0].can_pop():
            return self.idle()
        if self.full():
            return self.wait_output(self.full())
        total = 0
        for _ in range(4):
            if self.inputs[0].can_pop():
                total += self.inputs[0].coordinate()
                self.inputs[0].pop()
        self.send(total)
        return self.busy(now + 1)


STAGES = {"join": Join, "arbiter": Arbiter, "twins": Twins, "batch": Batch}


def make_component(number: int, node: Node) -> Component:
    """Return the component of a node, named by kind and number."""
    name = f"{node.kind}{number}"
    if node.kind == "source":
        return StreamSource(name, data_tokens(range(1, node.count + 1)), node.stalls)
    if node.kind == "sink":
        return StreamSink(name, node.stalls)
    if node.kind == "delay":
        return Delay(name, node.cycles)
    return STAGES[node.kind](name)


def build(network: Network, *, make=make_component, **kernel_options) -> tuple[Kernel, list[Component]]:
    """Build the network in a new kernel."""
    kernel = Kernel(**kernel_options)
    clocks = [kernel.clock(f"clock{n}", hertz) for n, hertz in enumerate(network.frequencies)]
    components = [
        kernel.add(make(number, node), clocks[node.domain]) for number, node in enumerate(network.nodes)
    ]
    for edge in network.edges:
        producer, consumer = components[edge.producer], components[edge.consumer]
        output = "out" if isinstance(producer, StreamSource) else f"out[{edge.output}]"
        input_ = "in" if isinstance(consumer, StreamSink) else f"in[{edge.input}]"
        kernel.connect(producer, output, consumer, input_, capacity=edge.capacity, latency=edge.latency)
    return kernel, components


def simulate(network: Network, *, make=make_component, **kernel_options) -> Result:
    """Run the network in the engine."""
    kernel, components = build(network, make=make, **kernel_options)
    try:
        ended = kernel.run(cycle_limit=1_000_000).reason
    except DeadlockError:
        ended = "deadlock"
    return collect(ended, kernel, components)


def collect(ended: str, kernel: Kernel, components: list[Component]) -> Result:
    """Return the tokens and counts of the components of a finished kernel."""
    received = {
        number: [(cycle, token[1]) for cycle, token in component.received]
        for number, component in enumerate(components)
        if isinstance(component, StreamSink)
    }
    counts = kernel.statistics()
    cycles = {number: flatten(counts[component.name]) for number, component in enumerate(components)}
    return Result(ended, received, cycles)


def flatten(counts: ComponentStatistics) -> dict[str, int]:
    """Return the accounting as one mapping, without zeros; a single port is element 0 of an array."""
    flat = {"busy": counts.busy, "idle": counts.idle, **counts.input_stall, **counts.output_stall}
    return {name if name not in ("in", "out") else f"{name}[0]": n for name, n in flat.items() if n}
