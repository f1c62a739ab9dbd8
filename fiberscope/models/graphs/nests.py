"""Loop nests of streams: the index variables of the loops around each stream, outermost first.

The reference to the fiber of rows has an empty nest. The coordinates of the rows have one variable, and the
coordinates of the columns have two. The streams into a block must have nests of matching depth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiberscope.models.graphs.faults import Faults
from fiberscope.models.graphs.loops import Nest, Nests, describe_loops

if TYPE_CHECKING:
    from fiberscope.models.graphs.netlist import Graph, Node, Stream


def derive_nests(graph: Graph, faults: Faults | None = None) -> Nests:
    """Return the nests of all streams that a root reaches, by node and output.

    Args:
        graph: a graph whose streams match their ports.
        faults: collects a fault for each block whose inputs have wrong depths, and for a cycle; ignored if
            None.
    """
    return _Walk(graph, faults or Faults()).nests


class _Walk:
    """A walk along the streams from the roots, which visits a block after all blocks that feed it."""

    def __init__(self, graph: Graph, faults: Faults) -> None:
        self._graph, self._faults = graph, faults
        self.nests: dict[tuple[str, str], Nest] = {}
        for node in topological_order(graph, faults):
            inputs = self._list_inputs(node)
            if all(nest is not None for nest in inputs.values()):
                self._visit(node, {port: nest for port, nest in inputs.items() if nest is not None})

    def _list_inputs(self, node: Node) -> dict[str, Nest | None]:
        # a skip stream goes backwards, from an intersecter to a scanner, and does not determine the loops
        inputs = {s.input: self._nest(s) for s in self._graph.list_streams_into(node) if s.input != "skip"}
        # without a stream, a block is fed by a root or never reached
        return inputs or ({"ref": ()} if node.starts_at_root else {"ref": None})

    def _nest(self, stream: Stream) -> Nest | None:
        return self.nests.get((stream.source, stream.output))

    def _visit(self, node: Node, inputs: dict[str, Nest]) -> None:
        outputs = node.primitive.nest(node, inputs, self._faults)
        for port in node.primitive.outputs:
            name = port.name.removesuffix("[]")
            numbers = range(self._graph.arity(node)) if port.name.endswith("[]") else [None]
            for number in numbers:
                output = name if number is None else f"{name}[{number}]"
                # the most specific key counts: the port, its array, or all outputs
                self.nests[node.name, output] = outputs.get(output, outputs.get(name, outputs.get("", ())))


def check_nesting(node: Node, outer: Nest, inner: Nest, names: tuple[str, str], faults: Faults) -> None:
    """Add a fault unless the stream ``inner`` is one loop deeper than ``outer``.

    Args:
        node: the block that both streams enter.
        outer, inner: their loop nests.
        names: names of the outer and of the inner stream, for the message.
        faults: collects the fault.
    """
    if len(inner) != len(outer) + 1:
        first, second = names
        faults.add(
            node.location,
            f"{node}: its {second} ({describe_loops(inner)}) must be one loop deeper than its {first} "
            f"({describe_loops(outer)})",
        )


def accumulated_variables(node: Node) -> Nest:
    """Return the index variables of an accumulator's points, outermost first."""
    matches = (re.fullmatch(r"in(\d+)", name) for name in node.attributes)
    # ``in0`` is the innermost variable
    numbers = sorted((int(match[1]) for match in matches if match and node[match[0]]), reverse=True)
    return tuple(node[f"in{number}"] for number in numbers)


def drops_empty_fibers(graph: Graph, nests: Nests, node: Node) -> bool:
    """Return whether a reducer drops the sums of empty fibers.

    A reducer that reads the coordinates of its fibers keeps them. For another reducer, the attribute
    ``empty`` decides. Without the attribute, the reducer drops such a sum if a dropper with the same loops
    drops the coordinate of the empty fiber.

    Args:
        graph: the graph of the reducer.
        nests: loop nests of the graph's streams.
        node: the reducer; its input ``val``, and both inputs of every dropper, must be connected.
    """
    if graph.stream_into(node, "crd") is not None:
        return False
    if node["empty"]:
        return node["empty"] == "drop"

    def nest_into(target: Node, input: str) -> Nest:
        stream = next(stream for stream in graph.list_streams_into(target) if stream.input == input)
        return nests[stream.source, stream.output]

    nest = nest_into(node, "val")
    droppers = (dropper for dropper in graph.nodes.values() if dropper.primitive.drops)
    return any(
        nest_into(dropper, "outer") == nest[:-1] and nest_into(dropper, "inner") == nest
        for dropper in droppers
    )


def topological_order(graph: Graph, faults: Faults | None = None) -> list[Node]:
    """Return the blocks, each after all blocks that feed it; skip streams go backwards and are ignored.

    Blocks in a cycle, and blocks behind one, are left out.

    Args:
        faults: collects a fault for a cycle; ignored if None.
    """
    # Kahn's algorithm: ``waiting`` counts the streams into a block whose source is not yet in ``ordered``
    waiting = {node.name: 0 for node in graph.nodes.values()}
    forward = [stream for stream in graph.streams if stream.input != "skip"]
    consumers: dict[str, list[str]] = {name: [] for name in waiting}
    for stream in forward:
        waiting[stream.target] += 1
        consumers[stream.source].append(stream.target)
    pending = [name for name, count in waiting.items() if not count]
    ordered = []
    while pending:
        name = pending.pop()
        ordered.append(graph.nodes[name])
        for consumer in consumers[name]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                pending.append(consumer)
    cyclic = [graph.nodes[name] for name, count in waiting.items() if count > 0]
    if cyclic and faults is not None:
        faults.add(cyclic[0].location, f"the streams form a cycle through {', '.join(map(str, cyclic[:4]))}")
    return ordered
