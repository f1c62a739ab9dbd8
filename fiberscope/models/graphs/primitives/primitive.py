"""Node types of a graph: ports, attributes and behaviour, and the interfaces that a node type uses."""

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
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream, ExpectedStreams
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

CRD, REF, VAL, REPSIG, BV = KINDS = ("crd", "ref", "val", "repsig", "bv")
ANY = (CRD, REF, VAL, BV)
NO_WORDS = "there is no RTL of bit vectors; store the tensors as s or d"
COMMON = {"phase": "1"}  # attributes of all types; ``phase`` is the number of a node's run
BROADCAST = "broadcast"  # a fork in a drawing, which no block needs

Attributes = Mapping[str, str]
AnyLevel = TypeVar("AnyLevel", bound="Level")


@dataclass(frozen=True)
class Port:
    """One port of a primitive.

    Args:
        name: the name; an array ``ref[]`` has the ports ``ref[0]``, ``ref[1]``, ...
        kinds: the stream kinds that an input accepts, or the kind that an output sends.
        optional: whether an input may be open; every output may be open.
    """

    name: str
    kinds: tuple[str, ...]
    optional: bool = False


def strip_port_number(port: str) -> str:
    """Return the name of a port without its number: ``ref[]`` for ``ref[1]``."""
    return f"{port.partition('[')[0]}[]" if port.endswith("]") else port


def _find_port(ports: tuple[Port, ...], name: str) -> Port | None:
    return next((port for port in ports if port.name == strip_port_number(name)), None)


class BlockContext(Protocol):
    """Context from which a block is built, see ``fiberscope.models.graphs.blocks``."""

    @property
    def graph(self) -> Graph:
        """Return the graph of the block."""

    @property
    def tensors(self) -> Mapping[str, StoredTensor]:
        """Return the stored tensors, by name."""

    @property
    def quirks(self) -> int:
        """Return the quirks of the public simulator, as a bit mask."""

    @property
    def registered(self) -> bool:
        """Return whether the memories of the blocks have a latency of one cycle."""

    @property
    def nests(self) -> Nests:
        """Return the loop nests of all streams."""

    def level_of(self, node: Node, kind: type[AnyLevel]) -> AnyLevel:
        """Return the level that a node scans."""

    def read_fibers_of(self, node: Node) -> Fibers:
        """Return the level that a node scans, in the form that a block reads."""

    def read_fibers_at(self, tensor: str, mode: str) -> Fibers:
        """Return a compressed level of a tensor, in the form that a block reads."""

    def nest_into(self, node: Node, port: str) -> Nest:
        """Return the loop nest of the stream into a block."""

    def find_protocol_into(self, node: Node, port: str = "") -> StreamProtocol:
        """Return the protocol of the stream into a port of a block."""


class CostWalk(Protocol):
    """Interface of an estimate to a node type, see ``fiberscope.models.graphs.cost.estimate``.

    A node type may set ``work`` of its node, and ``bits``: the coordinates whose bits its words carry.
    """

    graph: Graph
    statistics: dict[str, TensorStatistics]
    nests: Nests
    bits: dict[str, ExpectedStream]
    work: dict[str, float]

    def list_joined_streams(self, node: Node) -> list[ExpectedStream]:
        """Return the distinct coordinate streams that a joiner compares."""

    def refuse(self, node: Node) -> NoReturn:
        """Refuse a block whose outputs cannot be estimated."""


class ValueTree(Protocol):
    """Interface of an expression reader to a node type, see ``fiberscope.models.graphs.expression``."""

    def value(self, stream: Stream) -> Expression:
        """Return the expression of a value stream."""

    def derive_values_into(self, node: Node) -> list[Expression]:
        """Return the expressions of the value streams into a block."""

    def nest_into(self, node: Node, input: str) -> Nest:
        """Return the loop nest of the stream into a block."""

    def stream_into(self, node: Node, input: str) -> Stream:
        """Return the stream into a block."""

    def access(self, node: Node) -> Access:
        """Return the tensor access of an array, at the index variables of the level scanners before it."""


class EdgePorts(Protocol):
    """Interface of the port finder to a node type, see ``fiberscope.models.graphs.ports``."""

    def find_target_node(self, edge: Edge) -> Node:
        """Return the target node of an edge."""

    def find_operand_of_edge(self, joiner: Node, edge: Edge) -> int:
        """Return the number of the operand whose references an edge carries out of a joiner."""

    def find_single_port(
        self, node: Node, names: Sequence[str], kind: str, direction: str, other: str = ""
    ) -> str:
        """Return the port of a node that fits an edge of this kind; ``other`` is an alternative name."""


class WordSizes(Protocol):
    """Interface of the word sizes of a memory to a node type, see ``fiberscope.models.graphs.verilog``."""

    def check_value(self, node: Node, value: float) -> float:
        """Return a value after a check that the value fits a word."""


@dataclass(frozen=True)
class Primitive:
    """A node type of the Sparse Abstract Machine; subclasses define its behaviour.

    An instance describes the type. The methods get a ``node`` of this type and keep no state. For a graph,
    they are called in this order:

    1.  A reader of a file calls ``input_of_edge`` and ``output_of_edge`` for each edge without port names.
    2.  ``fiberscope.models.graphs.check`` calls ``check``, ``required_inputs`` and ``accepts``, and then, if
        no fault was found, ``nest`` from the roots to the writers.
    3.  A reader of the expression calls ``value``; an estimate of cycles calls ``estimate``.
    4.  A machine calls ``build``, and connects ``input_port`` and ``output_port`` of the block.
    5.  A writer of Verilog calls ``memory_contents``, or refuses the node with ``missing_twin``.

    Args:
        type: name in graph files.
        inputs, outputs: ports.
        attributes: defaults by attribute name; None for a required attribute.
        label: label in drawings, with the names of attributes in braces.
        colour: Graphviz colour in drawings.
        box: kind of the box in a drawing, which sets its colour: ``memory`` for blocks that hold data,
            ``own`` for blocks that compute values or merge, ``block`` for others.
    """

    type: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    label: str = ""
    colour: str = "brown"
    box: Literal["memory", "own", "block"] = "block"

    # least value of each numeric attribute
    numbers: ClassVar[Mapping[str, int]] = {"factor": 1, "width": 1, "size": 1, "phase": 1, "ways": 2}
    least_inputs: ClassVar[int] = 2  # least number of streams at an array of inputs
    has_equal_depths: ClassVar[bool] = False  # whether all input streams have the same depth
    infers_ports: ClassVar[bool] = True  # whether the edges of a file determine the ports without port names
    belongs_to_loop: ClassVar[bool] = False  # whether the node belongs to the loop of its index variable
    scans: ClassVar[bool] = False  # whether the node scans a level
    position_output: ClassVar[str] = ""  # output with positions of a level; empty without such an output
    loads: ClassVar[bool] = False  # whether the node loads values; without a reference, a scalar
    writes: ClassVar[bool] = False  # whether the node writes a level or the values of a result
    needs_whole_result: ClassVar[bool] = False  # whether the node needs streams of the whole result
    has_operand_pairs: ClassVar[bool] = False  # whether each operand is a coordinate and a reference stream
    intersects: ClassVar[bool] = False  # whether the node drops coordinates that an operand lacks
    unites: ClassVar[bool] = False  # whether a coordinate may have an empty token N as reference
    repeats: ClassVar[bool] = False  # whether the node repeats references
    expands: ClassVar[bool] = False  # whether the node expands bit-vector words to coordinates
    drops: ClassVar[bool] = False  # whether the node drops coordinates of empty fibers, or zero values
    reduces: ClassVar[bool] = False  # whether the node reduces fibers to values
    accumulates: ClassVar[bool] = False  # whether the node accumulates points without stop tokens
    subsumes_reducer: ClassVar[bool] = False  # whether the node makes a reducer before it redundant
    type_without_outer: ClassVar[str] = ""  # type in public files without outer coordinates
    default_constant: ClassVar[str] = ""  # constant operand in public files with a single stream
    latency_setting: ClassVar[str] = ""  # latency setting of the node; empty without one
    block_class: ClassVar[str] = ""  # module and class of the block; empty if a subclass overrides ``build``
    forwarded_input: ClassVar[str] = ""  # input whose stream leaves the node with the same meaning
    split_input: ClassVar[str] = ""  # input whose coordinates the node splits into two parts
    full_fiber_inputs: ClassVar[Mapping[str, str]] = {}  # by output, the input with equally full fibers

    @property
    def reads(self) -> bool:
        """Return whether the node reads a tensor."""
        return self.loads or bool(self.position_output)

    @property
    def accesses_level(self) -> bool:
        """Return whether the node reads or writes one level of a tensor."""
        return {"tensor", "mode"} <= self.attributes.keys()

    @property
    def operation_name(self) -> str:
        """Return the name of the node's operations in a report."""
        return self.type

    def input(self, port: str) -> Port | None:
        """Return the input of this name, or None."""
        return _find_port(self.inputs, port)

    def output(self, port: str) -> Port | None:
        """Return the output of this name, or None."""
        return _find_port(self.outputs, port)

    def register_operands(self, node: Node) -> tuple[int, ...]:
        """Return the numbers of the operands that the register of an ALU can hold, the best first."""
        return ()

    def output_kind(self, port: str, attributes: Attributes) -> str | None:
        """Return the kind of an output if the attributes determine the kind, else None."""
        return None

    def required_inputs(self, node: Node, arity: int) -> Iterator[str]:
        """Yield the inputs that need a stream; an array yields each of its ports."""
        for port in self.inputs:
            if not port.name.endswith("[]"):
                yield from () if port.optional else (port.name,)
                continue
            # the ports are numbered without gaps: a stream into number 2 also requires 0 and 1
            for number in range(max(1 if node.is_unary else self.least_inputs, arity)):
                yield f"{port.name[:-2]}[{number}]"

    def accepts(self, node: Node, input: str) -> bool:
        """Return whether an input accepts a stream."""
        return True

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        """Report faults in a node's attributes.

        Args:
            graph: the graph of the node.
            faults: collects the faults; the method does not raise.
        """

    def input_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """Return the input port of an edge of a file; empty for an edge without meaning for the node.

        Raises:
            ValueError: the port is ambiguous.
        """
        names = [port.name for port in self.inputs]
        # an input ``ref`` may also accept coordinates or words, so it is the alternative
        return names[0] if len(names) == 1 else finder.find_single_port(node, names, edge.kind, "input", REF)

    def output_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        """Return the output port of an edge of a file.

        Raises:
            ValueError: the port is ambiguous.
        """
        return finder.find_single_port(node, [port.name for port in self.outputs], edge.kind, "output")

    def outgoing_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        """Return the comment of an outgoing edge in public files; empty without one."""
        return ""

    def incoming_comment(self, graph: Graph, node: Node, stream: Stream) -> str:
        """Return the comment of an incoming edge in public files; empty without one."""
        return ""

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        """Return the loop nests of the outputs by port; the key ``""`` stands for all other outputs.

        Args:
            inputs: loop nest of the stream into each connected input, by port.
            faults: collects a fault if the depths of the inputs do not match.
        """
        if self.has_equal_depths and len({len(nest) for nest in inputs.values()}) > 1:
            depths = ", ".join(f"{port}: {describe_loops(nest)}" for port, nest in sorted(inputs.items()))
            faults.add(node.location, f"{node}: its input streams must have equal depths ({depths})")
        return {"": next(iter(inputs.values()))}

    def value(self, tree: ValueTree, node: Node) -> Expression:
        """Return the expression of the output values.

        Raises:
            Unreadable: the expression cannot be determined.
        """
        if self.forwarded_input:
            return tree.value(tree.stream_into(node, self.forwarded_input))
        operands = tree.derive_values_into(node)
        raise Unreadable(f"{node} has no function of {len(operands)} operands")

    def reference_input(self, node: Node, output: str) -> str:
        """Return the input that determines the references of an output.

        Raises:
            Unreadable: the output carries no references.
        """
        # a node with an array of references passes input ``ref[i]`` on as output ``ref[i]``
        if self.output("ref[]") is None:
            return self.forwarded_input or REF
        if not output.startswith("ref["):
            raise Unreadable(f"{node} feeds an array with a stream that carries no references")
        return output

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        """Estimate the output streams, by port.

        Args:
            walk: the estimate; the method may also set ``work`` and ``bits`` of the node.
            inputs: expected stream into each connected input, by port, without skip streams.

        Raises:
            ValueError: the node has no estimate.
        """
        return walk.refuse(node)

    def tokens_after_input(self, node: Node, outputs: ExpectedStreams) -> float:
        """Return the number of tokens that the node sends after its last input token."""
        return 0.0

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        """Build the block of the node; the caller adds the block to a kernel.

        Args:
            name: name of the block.
            context: the graph, the stored tensors and the settings of the blocks.

        Raises:
            InputError: the stored format of a tensor differs from the format in the graph.
        """
        module, _, kind = self.block_class.partition(".")
        block: StreamBlock = getattr(import_module(f"fiberscope.hw.streams.{module}"), kind)(
            name, *self.arguments(node, context), quirks=context.quirks
        )
        return block

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        """Return the constructor arguments of the block between its name and its quirks."""
        return ()

    def input_port(self, node: Node, port: str) -> str:
        """Return the name of a block's input port."""
        return "in_stream" if port == "in" else f"in_{port}"

    def output_port(self, node: Node, port: str) -> str:
        """Return the name of a block's output port; each port of an array has its own name."""
        return "out_stream" if port == "out" else f"out_{port.replace('[', '').replace(']', '')}"

    def missing_twin(self, node: Node) -> str:
        """Return the reason for a missing RTL twin (the block as Verilog), and the alternative."""
        return f"there is no RTL of {self.type}; fiberscope graph run simulates it"

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        """Return the initial memory contents of the RTL twin; empty for a block without a memory.

        Raises:
            InputError: a value does not fit a word.
        """
        return []
