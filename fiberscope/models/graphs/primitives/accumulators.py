"""Accumulators, which add values with equal coordinates in any order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiberscope.models.graphs.nests import accumulated_variables
from fiberscope.models.graphs.primitives.primitive import CRD, VAL, Port, Primitive
from fiberscope.workloads.expressions.expression import Sum

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStreams
    from fiberscope.models.graphs.edges import Edge
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Graph, Node, Stream
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk, EdgePorts, ValueTree
    from fiberscope.workloads.expressions.expression import Expression


class _Accumulator(Primitive):
    """Accumulator of points; port ``crd[0]`` has the outermost coordinates.

    The attribute ``order`` is the number of inner coordinates whose points arrive in any order. The outer
    coordinates arrive sorted. ``in0`` is the innermost index variable, ``in1`` the next one, and so on.
    """

    block_class = "tensor_reduce.TensorReduce"
    latency_setting = "reduce"
    accumulates = has_equal_depths = True
    least_inputs = 1
    infers_ports = False

    def outputs_of(self, node: Node) -> list[str]:
        """Return the coordinate outputs, outermost first."""
        return [f"crd[{number}]" for number in range(len(accumulated_variables(node)))]

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        nest = accumulated_variables(node)
        outputs = enumerate(self.outputs_of(node), start=1)
        return super().nest(node, inputs, faults) | {output: nest[:n] for n, output in outputs} | {"": nest}

    def value(self, tree: ValueTree, node: Node) -> Expression:
        operand = tree.derive_values_into(node)[0]
        result_variables = accumulated_variables(node)
        summed = tuple(variable for variable in tree.nest_into(node, VAL) if variable not in result_variables)
        return Sum(summed, operand) if summed else operand

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        """Estimate the distinct coordinates of the input points, level by level."""
        from fiberscope.models.graphs.cost.expected_streams import (
            ROOT,
            ExpectedStream,
            count_distinct,
            scale_counts,
        )

        values, names = inputs[VAL], accumulated_variables(node)
        outputs, level = {}, ROOT
        for number, output in enumerate(self.outputs_of(node), start=1):
            outer = names[:number]
            # there are at most as many sums as points, also where the estimate of distinct ones is higher
            count = min(count_distinct(values, outer), values.count)
            spread = scale_counts({name: values.spread[name] for name in outer}, count)
            level = ExpectedStream(count, spread, level, level.count, level.spread)
            outputs[output] = level
        # an accumulator that collects all points sends after the last one, another one sends meanwhile
        point_count, sent_tokens = values.count, level.tokens
        walk.work[node.name] = (
            point_count + sent_tokens if _collects_all(node) else max(point_count, sent_tokens)
        )
        return {**outputs, VAL: level}

    def tokens_after_input(self, node: Node, outputs: ExpectedStreams) -> float:
        return outputs[VAL].tokens if _collects_all(node) else 0.0

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        coordinates = len(accumulated_variables(node))
        return (coordinates, coordinates - int(node["order"]))


class _Pairs(_Accumulator):
    """Accumulator of points with one or two coordinates; files name its ports by index variable."""

    infers_ports = True
    subsumes_reducer = True
    type_without_outer = "vectorreducer"

    def outputs_of(self, node: Node) -> list[str]:
        return ["crd_outer", "crd_inner"]

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        if node["order"] not in ("1", "2"):
            faults.add(
                node.location, f"{node}: order={node['order']}; there are accumulators of order 1 and 2"
            )

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # with a single variable, ``crd_inner`` has its loop, and ``crd_outer`` none
        return super().nest(node, inputs, faults) | {"crd_outer": accumulated_variables(node)[:-1]}

    def input_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """Return the input of an edge; empty for an index variable that is summed over."""
        if edge.kind == VAL:
            return VAL
        tokens = re.split(r"[-_]", edge.target_comment)  # the variable may precede the tensor: in_j-C
        return next(filter(None, (_find_port(node, token) for token in reversed(tokens))), "")

    def output_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        if edge.kind == VAL:
            return VAL
        index = finder.find_target_node(edge)["index"]
        port = _find_port(node, edge.source_label) or _find_port(node, index)
        if not port:
            raise ValueError(f"{node} has no stream of {edge.source_label or index or 'no variable'}")
        return port

    def outgoing_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        return f"out-{_find_variable(node, stream.output)}" if stream.kind == CRD else ""

    def incoming_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        return _find_variable(node, stream.input) if stream.kind == CRD else ""

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce

        return (VectorReduce if node["order"] == "1" else MatrixReduce)(name, quirks=context.quirks)


class _VectorReducer(Primitive):
    """Accumulator of the fibers of a list; a stop token ends each list."""

    block_class = "vector_reducer.VectorReducer"
    latency_setting = "reduce"
    has_equal_depths = True

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # for the check of equal depths only
        super().nest(node, inputs, faults)
        nest = inputs[VAL]
        if len(nest) < 2:
            faults.add(node.location, f"{node} has no list of fibers to add up: its values are one fiber")
        # the loop over the fibers of a list is summed over; their coordinates remain
        return {"": (*nest[:-2], *nest[-1:])}

    def value(self, tree: ValueTree, node: Node) -> Expression:
        return Sum(tree.nest_into(node, VAL)[-2:-1], tree.derive_values_into(node)[0])


def _collects_all(node: Node) -> bool:
    """Return whether an accumulator sends only after its last input.

    An accumulator whose order is below its number of coordinates sends its points when an outer coordinate
    changes.
    """
    return int(node["order"]) == len(accumulated_variables(node))


def _find_port(node: Node, variable: str) -> str:
    """Return the port of an index variable; empty for a variable that is summed over."""
    ports = {node["in0"]: "crd_inner", node["in1"]: "crd_outer"}
    return ports.get(variable, "") if variable else ""


def _find_variable(node: Node, port: str) -> str:
    return node["in1" if port == "crd_outer" else "in0"]


_PAIR = (Port("crd_outer", (CRD,)), Port("crd_inner", (CRD,)), Port("val", (VAL,)))
_FIBERS = (Port("crd", (CRD,)), Port("val", (VAL,)))
_ANY = (Port("crd[]", (CRD,)), Port("val", (VAL,)))

TYPES = (
    _Pairs(
        "spaccumulator",
        _PAIR,
        _PAIR,
        {"order": None, "in0": None, "in1": ""},
        "SparseAccumulator {order}\n0={in0} 1={in1}",
        box="own",
    ),
    _VectorReducer(
        "vectorreducer", _FIBERS, _FIBERS, {"accum_index": "", "fp": ""}, "VectorReducer {accum_index}"
    ),
    _Accumulator("accumulate", _ANY, _ANY, {"order": None, "in0": None}, "Accumulate {order}"),
)
