"""Node types of parallel loops (scatter, merge, gather), and of split coordinates (split, flatten)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.models.graphs.nests import check_nesting
from fiberscope.models.graphs.primitives.primitive import ANY, CRD, REF, Port, Primitive

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext


class _Lanes(Primitive):
    """Base of the node types around a loop that runs as several parallel copies, called ways."""

    infers_ports = False

    def missing_twin(self, node: Node) -> str:
        return "there is no RTL of parallel loops; compile the graph without --parallelize"


class _Scatter(_Lanes):
    """Block that distributes coordinates over the copies of a loop."""

    forwarded_input = "in"

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.parallel import Scatter

        carries = context.find_protocol_into(node)
        return Scatter(name, int(node["ways"]), carries=carries, quirks=context.quirks)

    # the block has the same port names for every kind of stream that it carries
    def input_port(self, node: Node, port: str) -> str:
        return "in_crd"

    def output_port(self, node: Node, port: str) -> str:
        # ``out[3]`` of the node is ``out_crd3`` of the block
        return f"out_crd{port[4:-1]}"


class _Merge(_Lanes):
    """Merger of the sorted coordinates of all ways; output ``ref`` has the way of each coordinate."""

    block_class = "serializer.Merge"
    has_equal_depths = True

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (context.graph.arity(node),)


class _Gather(_Lanes):
    """Block that joins the elements of all ways to one stream, in the order of a merger's ``ref`` output."""

    block_class = "serializer.Serializer"
    forwarded_input = "stream[0]"

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # all ways have equal nests, and ``ref`` has the nest of the merged coordinates, which may be shorter
        return {"": inputs[self.forwarded_input]}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        # number of loops within an element: 0 if the ways send a token for each coordinate of the merger
        depth = len(context.nest_into(node, self.forwarded_input)) - len(context.nest_into(node, REF))
        return (int(node["ways"]), depth, context.find_protocol_into(node))


class _Split(Primitive):
    """Block that splits a coordinate into the number of its chunk and the coordinate in the chunk."""

    block_class = "split.Split"
    split_input = CRD

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # the split adds a loop: the coordinate's loop becomes a loop over chunks and a loop in a chunk
        outer = (*inputs[CRD][:-1], f"{node['index']}1")
        return {"outer": outer, "inner": (*outer, f"{node['index']}0")}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (int(node["factor"]), node["orig_crd"] == "true")


class _Flatten(Primitive):
    """Block that combines chunk numbers and coordinates in chunks, the inverse of a split.

    The nest of its output keeps the variable of the outer input.
    """

    block_class = "split.Flatten"

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        outer, inner = inputs.get("outer", ()), inputs.get("inner", ())
        check_nesting(node, outer, inner, ("outer stream", "inner stream"), faults)
        return {"": outer}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (int(node["factor"]),)


_PAIR = (Port("outer", (CRD,)), Port("inner", (CRD,)))
_WAYS = {"index": "", "ways": None}

TYPES = (
    _Scatter("scatter", (Port("in", ANY),), (Port("out[]", ANY),), _WAYS, "Scatter {index} {ways}", "orange"),
    _Merge(
        "merge",
        (Port("crd[]", (CRD,)),),
        (Port("crd", (CRD,)), Port("ref", (REF,))),
        _WAYS,
        "Merge {index} {ways}",
        "orange",
    ),
    _Gather(
        "gather",
        (Port("stream[]", ANY), Port("ref", (REF,))),
        (Port("out", ANY),),
        _WAYS,
        "Gather {index} {ways}",
        "orange",
    ),
    _Split(
        "split",
        (Port("crd", (CRD,)),),
        _PAIR,
        {"index": "", "factor": None, "orig_crd": "false"},
        "Split {index} by {factor}",
        "orange",
    ),
    _Flatten(
        "flatten",
        _PAIR,
        (Port("crd", (CRD,)),),
        {"index": "", "factor": None},
        "Flatten {index} by {factor}",
        "orange",
    ),
)
