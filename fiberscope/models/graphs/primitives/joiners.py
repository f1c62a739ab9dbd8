"""Joiners of operands (intersecter, unioner), and repeaters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.models.graphs.nests import check_nesting
from fiberscope.models.graphs.primitives.primitive import CRD, REF, REPSIG, Port, Primitive

if TYPE_CHECKING:
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStreams
    from fiberscope.models.graphs.edges import Edge
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Graph, Node, Stream
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk, EdgePorts


class Joiner(Primitive):
    """Joiner of several operands, each with a coordinate and a reference stream."""

    belongs_to_loop = has_operand_pairs = has_equal_depths = True

    def output_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """Return the output of an edge; a reference output has the number of its operand."""
        if edge.kind == REF:
            return f"ref[{finder.find_operand_of_edge(node, edge)}]"
        return super().output_of_edge(finder, node, edge)

    def outgoing_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        """Return the tensor of a reference stream."""
        return f"out-{graph.find_tensor_at(stream)}" if stream.kind == REF else ""


class _Intersection(Joiner):
    """Intersecter: passes the coordinates that all operands have; a skip output can skip a scanner ahead."""

    block_class = "join.Intersect"
    intersects = True

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import (
            intersect_streams,
            references_at,
            unite_streams,
        )

        # skip outputs get no estimate: the walk ignores skip streams
        coordinates = intersect_streams(walk.list_joined_streams(node), node["index"])
        # the block pops every coordinate that any operand has, so its work is that of a union
        walk.work[node.name] = unite_streams(walk.list_joined_streams(node), node["index"]).tokens
        return {
            CRD: coordinates,
            **{name: references_at(inputs[name], coordinates) for name in _list_references(inputs)},
        }

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.graph.arity(node),)


class _Union(Joiner):
    """Unioner: passes the coordinates that any operand has, with the reference N for the other operands."""

    block_class = "join.Union"
    unites = True

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import find_union_references, unite_streams

        coordinates = unite_streams(walk.list_joined_streams(node), node["index"])
        return {
            CRD: coordinates,
            **{name: find_union_references(inputs[name], coordinates) for name in _list_references(inputs)},
        }

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.graph.arity(node),)


def _list_references(inputs: ExpectedStreams) -> list[str]:
    return [name for name in inputs if name.startswith(REF)]


class _Repeater(Primitive):
    """Repeater: sends each reference once for each repeat signal, for a loop that the operand lacks."""

    block_class = "repeater.Repeater"
    belongs_to_loop = repeats = True

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # without a reference stream, a root sends a single reference, whose nest is empty
        signal = inputs.get(REPSIG, ())
        check_nesting(node, inputs.get(REF, ()), signal, ("references", "repeat signals"), faults)
        return {"": signal}

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import ROOT, references_at

        return {REF: references_at(inputs.get(REF, ROOT), inputs[REPSIG])}


class _Signals(Primitive):
    """Generator of the signals that control a repeater, one for each coordinate of a loop."""

    block_class = "repeater.RepeatSignalGenerator"
    belongs_to_loop = True

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        # one signal for each coordinate, and the same stops
        return {REPSIG: inputs[CRD]}


_IN = (Port("crd[]", (CRD,)), Port("ref[]", (REF,)))
_OUT = (Port("crd", (CRD,)), Port("ref[]", (REF,)))

TYPES = (
    _Repeater(
        "repeat",
        (Port("ref", (REF, CRD)), Port("repsig", (REPSIG,))),
        (Port("ref", (REF,)),),
        {"index": None, "tensor": None, "root": "false"},
        "Repeat {index}: {tensor}",
        "cyan2",
    ),
    _Signals(
        "repsiggen",
        (Port("crd", (CRD, REF)),),
        (Port("repsig", (REPSIG,)),),
        {"index": ""},
        "RepeatSignalGenerator {index}",
        "cyan3",
    ),
    _Intersection(
        "intersect", _IN, (*_OUT, Port("skip[]", (CRD,))), {"index": None}, "intersect {index}", "purple"
    ),
    _Union("union", _IN, _OUT, {"index": None}, "union {index}", "purple"),
)
