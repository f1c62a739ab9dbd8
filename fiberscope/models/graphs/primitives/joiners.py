"""Joiners of operands (intersecter, unioner), and repeaters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fiberscope.models.graphs.nests import check_within
from fiberscope.models.graphs.primitives.primitive import CRD, REF, REPSIG, Port, Primitive

if TYPE_CHECKING:
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.edges import Edge
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Graph, Node, Stream
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk, EdgePorts


class Joiner(Primitive):
    """Joiner of several operands, each with a coordinate and a reference stream."""

    of_loop = paired = alike = True

    def output_of(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """Return the output of an edge; a reference output has the number of its operand."""
        if edge.kind == REF:
            return f"ref[{finder.operand_behind(node, edge)}]"
        return super().output_of(finder, node, edge)

    def said_from(self, graph: Graph, node: Node, stream: Stream) -> str:
        """Return the tensor of a reference stream."""
        return f"out-{graph.tensor_at(stream)}" if stream.kind == REF else ""


class _Intersection(Joiner):
    unit = "join.Intersect"
    intersects = True

    def estimate(
        self, walk: CostWalk, node: Node, fed: Mapping[str, ExpectedStream]
    ) -> dict[str, ExpectedStream]:
        from fiberscope.models.graphs.cost.expected_streams import (
            intersect_streams,
            unite_streams,
            with_missing,
        )

        coordinates = intersect_streams(walk.ways(node), node["index"])
        walk.work[node.name] = unite_streams(walk.ways(node), node["index"]).tokens
        return {CRD: coordinates, **{name: with_missing(fed[name], coordinates) for name in _references(fed)}}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.graph.arity(node),)


class _Union(Joiner):
    unit = "join.Union"
    unites = True

    def estimate(
        self, walk: CostWalk, node: Node, fed: Mapping[str, ExpectedStream]
    ) -> dict[str, ExpectedStream]:
        from fiberscope.models.graphs.cost.expected_streams import references_in_union, unite_streams

        coordinates = unite_streams(walk.ways(node), node["index"])
        return {
            CRD: coordinates,
            **{name: references_in_union(fed[name], coordinates) for name in _references(fed)},
        }

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.graph.arity(node),)


def _references(fed: Mapping[str, ExpectedStream]) -> list[str]:
    return [name for name in fed if name.startswith(REF)]


class _Repeater(Primitive):
    unit = "repeater.Repeater"
    of_loop = repeats = True

    def nest(self, node: Node, fed: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        signal = fed.get(REPSIG, ())
        check_within(node, fed.get(REF, ()), signal, ("references", "repeat signals"), faults)
        return {"": signal}

    def estimate(
        self, walk: CostWalk, node: Node, fed: Mapping[str, ExpectedStream]
    ) -> dict[str, ExpectedStream]:
        from fiberscope.models.graphs.cost.expected_streams import ROOT, with_missing

        return {REF: with_missing(fed.get(REF, ROOT), fed[REPSIG])}


class _Signals(Primitive):
    unit = "repeater.RepeatSignalGenerator"
    of_loop = True

    def estimate(
        self, walk: CostWalk, node: Node, fed: Mapping[str, ExpectedStream]
    ) -> dict[str, ExpectedStream]:
        return {REPSIG: fed[CRD]}


_IN = (Port("crd[]", (CRD,)), Port("ref[]", (REF,)))
_OUT = (Port("crd", (CRD,)), Port("ref[]", (REF,)))

MADE = (
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
        "intersect",
        _IN,
        (*_OUT, Port("skip[]", (CRD,))),
        {"index": None},
        "intersect {index}",
        "purple",
    ),
    _Union("union", _IN, _OUT, {"index": None}, "union {index}", "purple"),
)
