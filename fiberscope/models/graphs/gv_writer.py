"""Write graph files of the Sparse Abstract Machine (``.gv``), which Graphviz can draw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fiberscope.models.graphs.edges import Edge
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.ports import PortFinder
from fiberscope.results.report.files import write_text

STYLES = {"ref": "bold", "crd": "dashed", "repsig": "dotted"}


def write_gv(graph: Graph, path: str | Path) -> None:
    """Write a graph file atomically.

    Args:
        path: path of the file, in an existing folder; ``-`` for standard output.

    Raises:
        InputError: the file cannot be written.
    """
    write_text(Path(path), gv_text(graph))


def gv_text(graph: Graph) -> str:
    """Return the text of a graph file.

    The reader restores an equal graph from the text, unless the graph has faults that the reader corrects.
    """
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
    lines += [f"    {_format_node(node)}" for node in graph.nodes.values()]
    lines += [f"    {line}" for line in _iterate_edge_lines(graph)]
    return "\n".join([*lines, "}", ""])


def _format_node(node: Node) -> str:
    # public files list the attributes in the comment too
    file_attributes = {"type": node.type, **node.attributes}
    attributes = {
        "comment": ",".join(f"{key}={value}" for key, value in file_attributes.items()),
        "label": _label(node),
        "color": node.primitive.colour,
        "shape": "box",
        "style": "filled",
    }
    return f"{_escape_name(node.name)} [{_format_attributes({**attributes, **file_attributes})}]"


def _label(node: Node) -> str:
    # a writer of values has no level, which the label of its type names
    if node.writes_values:
        return f"FiberWrite Vals: {node['tensor']}"
    label = node.primitive.label.replace("{Type}", node.type.capitalize())
    return re.sub(r"\{(\w+)\}", lambda match: node[match[1]], label).strip()


def _format_attributes(attributes: dict[str, str]) -> str:
    return " ".join(f"{key}={_quote(value)}" for key, value in attributes.items())


def _quote(text: str) -> str:
    escaped = text.replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _escape_name(name: str) -> str:
    return name if name.isalnum() else _quote(name)


def _iterate_edge_lines(graph: Graph) -> Iterator[str]:
    """Yield the lines of the streams; a line names its ports if type and comment do not determine them."""
    for stream, edge in zip(graph.streams, _list_readable_edges(graph), strict=True):
        comment = {"comment": edge.target_comment} if edge.target_comment else {}
        label = f"{stream.kind}_{edge.target_comment}" if edge.target_comment else stream.kind
        style = {"style": STYLES[stream.kind]} if stream.kind in STYLES else {}
        ports = edge.attributes
        attributes = {"label": label, **style, "type": stream.kind, **comment, **ports, **stream.attributes}
        yield f"{_escape_name(edge.source)} -> {_escape_name(edge.target)} [{_format_attributes(attributes)}]"


def _list_readable_edges(graph: Graph) -> list[Edge]:
    """Return the edges of the streams; ``attributes`` has the ports of those that the reader cannot infer.

    A joiner has all of its edges with ports, or none. The reader infers operands from edges without ports, so
    ports at one joiner may take from the next joiner what its edges are inferred from. The reader's own rules
    are therefore applied until they find every port.
    """
    edges = [_build_edge(graph, stream) for stream in graph.streams]
    # blocks whose edges all name their ports
    explicit = {name for name, node in graph.nodes.items() if not node.primitive.infers_ports}
    wrong: set[int] = set()
    # each round names the ports of at least one more edge, so the loop ends
    while True:
        for number, stream in enumerate(graph.streams):
            if number in wrong or not explicit.isdisjoint((stream.source, stream.target)):
                edges[number] = replace(edges[number], attributes={"from": stream.output, "to": stream.input})
        finder = PortFinder(graph, edges)
        wrong = {
            number
            for number, (edge, stream) in enumerate(zip(edges, graph.streams, strict=True))
            if not edge.attributes and not _finds_ports(finder, edge, stream)
        }
        if not wrong:
            return edges
        # a joiner with one such edge gets ports at all of its edges
        targets = {edges[number].target for number in wrong}
        explicit |= {name for name in targets if graph.nodes[name].primitive.has_operand_pairs}


def _finds_ports(finder: PortFinder, edge: Edge, stream: Stream) -> bool:
    try:
        return finder.ports(edge) == (stream.output, stream.input)
    except ValueError:
        # the ports are ambiguous without names
        return False


def _build_edge(graph: Graph, stream: Stream) -> Edge:
    comment = _format_comment(graph, stream)
    return Edge(stream.source, stream.target, stream.kind, comment, comment, {}, None)


def _format_comment(graph: Graph, stream: Stream) -> str:
    """Return the comment of a stream in the notation of public files."""
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    if stream.input == "skip":
        return f"skip-{target['tensor']}"
    if target.primitive.has_operand_pairs:
        return f"in-{graph.find_tensor_at(stream)}"
    comment = source.primitive.outgoing_comment(graph, source, stream)
    return comment or target.primitive.incoming_comment(graph, target, stream)
