"""Read graph files of the Sparse Abstract Machine (``.gv``), and correct known faults of public files.

A file does not name the ports of an edge: the edge's type and comment and the blocks at both ends determine
the ports (``ports.py``). The reader merges duplicates, restores omissions, and refuses other faults with line
and column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.check import check_numbers
from fiberscope.models.graphs.dot import DEFAULTS, Digraph, EdgeStatement, NodeStatement, parse
from fiberscope.models.graphs.edges import Edge
from fiberscope.models.graphs.faults import Faults
from fiberscope.models.graphs.formats import Format, format_of
from fiberscope.models.graphs.nests import derive_nests
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.ports import PortFinder
from fiberscope.models.graphs.primitives import PRIMITIVES
from fiberscope.models.graphs.primitives.primitive import BROADCAST, CRD, KINDS, REF, REPSIG
from fiberscope.workloads.errors import suggest

DERIVED = {"comment", "label", "color", "shape", "style", "type"}  # attributes that ``gv_writer`` derives


def read_gv(path: str | Path) -> Graph:
    """Return the graph of a file.

    Raises:
        InputError: the file cannot be read, or has faults. A fault of a node or an edge has line and column.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot read the graph: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file: a graph is Graphviz DOT in UTF-8") from error
    return graph_from_text(text, str(path))


def graph_from_text(text: str, file: str = "graph") -> Graph:
    """Return the graph that a text in DOT describes; error messages name ``file``.

    The graph lists its corrections in ``notes``, except merged duplicates. Call ``check`` before a run.

    Raises:
        InputError: the text has faults. A fault of a node or an edge has line and column.
    """
    digraph, faults = parse(text, file), Faults()
    settings = _parse_counted_phases(digraph, file, faults), _parse_splits(digraph, file, faults)
    graph = Graph(_parse_formats(digraph, file, faults), *settings)
    broadcasts = _add_nodes(graph, digraph, faults)
    # nodes with a fault count as declared too, so that their edges add no further faults
    declared = {statement.name for statement in digraph.nodes}
    edges = _merge_broadcasts(digraph, broadcasts, faults)
    complete = [edge for edge in edges if _has_declared_ends(edge, declared, faults)]
    faults.raise_any()
    # the blocks at both ends determine the ports, so all nodes must be right by now
    _add_streams(graph, complete, faults)
    faults.raise_any()
    _feed_signals_coordinates(graph)
    _replace_by_vector_reducers(graph)
    # after the vector reducers, which keep a reducer in front of them, unlike accumulators of points
    _remove_reducers(graph)
    _add_constant(graph)
    return graph


def _feed_signals_coordinates(graph: Graph) -> None:
    """Feed repeat signal generators with a scanner's coordinates instead of its references.

    The signal is the same for both.
    """
    for stream in graph.streams:
        source, target = graph.nodes[stream.source], graph.nodes[stream.target]
        if target.output(REPSIG) and stream.kind == REF and source.primitive.scans:
            stream.output = stream.kind = CRD
            graph.notes.append(f"{target} takes the coordinates of {source} for its references")


def _replace_by_vector_reducers(graph: Graph) -> None:
    """Replace accumulators of one coordinate without outer coordinates by vector reducers."""
    for node in graph.nodes.values():
        streams = [*graph.list_streams_into(node), *graph.list_streams_from(node)]
        outer = any("crd_outer" in (stream.input, stream.output) for stream in streams)
        if node.primitive.type_without_outer and node["order"] == "1" and not outer:
            graph.notes.append(f"{node} has no outer coordinates: it adds up the fibers of each list")
            node.type, node.attributes = node.primitive.type_without_outer, {"accum_index": node["in0"]}
            for stream in streams:
                stream.input = stream.input.replace("crd_inner", "crd")
                stream.output = stream.output.replace("crd_inner", "crd")


def _add_constant(graph: Graph) -> None:
    """Give a maximum with a single stream its constant in the public simulator."""
    for node in graph.nodes.values():
        constant = node.primitive.default_constant
        if constant and graph.arity(node) == 1 and not node.is_unary:
            node.attributes["const0"] = constant
            graph.notes.append(f"{node} takes one stream: the larger of it and {constant}")


def _remove_reducers(graph: Graph) -> None:
    """Remove redundant reducers before an accumulator, which the public compiler leaves there.

    An accumulator needs a value for each coordinate. If the coordinates are as deep as the input of the
    reducer, the output of the reducer has too few values.
    """
    for node in [node for node in graph.nodes.values() if node.primitive.reduces]:
        inputs, outputs = list(graph.list_streams_into(node)), list(graph.list_streams_from(node))
        sums = [graph.nodes[stream.target].primitive.subsumes_reducer for stream in outputs]
        if outputs and all(sums) and len(inputs) == 1 and _is_redundant(graph, inputs[0], outputs[0]):
            for stream in outputs:
                stream.source, stream.output = inputs[0].source, inputs[0].output
            graph.streams.remove(inputs[0])
            del graph.nodes[node.name]
            graph.notes.append(f"{node} removed: the accumulator after it sums, and needs every value")


def _is_redundant(graph: Graph, reducer_input: Stream, reducer_output: Stream) -> bool:
    """Return whether the coordinates of an accumulator are as deep as the input of a reducer before it.

    An accumulator without inner coordinates makes the reducer redundant, too.
    """
    coordinates = graph.stream_into(graph.nodes[reducer_output.target], "crd_inner")
    if coordinates is None:
        return True
    # computed for each reducer, as the graph changes between them
    nests = derive_nests(graph)
    depths = [len(nests.get((stream.source, stream.output), ())) for stream in (coordinates, reducer_input)]
    return depths[0] == depths[1]


def _parse_formats(digraph: Digraph, file: str, faults: Faults) -> dict[str, Format]:
    """Return the formats in the graph's comment, ``X=ss01,B=ss01``; report entries that are no formats."""
    formats = {}
    for entry in filter(None, digraph.settings.get("comment", "").split(",")):
        name, equals, text = entry.strip().partition("=")
        try:
            # an entry without ``=`` is no format, also not the empty format of a scalar
            formats[name] = format_of(text if equals else "?")
        except ValueError as error:
            faults.add(None, f"{file}: comment: {name}: {error}")
    return formats


def _parse_counted_phases(digraph: Digraph, file: str, faults: Faults) -> tuple[int, ...]:
    text = digraph.settings.get("counted", "")
    if text and not re.fullmatch(r"[0-9]{1,18}(,[0-9]{1,18})*", text):
        faults.add(None, f"{file}: counted={text!r} should be phases whose cycles count, as in counted=2")
        return ()
    return tuple(map(int, filter(None, text.split(","))))


def _parse_splits(digraph: Digraph, file: str, faults: Faults) -> dict[str, int]:
    text = digraph.settings.get("split", "")
    if text and not re.fullmatch(r"\w+:[1-9]\d{0,9}(,\w+:[1-9]\d{0,9})*", text):
        faults.add(None, f"{file}: split={text!r} should be variables and their chunks, as in split=i:4,k:8")
        return {}
    pairs = (entry.partition(":") for entry in filter(None, text.split(",")))
    return {variable: int(chunk) for variable, _colon, chunk in pairs}


def _add_nodes(graph: Graph, digraph: Digraph, faults: Faults) -> set[str]:
    """Add the nodes, and return the names of broadcasts, which become no blocks.

    Two statements of the same name become one node with the attributes of both; the later ones count.
    """
    merged: dict[str, NodeStatement] = {}
    for statement in digraph.nodes:
        # a statement as ``node [...]`` sets defaults for drawings only
        if statement.name in DEFAULTS:
            continue
        first = merged.setdefault(statement.name, NodeStatement(statement.name, {}, statement.location))
        first.attributes.update(statement.attributes)
    broadcasts = {name for name, node in merged.items() if _type_of(node) == BROADCAST}
    for name, statement in merged.items():
        if name not in broadcasts:
            _add_node(graph, statement, faults)
    return broadcasts


def _add_node(graph: Graph, statement: NodeStatement, faults: Faults) -> None:
    """Add the node of a statement, with attributes from its comment; report missing attributes."""
    type = _type_of(statement)
    if type not in PRIMITIVES:
        advice = suggest(type, PRIMITIVES) if type else 'give it one, as in type="fiberlookup"'
        faults.add(statement.location, f"node {statement.name} has no type {type or 'at all'}; {advice}")
        return
    # public files repeat the attributes in the comment; the attributes themselves take precedence
    pairs = {**_parse_comment(statement.attributes.get("comment", "")), **statement.attributes}
    attributes = {key: value for key, value in pairs.items() if key not in DERIVED}
    node = Node(statement.name, type, attributes, statement.location)
    graph.nodes[node.name] = node
    for name, default in node.primitive.attributes.items():
        if default is None and not attributes.get(name):
            faults.add(statement.location, f"{node}: {name} is missing; a {type} needs it")
    check_numbers(node, faults)


def _type_of(statement: NodeStatement) -> str:
    """Return the type of a node from its attributes or its comment; an invisible point is a broadcast."""
    attributes = statement.attributes
    kind = attributes.get("type") or _parse_comment(attributes.get("comment", "")).get("type", "")
    invisible = attributes.get("shape") == "point" or attributes.get("style") == "invis"
    return kind or (BROADCAST if invisible or attributes.get("comment") == BROADCAST else "")


def _parse_comment(comment: str) -> dict[str, str]:
    """Return the attributes in a node's comment, ``k=v,k=v``."""
    return dict(re.findall(r"(\w+)=([^,\"]*)", comment))


def _merge_broadcasts(digraph: Digraph, broadcasts: set[str], faults: Faults) -> list[Edge]:
    """Return the edges; an edge from a broadcast starts at the source of the broadcast."""
    inputs: dict[str, EdgeStatement] = {}
    for statement in digraph.edges:
        if statement.target in broadcasts and inputs.setdefault(statement.target, statement) is not statement:
            faults.add(statement.location, f"broadcast {statement.target} has two streams into it")
    edges = []
    for statement in digraph.edges:
        if statement.target in broadcasts:
            continue
        first = _find_first_edge(statement, inputs, broadcasts, faults)
        if first is not None:
            edges.append(_build_edge(first, statement))
    return edges


def _find_first_edge(
    statement: EdgeStatement, inputs: Mapping[str, EdgeStatement], broadcasts: set[str], faults: Faults
) -> EdgeStatement | None:
    """Return the edge from the block that feeds a chain of broadcasts; None, with a fault, without a block.

    An edge that starts at a block is returned as it is.
    """
    # a cycle of broadcasts has no block at its start
    visited = {statement.source}
    while statement.source in broadcasts:
        previous = inputs.get(statement.source)
        if previous is None or previous.source in visited:
            faults.add(statement.location, f"broadcast {statement.source} is fed by no block")
            return None
        visited.add(previous.source)
        statement = previous
    return statement


def _build_edge(first: EdgeStatement, last: EdgeStatement) -> Edge:
    """Return the edge of a path through broadcasts, from its first and its last statement."""
    attributes = {**first.attributes, **last.attributes}
    kind = first.attributes.get("type") or last.attributes.get("type") or _find_kind_in_label(attributes)
    return Edge(
        first.source,
        last.target,
        kind,
        first.attributes.get("comment", ""),
        last.attributes.get("comment", ""),
        {key: value for key, value in attributes.items() if key not in DERIVED},
        last.location,
    )


def _find_kind_in_label(attributes: Mapping[str, str]) -> str:
    """Return the kind of a stream without a type, from its label (``crd_in-B``)."""
    return re.split(r"[_\-\s]", attributes.get("label", ""))[0]


def _has_declared_ends(edge: Edge, declared: set[str], faults: Faults) -> bool:
    """Return whether an edge joins declared nodes by a known kind of stream; report it otherwise."""
    edge_text = f"edge {edge.source} -> {edge.target}"
    missing = [name for name in (edge.source, edge.target) if name not in declared]
    for name in missing:
        faults.add(edge.location, f"{edge_text}: there is no node {name}")
    if edge.kind not in KINDS:
        advice = suggest(edge.kind, KINDS) if edge.kind else f"one of {', '.join(KINDS)}"
        faults.add(edge.location, f"{edge_text} has no type {edge.kind or 'at all'}; {advice}")
    return not missing and edge.kind in KINDS


def _add_streams(graph: Graph, edges: list[Edge], faults: Faults) -> None:
    """Add the streams of all edges with their ports; duplicate edges become one stream."""
    finder = PortFinder(graph, edges)
    graph.notes += [f"{node} takes its operands in the order of the comment" for node in finder.reordered]
    visited: set[tuple[str, str, str, str]] = set()
    for edge in edges:
        try:
            ports = finder.ports(edge)
        except ValueError as error:
            faults.add(edge.location, f"edge {edge.source} -> {edge.target}: {error}")
            continue
        if ports is None:
            graph.notes.append(
                f"edge {edge.source} -> {edge.target} ignored: it has no meaning for its block"
            )
            continue
        ends = (edge.source, ports[0], edge.target, ports[1])
        if ends not in visited:
            visited.add(ends)
            attributes = {key: value for key, value in edge.attributes.items() if key not in ("from", "to")}
            graph.streams.append(Stream(*ends, edge.kind, attributes, edge.location))
