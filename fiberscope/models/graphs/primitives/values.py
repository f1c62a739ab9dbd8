"""Node types that compute values: ALUs, and reducers of fibers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.nests import check_nesting, drops_empty_fibers
from fiberscope.models.graphs.primitives.primitive import CRD, REF, VAL, Port, Primitive
from fiberscope.workloads.expressions.expression import Access, Call, Number, Sum

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStreams
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk, ValueTree
    from fiberscope.workloads.expressions.expression import Expression

EITHER, SECOND = (1, 0), (1,)  # operands that a register can hold, the best first: any, or only the second


@dataclass(frozen=True)
class _Alu(Primitive):
    """ALU of one function.

    Args:
        function: name of the function in expressions; by default the type.
        constant_operands: operands that can be a constant or stand in a register, the best first.
        arity: number of operands.
        operation: name in reports; by default the type.
    """

    block_class = "alu.Alu"
    latency_setting = "alu"
    has_equal_depths = True

    function: str = ""
    constant_operands: tuple[int, ...] = ()
    arity: int = 2
    operation: str = ""

    @property
    def operation_name(self) -> str:
        return self.operation or self.type

    def function_of(self, node: Node) -> str:
        return self.function or self.type

    def register_operands(self, node: Node) -> tuple[int, ...]:
        return self.constant_operands

    def value(self, tree: ValueTree, node: Node) -> Expression:
        operands = tree.derive_values_into(node)
        constant = node["in2"] or node["const0"]
        if node["scalar"] and len(operands) == 1:
            operands = [*operands, Access.plain(node["scalar"], ())]
        elif constant and len(operands) == 1:
            number = Number(float(constant))
            # ``in2`` is the second operand, ``const0`` the first; the order matters only to these functions
            first = node["const0"] and self.register_operands(node) == SECOND
            operands = [number, *operands] if first else [*operands, number]
        if len(operands) != self.arity:
            raise Unreadable(f"{node} has no function of {len(operands)} operands")
        return Call(self.function_of(node), tuple(operands))

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        return {VAL: inputs["val[0]"]}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (self.function_of(node),)

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.alu import Alu, UnaryAlu

        function = self.function_of(node)
        if self.arity == 1:
            return UnaryAlu(name, function, quirks=context.quirks)
        if not node.is_unary:
            block = super().build(name, node, context)
            if isinstance(block, Alu) and function == "take" and _may_lack_operand(node, context):
                block.fills = True  # its RTL knows absent values, too
            return block
        constant = (
            context.tensors[node["scalar"]].values[0] if node["scalar"] else node["in2"] or node["const0"]
        )
        first = bool(node["const0"])
        return UnaryAlu(name, function, float(constant), constant_first=first, quirks=context.quirks)

    def input_port(self, node: Node, port: str) -> str:
        return "in_val" if node.is_unary else super().input_port(node, port)

    def missing_twin(self, node: Node) -> str:
        return "there is no RTL of an ALU with a constant or a single operand; use a tensor instead"


def _may_lack_operand(node: Node, context: BlockContext) -> bool:
    """Return whether an array with references from a union brings values to a block."""
    arrays = (context.graph.nodes[stream.source] for stream in context.graph.list_streams_into(node))
    # an array that a root feeds has no reference stream
    references = (context.graph.stream_into(array, REF) for array in arrays)
    return any(stream and context.graph.nodes[stream.source].type == "union" for stream in references)


class _Adder(_Alu):
    """Adder, or subtractor of its second operand if the attribute ``sub`` is 1."""

    def function_of(self, node: Node) -> str:
        return "sub" if node["sub"] == "1" else super().function_of(node)

    def register_operands(self, node: Node) -> tuple[int, ...]:
        return SECOND if node["sub"] == "1" else self.constant_operands


class _Maximum(_Alu):
    """Maximum; with a single stream in a public file, the maximum of the stream and 0."""

    default_constant = "0"


class _Reducer(Primitive):
    """Reducer: adds up the values of each innermost fiber.

    The attribute ``empty`` says what an empty fiber gives: ``drop`` for nothing, ``mark`` for N, another text
    for 0. Without ``empty``, the droppers of the graph decide (``drops_empty_fibers``). With coordinates of
    the fibers, ``drop`` is a fault, and an empty fiber gives 0, or N with ``mark``.
    """

    latency_setting = "reduce"
    reduces = True

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        values = inputs[VAL]
        if not values:
            faults.add(node.location, f"{node} has nothing to sum: its values are a scalar")
        if CRD in inputs:
            check_nesting(node, inputs[CRD], values, ("coordinates", "values"), faults)
            if node["empty"] == "drop":
                message = f"{node} reads the coordinates of its fibers, and keeps the sum of an empty fiber"
                faults.add(node.location, f"{message}; leave out empty=drop, or the stream of coordinates")
        return {"": values[:-1]}

    def value(self, tree: ValueTree, node: Node) -> Expression:
        operand = tree.derive_values_into(node)[0]
        # the reducer ends the innermost loop of its values
        return Sum((tree.nest_into(node, VAL)[-1],), operand)

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import ROOT, outer_of_nonempty

        values = inputs[VAL]
        if drops_empty_fibers(walk.graph, walk.nests, node):
            return {VAL: outer_of_nonempty(values)}
        # a kept empty fiber also gives a token, so each point of the enclosing loops has a sum
        return {VAL: values.parent.points if values.parent else ROOT}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.reduce import FiberReduce, ScalarReduce

        if context.graph.stream_into(node, CRD) is not None:
            reducer: ScalarReduce = FiberReduce(name, context.quirks)
        else:
            drops = drops_empty_fibers(context.graph, context.nests, node)
            reducer = ScalarReduce(name, drop_empty=drops, quirks=context.quirks)
        reducer.marks = node["empty"] == "mark"
        return reducer


_PORTS = (Port("val[]", (VAL,)),), (Port("val", (VAL,)),)
_BINARY = (
    *_PORTS,
    {"sub": "0", "in2": "", "const0": "", "scalar": "", "where": "", "counted": ""},
    "{Type}",
    "brown",
)
_UNARY = *_PORTS, {"rb_const": ""}, "{Type}"

TYPES = (
    _Alu("mul", *_BINARY, "own", constant_operands=EITHER, operation="multiply"),
    _Alu("fp_mul", *_BINARY, function="mul", constant_operands=EITHER, operation="multiply"),
    _Adder("add", *_BINARY, "own", constant_operands=EITHER),
    _Adder("fp_add", *_BINARY, function="add", constant_operands=EITHER, operation="add"),
    _Maximum("max", *_BINARY, constant_operands=EITHER),
    _Maximum("fp_max", *_BINARY, function="max", constant_operands=EITHER),
    _Alu("smax", *_BINARY, function="max", constant_operands=EITHER),
    _Alu("min", *_BINARY, constant_operands=EITHER),
    _Alu("or", *_BINARY, constant_operands=EITHER),
    _Alu("and", *_BINARY, constant_operands=EITHER),
    _Alu("first", *_BINARY, constant_operands=SECOND),
    _Alu("second", *_BINARY, constant_operands=SECOND),
    _Alu("differs", *_BINARY, constant_operands=EITHER),
    _Alu("less", *_BINARY, constant_operands=SECOND),
    _Alu("div", *_BINARY, constant_operands=SECOND),
    _Alu("fp_div", *_BINARY, function="div", constant_operands=SECOND),
    _Alu("take", *_BINARY),
    _Alu("exp", *_UNARY, arity=1),
    _Alu("fp_exp", *_UNARY, function="exp", arity=1),
    _Alu("sqrt", *_UNARY, arity=1),
    _Alu("neg", *_UNARY, arity=1),
    _Alu("abs", *_UNARY, arity=1),
    _Reducer(
        "reduce",
        (Port("val", (VAL,)), Port("crd", (CRD,), optional=True)),
        (Port("val", (VAL,)),),
        {"fp": "", "empty": ""},
        "Reduce",
        box="own",
    ),
)
