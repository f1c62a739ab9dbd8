"""A few machines that between them touch every part of the engine, and what they did, as JSON.

Run as a script it prints that for the mode which the environment chooses.
"""

import json
from dataclasses import asdict
from fractions import Fraction

from networks import Arbiter, Edge, Network, Node, make_component, simulate

from fiberscope.sim import Kernel, SimulationError, import_mode
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens, random_stalls

FREQUENCIES = (Fraction(10**9), Fraction(1_500_000_000), Fraction(536_870_912))


def machines() -> list[Network]:
    """A lattice of all kinds of stages in three clocks, and one that comes to a deadlock."""
    nodes = (
        Node("source", 0, 30, stalls=random_stalls(1)),
        Node("source", 1, 30, stalls=random_stalls(2, longest=300)),
        Node("join", 0),  # a fork of the first source
        Node("delay", 2, cycles=3),
        Node("arbiter", 1),
        Node("twins", 0),
        Node("batch", 2),
        Node("join", 1),
        Node("sink", 0, stalls=random_stalls(3)),
        Node("sink", 2, stalls=(0, 0, 0, 0, 0, 0, 300)),
    )
    wires = ((0, 0, 2, 0), (2, 0, 3, 0), (2, 1, 4, 0), (1, 0, 4, 1), (4, 0, 5, 0), (5, 0, 6, 0), (6, 0, 9, 0))
    edges = [Edge(*wire, capacity=2 + n % 3, latency=1 + n * n % 5) for n, wire in enumerate(wires)]
    done = [Edge(3, 0, 7, 0, 6, 260), Edge(7, 0, 8, 0, 2, 1)]
    stuck = [Edge(3, 0, 7, 0, 4, 2), Edge(6, 1, 7, 1, 3, 1), Edge(7, 0, 8, 0, 2, 1)]
    return [Network(FREQUENCIES, nodes, (*edges, *more)) for more in (done, stuck)]


def failures() -> list[list[str]]:
    """Messages and notes of machines that fail."""

    class Wrong(StreamSink):
        def tick(self, now):
            return self.source.pop() or now

    class Backward(StreamSink):
        def tick(self, now):
            return now - 1 if now == 2 else self.busy(now + 1)

    class Nothing(StreamSink):
        def tick(self, now):
            return self.wait_output(self.source)

    found = []
    for kind in (Wrong, Backward, Nothing):
        kernel = Kernel()
        kernel.clock("core", 10**9)
        source, sink = kernel.add(StreamSource("source", data_tokens(range(9)))), kernel.add(kind("sink"))
        kernel.connect(source, "out", sink, "in", capacity=2, latency=3)
        try:
            kernel.run()
        except SimulationError as error:
            found.append([type(error).__name__, str(error), *error.__notes__])
    return found


def measure(arbiter: type[Arbiter] = Arbiter) -> dict:
    """Results of all machines in all ways of running."""

    def make(number, node):
        return arbiter(f"arbiter{number}") if node.kind == "arbiter" else make_component(number, node)

    results = [
        asdict(simulate(machine, make=make, sleep=sleep, order_seed=order_seed))
        for machine in machines()
        for sleep in (True, False)
        for order_seed in (None, 5)
    ]
    return {"compiled": import_mode.compiled(), "results": [results, failures()]}


if __name__ == "__main__":
    print(json.dumps(measure()))
