"""Node types that drop coordinates or stops, repeat outer coordinates, or turn points into fibers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from fiberscope.models.graphs.nests import check_nesting
from fiberscope.models.graphs.primitives.primitive import (
    ANY,
    BV,
    CRD,
    NO_WORDS,
    VAL,
    Attributes,
    Port,
    Primitive,
)

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStreams
    from fiberscope.models.graphs.edges import Edge
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Graph, Node, Stream
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk, EdgePorts, ValueTree
    from fiberscope.workloads.expressions.expression import Expression


class _Nested(Primitive):
    """Block with an outer stream and a nested inner stream; files name both by index variable."""

    def input_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        return _find_port(node, edge.kind, edge.target_comment, edge.target_label)

    def output_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        index = edge.source_label or finder.find_target_node(edge)["index"]
        return _find_port(node, edge.kind, edge.source_comment, index)

    def outgoing_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        return "inner-val" if stream.kind == VAL else f"{stream.output}-{node[stream.output]}"

    def incoming_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        return node[stream.input] if stream.kind == CRD else ""

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        outer, inner = inputs.get("outer", ()), inputs.get("inner", ())
        if not self.has_scalar_inner(node, outer, inner):
            check_nesting(node, outer, inner, ("outer stream", "inner stream"), faults)
        return {"outer": outer, "inner": inner}

    def has_scalar_inner(self, node: Node, outer: Nest, inner: Nest) -> bool:
        """Return whether the inner stream has one value for each outer coordinate."""
        return False


class _Coordinates(_Nested):
    """Block whose inner stream carries coordinates, or values according to its attributes."""

    full_fiber_inputs: ClassVar[Mapping[str, str]] = {"inner": "inner"}

    def output_kind(self, port: str, attributes: Attributes) -> str | None:
        # graph files use either spelling, or both
        values = attributes.get("inner") in ("val", "vals") or attributes.get("vals") == "true"
        return VAL if port == "inner" and values else None

    def value(self, tree: ValueTree, node: Node) -> Expression:
        return tree.value(tree.stream_into(node, "inner"))


class _Dropper(_Coordinates):
    """Dropper of outer coordinates with empty inner fibers, or of values of 0 with their coordinates."""

    drops = True

    def has_scalar_inner(self, node: Node, outer: Nest, inner: Nest) -> bool:
        """Return whether the dropper drops zero values."""
        return self.output_kind("inner", node.attributes) == VAL and len(inner) == len(outer)

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import ExpectedStream, outer_of_nonempty

        outer, inner = inputs["outer"], inputs["inner"]
        # how many values are 0 cannot be foreseen, so a dropper of zeros passes all of them
        if inner.parent is None or outer.spread.keys() == inner.spread.keys():
            return {"outer": outer, "inner": inner}
        outer_nonempty = outer_of_nonempty(inner)
        inner_nonempty = ExpectedStream(
            inner.count, inner.spread, outer_nonempty, inner.filled, inner.filled_spread
        )
        return {"outer": outer_nonempty, "inner": inner_nonempty}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper, ValueDropper

        # equal depths: the inner stream has one value for each outer coordinate, see ``has_scalar_inner``
        if len(context.nest_into(node, "inner")) == len(context.nest_into(node, "outer")):
            return ValueDropper(name, context.quirks)
        return CoordinateDropper(name, context.find_protocol_into(node, "inner"), context.quirks)


class _Hold(_Coordinates):
    """Block that repeats each outer coordinate for every inner coordinate of its fiber."""

    block_class = "hold.CoordinateHold"

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        return {"": super().nest(node, inputs, faults)["inner"]}

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        return {"outer": inputs["inner"], "inner": inputs["inner"]}


class _WordDropper(_Nested):
    """Dropper for bit vectors: clears the bits of outer words whose inner fibers are empty."""

    block_class = "word_dropper.WordDropper"

    def missing_twin(self, node: Node) -> str:
        return NO_WORDS


class _StopDropper(Primitive):
    """Dropper of all stop tokens, which leaves the points of the fibers."""

    block_class = "droppers.StopDropper"
    forwarded_input = "in"

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import ExpectedStream

        return {"out": ExpectedStream(inputs["in"].count, inputs["in"].spread)}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.find_protocol_into(node),)


class _EmptyFiberDropper(Primitive):
    """Dropper of the stop tokens of empty fibers."""

    block_class = "droppers.EmptyFiberDropper"
    forwarded_input = "in"

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.find_protocol_into(node),)


class _PointToFiber(Primitive):
    """Converter of sorted points, without stop tokens, to nested fibers."""

    block_class = "points.PointToFiber"


def _find_port(node: Node, kind: str, comment: str, variable: str) -> str:
    """Return the port of an edge by its index variable, else by the start of its comment.

    Raises:
        ValueError: neither the variable nor the comment names a port.
    """
    # only the inner stream can carry values
    if kind == VAL:
        return "inner"
    for port in ("outer", "inner"):
        if variable and variable == node[port]:
            return port
    # the prefix is enough, as public files also spell ``innner``
    if comment.startswith(("out", "in")):
        return "outer" if comment.startswith("out") else "inner"
    raise ValueError(f"{node} has no stream of {variable or 'a variable that is not named'}")


_COORDINATES = (Port("outer", (CRD,)), Port("inner", (CRD, VAL)))
_POINTS = (Port("outer", (CRD,)), Port("inner", (CRD,)))
_WORDS = (Port("outer", (BV,)), Port("inner", (BV,)))
_IN_OUT = (Port("in", ANY),), (Port("out", ANY),)
_FIBERS = {"outer": None, "inner": None, "mode": "0", "vals": ""}

TYPES = (
    _Dropper("crddrop", _COORDINATES, _COORDINATES, _FIBERS, "CrdDrop {outer},{inner}", "orange"),
    _Dropper("valdrop", _COORDINATES, _COORDINATES, _FIBERS, "ValDropper {outer},{inner}", "purple"),
    _Hold("crdhold", _COORDINATES, _COORDINATES, _FIBERS, "CrdHold {outer},{inner}", "orange"),
    _WordDropper("bvdrop", _WORDS, _WORDS, _FIBERS, "BVDrop {outer},{inner}", "orange"),
    _StopDropper("stopdrop", *_IN_OUT, {}, "StopDrop", "orange"),
    _EmptyFiberDropper("emptystopdrop", *_IN_OUT, {}, "EmptyFiberStopDrop", "orange"),
    _PointToFiber("pointtofiber", _POINTS, _POINTS, {}, "PointToFiber", "orange"),
)
