"""What a graph computes, as an expression over index variables: read off its blocks, never its streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from fiberscope.models.graphs.nests import Nests, accumulated, nests_of
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.splits import Splits, cut_variables, joined_variables

__all__ = [
    "Access",
    "Constant",
    "Expression",
    "Operation",
    "Split",
    "Sum",
    "Unreadable",
    "accesses_in",
    "expressions_of",
]

UNARY = ("exp", "sqrt", "neg", "abs")
BINARY = ("mul", "add", "sub", "max", "div", "take")
ACCUMULATORS = ("spaccumulator", "accumulate")
THROUGH = {"stopdrop": "in", "emptystopdrop": "in", "bitvector": "crd", "chunk": "bv"}
THROUGH |= {"scatter": "in", "gather": "stream[0]"}  # each way computes the same, of its own coordinates


class Unreadable(ValueError):  # noqa: N818 - what it says is about the graph, not an error of its user
    """No expression can be read off the graph; the message says why."""


@dataclass(frozen=True)
class Access:
    """A tensor at index variables, one a dimension.

    ``places`` are the columns, from 0 on, of the tensor and of each variable in the text that was read.
    """

    tensor: str
    variables: tuple[str, ...]
    places: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        """As one writes it."""
        return f"{self.tensor}({','.join(self.variables)})" if self.variables else self.tensor


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float

    def __str__(self) -> str:
        """As one writes it."""
        return f"{self.value:g}"


@dataclass(frozen=True)
class Operation:
    """A function of one or two expressions."""

    function: str
    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        """As one writes it."""
        sign = {"mul": "*", "add": "+", "sub": "-", "div": "/"}.get(self.function)
        parts = [f"({one})" if isinstance(one, Operation) else str(one) for one in self.operands]
        return f" {sign} ".join(parts) if sign else f"{self.function}({', '.join(parts)})"

    def of_each(self, change: Callable[[Expression], Expression]) -> Operation:
        """The same function of operands that were changed."""
        return Operation(self.function, tuple(map(change, self.operands)))


@dataclass(frozen=True)
class Sum:
    """A sum over variables."""

    variables: tuple[str, ...]
    operand: Expression

    def __str__(self) -> str:
        """As one writes it."""
        return f"sum[{','.join(self.variables)}] ({self.operand})"


@dataclass(frozen=True)
class Split:
    """A tensor of one dimension whose coordinate is split in two, c = outer * factor + inner."""

    operand: Access
    factor: int

    def __str__(self) -> str:
        """As one writes it."""
        return f"split({self.operand}, {self.factor})"


Expression: TypeAlias = Access | Constant | Operation | Sum | Split


@dataclass(frozen=True)
class Assignment:
    """A result and what it is."""

    result: Access
    expression: Expression

    def __str__(self) -> str:
        """As one writes it."""
        return f"{self.result} = {self.expression}"


def expressions_of(graph: Graph) -> list[Assignment]:
    """What each tensor that the graph writes is, those of earlier phases first.

    A variable that the graph splits stands there whole.

    Raises:
        Unreadable: it has blocks, or a wiring, of which this cannot be told.
    """
    nests = nests_of(graph)
    found = []
    for phase in graph.phases:
        writers = [node for node in graph.writers if node.phase == phase]
        for tensor in dict.fromkeys(node["tensor"] for node in writers):
            found.append(_assignment(graph, nests, [node for node in writers if node["tensor"] == tensor]))
    return [_joined_assignment(one, graph.splits) for one in found] if graph.splits else found


def accesses_in(assignments: Iterable[Assignment]) -> list[Access]:
    """How tensors are read, each way once."""
    found: list[Access] = []
    pending: list[Expression] = [one.expression for one in assignments]
    while pending:
        expression = pending.pop()
        if isinstance(expression, Access):
            found.append(expression)
        elif isinstance(expression, Operation):
            pending += expression.operands
        elif isinstance(expression, Sum | Split):
            pending.append(expression.operand)
    return list(dict.fromkeys(found))


def _assignment(graph: Graph, nests: Nests, writers: list[Node]) -> Assignment:
    values = [node for node in writers if node.writes_values]
    if not values:
        return _carried(graph, writers)
    tree = _Tree(graph, nests)
    stream = _feeding(graph, values[0], "val")
    expression, nest = tree.value(stream), nests[stream.source, stream.output]
    tensor = values[0]["tensor"]
    return Assignment(Access(tensor, _result_variables(graph, writers, nest)), expression)


def _result_variables(graph: Graph, writers: list[Node], nest: tuple[str, ...]) -> tuple[str, ...]:
    """Of each dimension of the result its variable: as its writers say, else the nest of the values."""
    said = {int(node["mode"]): node["index"] for node in writers if not node.writes_values and node["index"]}
    stored = graph.formats.get(writers[0]["tensor"])
    if stored is not None and len(stored.order) == len(nest):
        by_level = {dimension: nest[level] for level, dimension in enumerate(stored.order)}
        return tuple({**by_level, **said}[dimension] for dimension in range(len(nest)))
    if sorted(said) == list(range(len(nest))):
        return tuple(said[dimension] for dimension in range(len(nest)))
    return nest


def _carried(graph: Graph, writers: list[Node]) -> Assignment:
    """A tensor of coordinates alone: those of another one, in another format."""
    ordered = sorted(writers, key=lambda node: int(node["mode"]))
    access: Access | None = None
    factor = 0
    for node in ordered:
        stream = _feeding(graph, node, "bv" if node["format"] == "bitvector" else "crd")
        while (source := graph.nodes[stream.source]).type in (*THROUGH, "split"):
            factor = int(source["factor"]) if source.type == "split" else factor
            stream = _feeding(graph, source, THROUGH.get(source.type, "crd"))
        if source.type != "fiberlookup" or not factor:
            raise Unreadable(f"{node} writes coordinates that are no tensor's")
        access = Access(source["tensor"], (source["index"],))
    assert access is not None
    variable = access.variables[0]
    result = Access(ordered[0]["tensor"], (f"{variable}1", f"{variable}0"))
    return Assignment(result, Split(access, factor))


def _joined_assignment(assignment: Assignment, splits: Splits) -> Assignment:
    try:
        result = _joined(assignment.result, splits)
        assert isinstance(result, Access)
        return Assignment(result, _joined(assignment.expression, splits))
    except ValueError as error:
        raise Unreadable(f"{assignment}: {error}") from None


def _joined(expression: Expression, splits: Splits) -> Expression:
    """An expression in whole variables; sums over parts, which stand within each other, are one."""
    if isinstance(expression, Access):
        variables = joined_variables(expression.variables, splits)
        if cut_variables(variables, splits) != expression.variables:
            raise ValueError(f"{expression} is not {expression.tensor}({','.join(variables)}) in chunks")
        return Access(expression.tensor, variables)
    if isinstance(expression, Operation):
        return expression.of_each(lambda one: _joined(one, splits))
    if isinstance(expression, Sum):
        summed: tuple[str, ...] = ()
        body: Expression = expression
        while isinstance(body, Sum):
            summed, body = (*summed, *body.variables), body.operand
        return Sum(joined_variables(summed, splits), _joined(body, splits))
    return expression


class _Tree:
    """Reads the expression of a stream of values."""

    def __init__(self, graph: Graph, nests: Nests) -> None:
        self._graph, self._nests = graph, nests

    def value(self, stream: Stream) -> Expression:
        node = self._graph.nodes[stream.source]
        if node.type == "arrayvals":
            return self._access(node)
        if node.type in ("crddrop", "crdhold") or node.type in THROUGH:
            return self.value(_feeding(self._graph, node, THROUGH.get(node.type, "inner")))
        inner = self._values_into(node)
        if node.type == "reduce":
            first = _feeding(self._graph, node, "val")
            return Sum((self._nests[first.source, first.output][-1],), inner[0])
        if node.type in ACCUMULATORS:
            return self._accumulated(node, inner[0])
        return self._operation(node, inner)

    def _values_into(self, node: Node) -> list[Expression]:
        streams = sorted(
            (s for s in self._graph.streams_into(node) if s.kind == "val"), key=lambda stream: stream.input
        )
        return [self.value(stream) for stream in streams]

    def _accumulated(self, node: Node, operand: Expression) -> Expression:
        stream = _feeding(self._graph, node, "val")
        nest = self._nests[stream.source, stream.output]
        kept = accumulated(node)
        summed = tuple(variable for variable in nest if variable not in kept)
        return Sum(summed, operand) if summed else operand

    def _operation(self, node: Node, operands: list[Expression]) -> Expression:
        function = node.type.removeprefix("fp_").replace("smax", "max")
        if node["sub"] == "1" and function == "add":
            function = "sub"
        constant = node["in2"] or node["const0"]
        if node["scalar"] and len(operands) == 1:
            operands = [*operands, Access(node["scalar"], ())]
        elif constant and len(operands) == 1:
            number = Constant(float(constant))
            first = node["const0"] and function in ("sub", "div")
            operands = [number, *operands] if first else [*operands, number]
        if function not in (UNARY if len(operands) == 1 else BINARY):
            raise Unreadable(f"{node} is no function that is known of {len(operands)} operands")
        return Operation(function, tuple(operands))

    def _access(self, node: Node) -> Access:
        path = self._path(node)
        stored = self._graph.formats.get(node["tensor"])
        order = stored.order if stored is not None else tuple(range(len(path)))
        if len(path) != len(order):
            raise Unreadable(f"{node}: {len(path)} scanners lead to a tensor of {len(order)} dimensions")
        variables = {dimension: path[level] for level, dimension in enumerate(order)}
        return Access(node["tensor"], tuple(variables[dimension] for dimension in range(len(path))))

    def _path(self, node: Node) -> list[str]:
        """The variables of the scanners between a root and an array, outermost first."""
        found: list[str] = []
        stream = self._graph.feeding(node, "ref")
        while stream is not None:
            source = self._graph.nodes[stream.source]
            if source.type == "fiberlookup":
                found.insert(0, source["index"])
                if stream.output == "crd" and not stream.input.startswith(("crd", "bv")):
                    return found  # located: in a dense level the coordinate is the position
            if stream.output == "located":
                found.insert(0, source["index"])
            stream = self._graph.feeding(source, _back(source, stream))
        return found


def _back(node: Node, stream: Stream) -> str:
    """The input whose references come out at a stream's beginning."""
    if node.type in ("intersect", "union", "bvintersect"):
        if not stream.output.startswith("ref["):
            raise Unreadable(f"{node} feeds an array with what are no references")
        before = node.type == "bvintersect"
        return stream.output.replace("ref", "bv") if before else stream.output
    if stream.output == "located":
        return "base"
    return THROUGH.get(node.type, "ref")


def _feeding(graph: Graph, node: Node, input: str) -> Stream:
    stream = graph.feeding(node, input)
    if stream is None:
        raise Unreadable(f"nothing is connected to {input} of {node}")
    return stream
