"""Check a graph before a run, and report the faults together in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.graphs.faults import Faults
from fiberscope.models.graphs.nests import derive_nests
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.splits import name_parts


def check(graph: Graph, tensors: Collection[str] | None = None) -> None:
    """Refuse a graph that cannot run.

    The depths of streams are checked only if no other fault of the graph is found.

    Args:
        tensors: names of the available operands; None omits their check.

    Raises:
        InputError: the first faults (at most 20) in one line: no writer, invalid attributes, streams of wrong
            kind or depth, in a cycle or between phases, open inputs, inputs with two streams, split
            variables without loops, missing or unknown operands.
    """
    faults = Faults()
    if not graph.writers:
        faults.add(None, "the graph has no fiberwrite, and so no result")
    for node in graph.nodes.values():
        check_numbers(node, faults)
        node.primitive.check(graph, node, faults)
        _check_inputs(graph, node, faults)
    for stream in graph.streams:
        _check_stream(graph, stream, faults)
    _check_splits(graph, faults)
    # a node type computes its nests from all required inputs, so the streams must be right first
    if not faults.lines:
        derive_nests(graph, faults)
    if tensors is not None:
        _check_tensors(graph, tensors, faults)
    faults.raise_any()


def list_operands(graph: Graph) -> list[str]:
    """Return the tensors that a graph reads before it writes them, in the order of formats, then by name.

    A phase that reads and writes the same tensor reads the contents from before the phase. The tensor is
    therefore an operand, unless an earlier phase writes it.
    """
    readers = [node for node in graph.nodes.values() if node.primitive.reads]
    # the attribute ``scalar`` of an ALU names a tensor without dimensions, the constant operand
    scalars = [node for node in graph.nodes.values() if node["scalar"]]
    first_read = find_first_phases(readers, "tensor") | find_first_phases(scalars, "scalar")
    first_written = find_first_phases(graph.writers, "tensor")
    ordered = [name for name in graph.formats if name in first_read]
    return [
        name
        for name in dict.fromkeys([*ordered, *sorted(first_read)])
        if name not in first_written or first_read[name] <= first_written[name]
    ]


def find_first_phases(nodes: Iterable[Node], attribute: str) -> dict[str, int]:
    """Return the first phase in which these nodes name each tensor."""
    phases: dict[str, int] = {}
    for node in nodes:
        phases[node[attribute]] = min(node.phase, phases.get(node[attribute], node.phase))
    return phases


def check_numbers(node: Node, faults: Faults) -> None:
    """Report numeric attributes that are no numbers or too small; the node's methods need numbers."""
    for name, minimum in node.primitive.numbers.items():
        text = node.attributes.get(name, "")
        number = read_whole_number(text)
        if text and (number is None or number < minimum):
            faults.add(node.location, f"{node}: {name}={text} should be a number from {minimum} on")


def _check_inputs(graph: Graph, node: Node, faults: Faults) -> None:
    """Report inputs with several streams, open required inputs, and roots with a stream into ``ref``."""
    inputs = [stream.input for stream in graph.list_streams_into(node)]
    for port, count in Counter(inputs).items():
        if count > 1:
            faults.add(node.location, f"{node}: {count} streams go into {port}; it takes one")
    for port in node.primitive.required_inputs(node, graph.arity(node)):
        count = inputs.count(port)
        # without a stream, the machine feeds ``ref`` of a root or an array with the reference 0
        if count == 0 and not (port == "ref" and node.starts_at_root):
            root = "; root=true would feed it 0 and the end" if port == "ref" else ""
            faults.add(node.location, f"{node}: nothing is connected to {port}{root}")
        if count and port == "ref" and node.root:
            faults.add(node.location, f"{node} is a root and has a stream into ref; it takes one of them")


def _check_stream(graph: Graph, stream: Stream, faults: Faults) -> None:
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    # the stream has the kind that the file states; the ports of the source determine what it carries
    kind, port = graph.find_kind_at(source, stream.output), target.input(stream.input)
    assert port is not None
    edge = f"edge {stream.source} -> {stream.target}"
    if kind != stream.kind:
        faults.add(stream.location, f"{edge} is of type {stream.kind}, and {source} makes {kind} there")
    elif kind not in port.kinds:
        takes = " or ".join(port.kinds)
        faults.add(stream.location, f"{edge}: {target} takes {takes} at {stream.input}, not {kind}")
    elif not target.primitive.accepts(target, stream.input):
        faults.add(stream.location, f"{edge}: {target} takes no {stream.kind}; values go to mode=vals")
    if source.phase != target.phase:
        faults.add(
            stream.location,
            f"{edge} joins phase {source.phase} to phase {target.phase}; only tensors connect phases",
        )


def _check_splits(graph: Graph, faults: Faults) -> None:
    loops = {node["index"] for node in graph.nodes.values()}
    for variable, chunk in graph.splits.items():
        for loop in name_parts(variable):
            if loop not in loops:
                faults.add(None, f"split={variable}:{chunk}: there is no loop {loop}")


def _check_tensors(graph: Graph, tensors: Collection[str], faults: Faults) -> None:
    operands = list_operands(graph)
    for name in operands:
        if name not in tensors:
            faults.add(None, f"tensor {name} is not given; give {name}=FILE")
    for name in tensors:
        if name not in operands:
            faults.add(None, f"the graph reads no tensor {name}; it reads {', '.join(operands) or 'none'}")
