"""A graph run both ways, as components and as plain models, and all of its streams side by side."""

from dataclasses import dataclass

from streams.plain_graph import PlainGraph

from fiberscope.hw.streams.testing import SEEN, protocol_of
from fiberscope.hw.streams.tokens import format_token
from fiberscope.models.graphs.execution import graph_settings
from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink


@dataclass
class Recorded:
    """What a run of the components gave."""

    machine: GraphMachine
    streams: dict  # (node, output) to (cycle, token), cycles as those of the public simulator
    cycles: int


def outputs_of(graph, node):
    """All outputs of a node, skips of joiners too."""
    for port in node.primitive.outputs:
        name = port.name.removesuffix("[]")
        for number in range(graph.arity(node)) if port.name.endswith("[]") else [None]:
            yield name if number is None else f"{name}[{number}]"


def recorded(graph, tensors, sizes, phase=1, *, timing="sam", kernel=None, **settings):
    """Run one phase with a listener at every output that is not a skip."""
    sinks = {}

    def observe(machine):
        for node in machine.nodes:
            for output in outputs_of(graph, node):
                if output.startswith("skip"):
                    continue
                sink = machine.kernel.add(StreamSink(f"sink.{node.name}.{output}", ()))
                machine.listen(node, output, sink, "in")
                sinks[node.name, output] = sink

    parameters = graph_settings({"timing": timing, **settings})
    machine = GraphMachine(
        parameters, graph, tensors, list_expressions(graph), sizes, phase, kernel or Kernel(), observe
    )
    machine.kernel.run()
    streams = {
        (name, output): _written(
            sink,
            protocol_of(
                machine.blocks[name], graph.nodes[name].primitive.output_port(graph.nodes[name], output)
            ),
        )
        for (name, output), sink in sinks.items()
    }
    return Recorded(machine, streams, machine.cycles)


def _written(sink, carries):
    return [
        (cycle - 1 - SEEN, format_token(kind, payload, value, carries))
        for cycle, (kind, payload, _reference, value) in sink.received
    ]


def plain(graph, tensors, phase=1):
    """Run one phase with the plain models."""
    machine = PlainGraph(graph, tensors, phase)
    machine.run()
    return machine


def same_streams(graph, tensors, sizes, phase=1):
    """Check that both ways give the same tokens in the same cycles, on every stream; returns the run."""
    expected, found = plain(graph, tensors, phase), recorded(graph, tensors, sizes, phase)
    for (name, output), stream in found.streams.items():
        if graph.nodes[name].type == "bitvector":
            continue  # words wider than 64 bits go in parts; what is made of them is compared
        model_output = _model_output(graph.nodes[name], output)
        wanted = expected.streams.get((name, model_output), [])
        assert stream == wanted, f"{graph.nodes[name]} {output}"
    assert found.cycles == expected.cycles
    return found


def _model_output(node, output):
    if "[" in output:
        base, _, number = output[:-1].partition("[")
        return f"{base}{int(number) + 1}"
    return output
