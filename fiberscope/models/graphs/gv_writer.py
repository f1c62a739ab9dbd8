"""Write graph files of the Sparse Abstract Machine (``.gv``), which Graphviz can draw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fiberscope.models.graphs.edges import Edge
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.ports import PortFinder
from fiberscope.results.report.files import write_text

STYLES = {"ref": "bold", "crd": "dashed", "repsig": "dotted"}


def write_gv(graph: Graph, path: str | Path) -> None:
    """Write a graph file atomically.

    Args:
        graph: the graph.
        path: path of the file, in an existing folder; ``-`` for standard output.

    Raises:
        InputError: the file cannot be written.
    """
    write_text(Path(path), gv_text(graph))


def gv_text(graph: Graph) -> str:
    """Return the text of a graph file, from which the reader restores an equal graph."""
    lines = ["digraph SAM {"]
    if graph.formats:
        formats = ",".join(f"{tensor}={tensor_format}" for tensor, tensor_format in graph.formats.items())
        lines.append(f'    comment="{formats}"')
    if graph.counted:
        lines.append(f'    counted="{",".join(map(str, graph.counted))}"')
    if graph.splits:
        lines.append(
            f'    split="{",".join(f"{variable}:{chunk}" for variable, chunk in graph.splits.items())}"'
        )
    lines += [f"    {_node(node)}" for node in graph.nodes.values()]
    lines += [f"    {line}" for line in _edges(graph)]
    return "\n".join([*lines, "}", ""])


def _node(node: Node) -> str:
    file_attributes = {"type": node.type, **node.attributes}
    attributes = {
        "comment": ",".join(f"{key}={value}" for key, value in file_attributes.items()),
        "label": _label(node),
        "color": node.primitive.colour,
        "shape": "box",
        "style": "filled",
    }
    return f"{_word(node.name)} [{_attributes({**attributes, **file_attributes})}]"


def _label(node: Node) -> str:
    if node.writes_values:
        return f"FiberWrite Vals: {node['tensor']}"
    label = node.primitive.label.replace("{Type}", node.type.capitalize())
    return re.sub(r"\{(\w+)\}", lambda match: node[match[1]], label).strip()


def _attributes(attributes: dict[str, str]) -> str:
    return " ".join(f"{key}={_quoted(value)}" for key, value in attributes.items())


def _quoted(text: str) -> str:
    escaped = text.replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _word(name: str) -> str:
    return name if name.isalnum() else _quoted(name)


def _edges(graph: Graph) -> Iterator[str]:
    """Yield the lines of the streams; a line names its ports if type and comment do not determine them."""
    edges = [_edge(graph, stream) for stream in graph.streams]
    clear_ports = _unambiguous_edges(graph, edges)
    for stream, edge, is_port_clear in zip(graph.streams, edges, clear_ports, strict=True):
        ports = {} if is_port_clear else {"from": stream.output, "to": stream.input}
        comment = {"comment": edge.target_comment} if edge.target_comment else {}
        label = f"{stream.kind}_{edge.target_comment}" if edge.target_comment else stream.kind
        style = {"style": STYLES[stream.kind]} if stream.kind in STYLES else {}
        attributes = {"label": label, **style, "type": stream.kind, **comment, **ports, **stream.attributes}
        yield f"{_word(edge.source)} -> {_word(edge.target)} [{_attributes(attributes)}]"


def _unambiguous_edges(graph: Graph, edges: list[Edge]) -> list[bool]:
    """Return whether type and comment determine the ports of each edge, for all edges of a joiner or none."""
    finder = PortFinder(graph, edges)
    clear_ports = [
        _is_port_clear(finder, edge, stream) for edge, stream in zip(edges, graph.streams, strict=True)
    ]
    ends = [(stream.source, stream.target) for stream in graph.streams]
    joiners = {name for name, node in graph.nodes.items() if node.primitive.has_operand_pairs}
    ambiguous = joiners & {
        target for is_clear, (_source, target) in zip(clear_ports, ends, strict=True) if not is_clear
    }
    ambiguous |= {name for name, node in graph.nodes.items() if not node.primitive.infers_ports}
    return [is_clear and ambiguous.isdisjoint(pair) for is_clear, pair in zip(clear_ports, ends, strict=True)]


def _is_port_clear(finder: PortFinder, edge: Edge, stream: Stream) -> bool:
    try:
        return finder.ports(edge) == (stream.output, stream.input)
    except (ValueError, StopIteration):
        return False


def _edge(graph: Graph, stream: Stream) -> Edge:
    comment = _comment(graph, stream)
    return Edge(stream.source, stream.target, stream.kind, comment, comment, {}, None)


def _comment(graph: Graph, stream: Stream) -> str:
    """Return the comment of a stream in the notation of public files."""
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    if stream.input == "skip":
        return f"skip-{target['tensor']}"
    if target.primitive.has_operand_pairs:
        return f"in-{graph.tensor_at(stream)}"
    comment = source.primitive.outgoing_comment(graph, source, stream)
    return comment or target.primitive.incoming_comment(graph, target, stream)
