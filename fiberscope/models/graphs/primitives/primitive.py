"""Types of nodes, for all modules that read, check, run, estimate, rewrite or draw graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, Protocol, TypeVar

from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.loops import describe_loops

if TYPE_CHECKING:
    from fiberscope.hw.fibers.level import Level as Fibers
    from fiberscope.hw.rtl.kit.interface import Token
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.cost.statistics import TensorStatistics
    from fiberscope.models.graphs.edges import Edge
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.levels.level import Level
    from fiberscope.models.graphs.loops import Nest, Nests
    from fiberscope.models.graphs.netlist import Graph, Node, Stream
    from fiberscope.models.graphs.storage import StoredTensor
    from fiberscope.sim import Component
    from fiberscope.sim.protocol import Protocol as StreamProtocol
    from fiberscope.workloads.expressions.expression import Access, Expression

__all__ = [
    "ANY",
    "BROADCAST",
    "BV",
    "COMMON",
    "CRD",
    "KINDS",
    "NO_WORDS",
    "REF",
    "REPSIG",
    "VAL",
    "Attributes",
    "BlockContext",
    "CostWalk",
    "EdgePorts",
    "Port",
    "Primitive",
    "ValueTree",
    "WordSizes",
    "bare_port",
]

CRD, REF, VAL, REPSIG, BV = KINDS = ("crd", "ref", "val", "repsig", "bv")
ANY = (CRD, REF, VAL, BV)
NO_WORDS = "no hardware here has bit vectors; store its tensors as s or d"
COMMON = {"phase": "1"}  # attributes of all types; ``phase`` is the number of a node's run
BROADCAST = "broadcast"  # a fork in a drawing, which no block needs

Attributes = Mapping[str, str]
AnyLevel = TypeVar("AnyLevel", bound="Level")


@dataclass(frozen=True)
class Port:
    """One port of a primitive.

    Args:
        name: an array's ends in ``[]``: its ports are ``name[0]``, ``name[1]``, ...
        kinds: the streams that it takes, or the one that it makes.
        optional: whether it may be left open; every output may.
    """

    name: str
    kinds: tuple[str, ...]
    optional: bool = False


def bare_port(port: str) -> str:
    """The name of a port without its number: ``ref[]`` of ``ref[1]``."""
    return f"{port.partition('[')[0]}[]" if port.endswith("]") else port


def _port(ports: tuple[Port, ...], name: str) -> Port | None:
    return next((port for port in ports if port.name == bare_port(name)), None)


class BlockContext(Protocol):
    """Context from which a block is built; ``fiberscope.models.graphs.blocks`` has it."""

    @property
    def graph(self) -> Graph:
        """Return the graph of the block."""

    @property
    def tensors(self) -> Mapping[str, StoredTensor]:
        """Return the tensors by name, as they are stored."""

    @property
    def quirks(self) -> int:
        """Return the quirks of the public simulator as a mask."""

    @property
    def registered(self) -> bool:
        """Return whether the blocks read their memories with a latency of a cycle."""

    @property
    def nests(self) -> Nests:
        """The loop nests of all streams."""

    def level_of(self, node: Node, kind: type[AnyLevel]) -> AnyLevel:
        """Return the level that a node scans."""

    def fibers_of(self, node: Node) -> Fibers:
        """Return the level that a node scans as a block reads it."""

    def fibers_at(self, tensor: str, mode: str) -> Fibers:
        """Return a compressed level as a block reads it."""

    def nest_into(self, node: Node, port: str) -> Nest:
        """Return the loop nest of the stream into a block."""

    def carried_into(self, node: Node, port: str = "") -> StreamProtocol:
        """Return what the stream into a port of a block carries."""


class CostWalk(Protocol):
    """Interface of an estimate to a block; ``fiberscope.models.graphs.cost.estimate`` has it."""

    graph: Graph
    statistics: dict[str, TensorStatistics]
    nests: Nests
    bits: dict[str, ExpectedStream]
    work: dict[str, float]

    def ways(self, node: Node) -> list[ExpectedStream]:
        """Return the streams of coordinates that come together."""

    def refuse(self, node: Node) -> NoReturn:
        """Refuse a block of which nothing can be estimated."""


class ValueTree(Protocol):
    """Reads the expressions of streams; ``fiberscope.models.graphs.expression`` has it."""

    def value(self, stream: Stream) -> Expression:
        """Return what a stream of values carries."""

    def values_into(self, node: Node) -> list[Expression]:
        """Return what the streams of values into a block carry."""

    def nest_into(self, node: Node, input: str) -> Nest:
        """Return the loop nest of the stream into a block."""

    def feeding(self, node: Node, input: str) -> Stream:
        """Return the stream into a block."""

    def access(self, node: Node) -> Access:
        """Return the tensor that an array loads values of, at the variables of its scanners."""


class EdgePorts(Protocol):
    """Finds the ports of the edges of a file; ``fiberscope.models.graphs.ports`` has it."""

    def target_of(self, edge: Edge) -> Node:
        """Return the node at an edge's end."""

    def operand_behind(self, joiner: Node, edge: Edge) -> int:
        """Return the number of the operand whose references an edge out of a joiner carries."""

    def only(self, node: Node, names: Sequence[str], kind: str, direction: str, other: str = "") -> str:
        """Return the only port that an edge of a kind can have."""


class WordSizes(Protocol):
    """Sizes that the words of a memory must fit; ``fiberscope.models.graphs.verilog`` has them."""

    def whole(self, node: Node, value: float) -> float:
        """Return a value that fits."""


@dataclass(frozen=True)
class Primitive:
    """A type of nodes; a class below it has what it means, where that is more than what is said here.

    Args:
        type: its name in files.
        inputs, outputs: its ports.
        attributes: the names of its own attributes; those with a value here may be left out.
        label: what a drawing shows, with the node's attributes in braces.
        colour: the colour of the drawing, as graphviz names it.
        box: what it is in a drawing of ours: data, values, or coordinates and references.
    """

    type: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    label: str = ""
    colour: str = "brown"
    box: Literal["memory", "own", "block"] = "block"

    # numeric attributes, and the least value of each
    numbers: ClassVar[Mapping[str, int]] = {"factor": 1, "width": 1, "size": 1, "phase": 1, "ways": 2}
    fewest: ClassVar[int] = 2  # least number of streams at an array of inputs
    alike: ClassVar[bool] = False  # whether its input streams must have the same depth
    named: ClassVar[bool] = True  # whether edges of files determine its ports without names
    of_loop: ClassVar[bool] = False  # whether it forms one loop, that of its variable
    scans: ClassVar[bool] = False  # whether it scans a level
    positions: ClassVar[str] = ""  # output with the positions of a level that it looks up, if any
    loads: ClassVar[bool] = False  # whether it loads values; without a reference, that of the root
    writes: ClassVar[bool] = False  # whether it writes a level or the values of a result
    whole: ClassVar[bool] = False  # whether it takes only streams of the whole result
    paired: ClassVar[bool] = False  # whether each operand has streams of coordinates and references
    intersects: ClassVar[bool] = False  # whether it drops coordinates that an operand lacks
    unites: ClassVar[bool] = False  # whether its coordinates may lack references
    repeats: ClassVar[bool] = False  # whether it repeats references
    expands: ClassVar[bool] = False  # whether it expands words to coordinates
    drops: ClassVar[bool] = False  # whether it drops coordinates without inner coordinates
    reduces: ClassVar[bool] = False  # whether it reduces fibers to values
    accumulates: ClassVar[bool] = False  # whether it accumulates points without stops
    sums_alone: ClassVar[bool] = False  # whether it replaces a reducer before it in public files
    by_stops: ClassVar[str] = ""  # type in public files that connect no outer coordinates
    beside_one: ClassVar[str] = ""  # constant in public files that connect a single stream
    computes: ClassVar[str] = ""  # name of the setting of its latency, if it has one
    unit: ClassVar[str] = ""  # its block by module and class, if it is a single block
    passes: ClassVar[str] = ""  # input whose stream it passes on with the same meaning
    cuts: ClassVar[str] = ""  # input whose coordinates it splits in two
    through: ClassVar[Mapping[str, str]] = {}  # outputs with full fibers if these inputs have full fibers

    @property
    def reads(self) -> bool:
        """Return whether it reads a tensor."""
        return self.loads or bool(self.positions)

    @property
    def of_level(self) -> bool:
        """Return whether it is of one level of a tensor."""
        return {"tensor", "mode"} <= self.attributes.keys()

    @property
    def counted(self) -> str:
        """Return the name of its operations in a report."""
        return self.type

    def input(self, port: str) -> Port | None:
        """Return the input of this name, or None."""
        return _port(self.inputs, port)

    def output(self, port: str) -> Port | None:
        """Return the output of this name, or None."""
        return _port(self.outputs, port)

    def registers(self, node: Node) -> tuple[int, ...]:
        """The operands of which one may stand in a register, the best first."""
        return ()

    def makes(self, port: str, attributes: Attributes) -> str | None:
        """The kind of an output, if that follows from the node's attributes."""
        return None

    def needed(self, node: Node, arity: int) -> Iterator[str]:
        """The inputs that must be fed, each number of an array by itself."""
        for port in self.inputs:
            if not port.name.endswith("[]"):
                yield from () if port.optional else (port.name,)
                continue
            for number in range(max(1 if node.is_unary else self.fewest, arity)):
                yield f"{port.name[:-2]}[{number}]"

    def takes(self, node: Node, input: str) -> bool:
        """Return whether an input of its may be fed."""
        return True

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        """Tell what is wrong with a node's attributes."""

    def input_of(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """The input that an edge of a file goes into; none if it says nothing to the node.

        Raises:
            ValueError: it cannot be told.
        """
        names = [port.name for port in self.inputs]
        return names[0] if len(names) == 1 else finder.only(node, names, edge.kind, "input", REF)

    def output_of(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """The output that an edge of a file comes out of.

        Raises:
            ValueError: it cannot be told.
        """
        return finder.only(node, [port.name for port in self.outputs], edge.kind, "output")

    def said_from(self, graph: Graph, node: Node, stream: Stream) -> str:
        """Return the attributes of an edge out of it in public files."""
        return ""

    def said_into(self, graph: Graph, node: Node, stream: Stream) -> str:
        """Return the attributes of an edge into it in public files."""
        return ""

    def nest(self, node: Node, fed: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        """The loop nests of its outputs by port, under the empty name that of all others."""
        if self.alike and len({len(nest) for nest in fed.values()}) > 1:
            depths = ", ".join(f"{port}: {describe_loops(nest)}" for port, nest in sorted(fed.items()))
            faults.add(node.place, f"{node}: its streams must be as deep as each other ({depths})")
        return {"": next(iter(fed.values()))}

    def value(self, tree: ValueTree, node: Node) -> Expression:
        """The expression of the values that it makes.

        Raises:
            Unreadable: it makes none of which this is known.
        """
        if self.passes:
            return tree.value(tree.feeding(node, self.passes))
        operands = tree.values_into(node)
        raise Unreadable(f"{node} is no function that is known of {len(operands)} operands")

    def before(self, node: Node, output: str) -> str:
        """The input whose references come out at an output.

        Raises:
            Unreadable: none do.
        """
        if self.output("ref[]") is None:
            return self.passes or REF
        if not output.startswith("ref["):
            raise Unreadable(f"{node} feeds an array with what are no references")
        return output

    def estimate(
        self, walk: CostWalk, node: Node, fed: Mapping[str, ExpectedStream]
    ) -> dict[str, ExpectedStream]:
        """Estimate its outputs, by port.

        Raises:
            ValueError: nothing can be told of it.
        """
        return walk.refuse(node)

    def sent_behind(self, node: Node, outputs: Mapping[str, ExpectedStream]) -> float:
        """Tokens that it sends when all that it takes has come."""
        return 0.0

    def make(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        """The block that it stands for.

        Raises:
            InputError: the tensor that it reads is not stored as it would be read.
        """
        module, _, kind = self.unit.partition(".")
        block: StreamBlock = getattr(import_module(f"fiberscope.hw.streams.{module}"), kind)(
            name, *self.arguments(node, context), quirks=context.quirks
        )
        return block

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        """Return the arguments of its unit between its name and its quirks."""
        return ()

    def input_port(self, node: Node, port: str) -> str:
        """Return the name of an input port of its block."""
        return "in_stream" if port == "in" else f"in_{port}"

    def output_port(self, node: Node, port: str) -> str:
        """Return the name of an output port of its block; numbered ones have a port of their own each."""
        return "out_stream" if port == "out" else f"out_{port.replace('[', '').replace(']', '')}"

    def lacks(self, node: Node) -> str:
        """Why it has no twin, and what to write instead."""
        return f"there is no hardware of {self.type}; fiberscope graph run simulates it"

    def words(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        """Return the contents of the memory of its twin.

        Raises:
            InputError: a word does not fit.
        """
        return []
