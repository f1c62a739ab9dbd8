"""Checks a graph before a run, and tells all that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from fiberscope.models.graphs.faults import Faults
from fiberscope.models.graphs.nests import nests_of
from fiberscope.models.graphs.netlist import LETTERS, Graph, Node, Stream
from fiberscope.models.graphs.splits import parts

__all__ = ["check", "operands_of"]

FORMATS = tuple(dict.fromkeys(LETTERS.values()))
NUMBERS = {
    "factor": 1,
    "width": 1,
    "size": 1,
    "phase": 1,
    "ways": 2,
}  # attributes that are numbers, and the least


def check(graph: Graph, tensors: Collection[str] | None = None) -> None:
    """Refuse a graph that cannot run.

    Args:
        graph: any.
        tensors: the names of those given, if they are to be checked too.

    Raises:
        InputError: streams of kinds or depths that do not fit, ports that are open or fed twice, tensors that
            no one gives; all of them in one line.
    """
    faults = Faults()
    if not graph.writers:
        faults.add(None, "the graph has no fiberwrite, and so no result")
    for node in graph.nodes.values():
        _check_attributes(graph, node, faults)
        _check_inputs(graph, node, faults)
    for stream in graph.streams:
        _check_stream(graph, stream, faults)
    _check_splits(graph, faults)
    if not faults.lines:
        nests_of(graph, faults)
    if tensors is not None:
        _check_tensors(graph, tensors, faults)
    faults.raise_any()


def operands_of(graph: Graph) -> list[str]:
    """The tensors that a graph reads before it writes them, in the order of its formats, then of its nodes.

    A phase that reads the tensor that it writes reads the one of before.
    """
    readers = [n for n in graph.nodes.values() if n.type in ("fiberlookup", "locate", "arrayvals")]
    scalars = [n for n in graph.nodes.values() if n["scalar"]]
    read = _first_phases(readers, "tensor") | _first_phases(scalars, "scalar")
    written = _first_phases(graph.writers, "tensor")
    named = [name for name in graph.formats if name in read]
    return [
        name
        for name in dict.fromkeys([*named, *sorted(read)])
        if name not in written or read[name] <= written[name]
    ]


def _first_phases(nodes: Iterable[Node], attribute: str) -> dict[str, int]:
    """Of each tensor the first phase in which these nodes name it."""
    found: dict[str, int] = {}
    for node in nodes:
        found[node[attribute]] = min(node.phase, found.get(node[attribute], node.phase))
    return found


def _check_attributes(graph: Graph, node: Node, faults: Faults) -> None:
    for name, least in NUMBERS.items():
        text = node.attributes.get(name, "")
        if name == "size" and node.type == "fiberwrite":  # an expression of the compiler's
            continue
        if text and not (text.isdecimal() and int(text) >= least):
            faults.add(node.place, f"{node}: {name}={text} should be a number from {least} on")
    if node.type in ("fiberlookup", "fiberwrite") and not node.writes_values:
        _check_level(graph, node, faults)
    if node.type == "spaccumulator" and node["order"] not in ("1", "2"):
        faults.add(node.place, f"{node}: order={node['order']}; there are accumulators of order 1 and 2")


def _check_level(graph: Graph, node: Node, faults: Faults) -> None:
    if node["format"] not in FORMATS:
        faults.add(node.place, f"{node}: format={node['format']} is none of {', '.join(FORMATS)}")
    stored = graph.formats.get(node["tensor"])
    if not node["mode"].isdecimal():
        faults.add(node.place, f"{node}: mode={node['mode']} should be a dimension, from 0 on")
    elif stored is not None and int(node["mode"]) not in stored.order:
        dimensions = ", ".join(map(str, sorted(stored.order))) or "none"
        faults.add(
            node.place,
            f"{node}: mode={node['mode']} is no dimension of {node['tensor']}={stored} ({dimensions})",
        )


def _check_inputs(graph: Graph, node: Node, faults: Faults) -> None:
    fed = [stream.input for stream in graph.streams_into(node)]
    for port in _needed(graph, node):
        count = fed.count(port)
        if count > 1:
            faults.add(node.place, f"{node}: {count} streams go into {port}; it takes one")
        if count == 0 and not _fed_by_root(node, port):
            root = "; root=true would feed it 0 and the end" if port == "ref" else ""
            faults.add(node.place, f"{node}: nothing is connected to {port}{root}")
        if count and port == "ref" and node.root:
            faults.add(node.place, f"{node} is a root and has a stream into ref; it takes one of them")


def _needed(graph: Graph, node: Node) -> Iterator[str]:
    """The inputs that must be fed, each number of an array by itself."""
    if node.type == "fiberwrite":
        yield "val" if node.writes_values else "bv" if node["format"] == "bitvector" else "crd"
        return
    for port in node.primitive.inputs:
        if not port.name.endswith("[]"):
            yield from () if port.optional else (port.name,)
            continue
        least = 1 if node.is_unary or node.type == "accumulate" else 2
        for number in range(max(least, graph.arity(node))):
            yield f"{port.name[:-2]}[{number}]"


def _fed_by_root(node: Node, port: str) -> bool:
    return port == "ref" and (node.root or node.type == "arrayvals")


def _check_stream(graph: Graph, stream: Stream, faults: Faults) -> None:
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    made, port = graph.kind_at(source, stream.output), target.input(stream.input)
    assert port is not None
    what = f"edge {stream.source} -> {stream.target}"
    if made != stream.kind:
        faults.add(stream.place, f"{what} is of type {stream.kind}, and {source} makes {made} there")
    elif made not in port.kinds:
        takes = " or ".join(port.kinds)
        faults.add(stream.place, f"{what}: {target} takes {takes} at {stream.input}, not {made}")
    elif target.type == "fiberwrite" and stream.input not in _needed(graph, target):
        faults.add(stream.place, f"{what}: {target} takes no {stream.kind}; values go to mode=vals")
    if source.phase != target.phase:
        faults.add(
            stream.place, f"{what} joins phase {source.phase} to phase {target.phase}; a tensor does that"
        )


def _check_splits(graph: Graph, faults: Faults) -> None:
    loops = {node["index"] for node in graph.nodes.values()}
    for variable, chunk in graph.splits.items():
        for part in parts(variable):
            if part not in loops:
                faults.add(None, f"split={variable}:{chunk}: there is no loop {part}")


def _check_tensors(graph: Graph, tensors: Collection[str], faults: Faults) -> None:
    operands = operands_of(graph)
    for name in operands:
        if name not in tensors:
            faults.add(None, f"tensor {name} is not given; give {name}=FILE")
    for name in tensors:
        if name not in operands:
            faults.add(None, f"the graph reads no tensor {name}; it reads {', '.join(operands) or 'none'}")
