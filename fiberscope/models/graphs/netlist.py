"""A graph of stream blocks as a netlist: nodes, and streams between their ports.

graph = Graph({"x": "s0", "b": "s0", "c": "s0"})
b = graph.add("fiberlookup", index="i", tensor="b", mode=0, root=True)
array = graph.add("arrayvals", tensor="b")
graph.connect(b, "ref", array, "ref")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.dot import Location
from fiberscope.models.graphs.formats import Format, format_of
from fiberscope.models.graphs.levels import BY_NAME
from fiberscope.models.graphs.levels.level import LevelFormat
from fiberscope.models.graphs.primitives import PRIMITIVES
from fiberscope.models.graphs.primitives.primitive import COMMON, CRD, REF, Port, Primitive, strip_port_number
from fiberscope.workloads.errors import suggest


@dataclass
class Node:
    """A block of a graph.

    Args:
        name: name in the graph; a number in files.
        type: name of its primitive.
        attributes: attributes as text, by name.
        location: location in a file, for messages.
    """

    name: str
    type: str
    attributes: dict[str, str]
    location: Location | None = field(default=None, compare=False)

    def __getitem__(self, attribute: str) -> str:
        """Return an attribute, or its default if it is missing or empty; empty if there is no default."""
        return self.attributes.get(attribute) or {**COMMON, **self.primitive.attributes}.get(attribute) or ""

    @property
    def primitive(self) -> Primitive:
        """Return the primitive of the node's type."""
        return PRIMITIVES[self.type]

    @property
    def root(self) -> bool:
        """Return whether a root feeds the node: reference 0 and done, as for the first block of a tensor."""
        return self["root"] == "true"

    @property
    def writes_values(self) -> bool:
        """Return whether the node is a writer of values."""
        return self.primitive.writes and self["mode"] in ("vals", "val")

    @property
    def level(self) -> LevelFormat:
        """Return the format of the level that the node scans or writes."""
        return BY_NAME[self["format"]]

    @property
    def starts_at_root(self) -> bool:
        """Return whether a root feeds the node if no stream enters its reference input.

        An array without references loads the value of a scalar.
        """
        return self.root or self.primitive.loads

    @property
    def is_unary(self) -> bool:
        """Return whether the node is an ALU with one stream: a unary function, or a constant operand."""
        # only the types of unary functions have the attribute ``rb_const``
        return bool(
            self["in2"] or self["const0"] or self["scalar"] or "rb_const" in self.primitive.attributes
        )

    @property
    def phase(self) -> int:
        """Return the number of the phase, from 1, in which the node runs."""
        return int(self["phase"])

    @property
    def label(self) -> str:
        """Return a label of a word or two: ``fiberlookup B0 i``."""
        if self.writes_values:
            return f"{self.type} {self['tensor']} vals"
        tensor = self["tensor"] + (self["mode"] if self.primitive.accesses_level else "")
        variables = self["index"] or ",".join(filter(None, (self["outer"], self["inner"])))
        return " ".join(filter(None, (self.type, tensor, variables)))

    def __str__(self) -> str:
        """Return the label and the name, for messages."""
        return f"{self.label} (node {self.name})"

    def input(self, port: str) -> Port | None:
        """Return the input of this name, or None."""
        return self.primitive.input(port)

    def output(self, port: str) -> Port | None:
        """Return the output of this name, or None."""
        return self.primitive.output(port)


@dataclass
class Stream:
    """A stream from an output to an input; an output with several streams sends each token to all of them.

    Args:
        source, output: node and output port at which the stream begins.
        target, input: node and input port at which the stream ends.
        kind: kind of the tokens, such as ``crd`` or ``val``.
        attributes: further attributes of the edge in a file.
        location: location in a file, for messages.
    """

    source: str
    output: str
    target: str
    input: str
    kind: str
    attributes: dict[str, str] = field(default_factory=dict)
    location: Location | None = field(default=None, compare=False)


@dataclass
class Graph:
    """Blocks and the streams between them.

    Args:
        formats: formats of the result, then of the operands, by tensor, as text or as ``Format``.
        counted: phases whose cycles count; all phases if empty.
        splits: for each index variable that is split into chunks (``splits.py``), the size of a chunk.
        nodes: nodes, by name.
        streams: streams, in the order in which they were added.
        notes: corrections that the reader of a file made.
    """

    formats: dict[str, Format] = field(default_factory=dict)
    counted: tuple[int, ...] = ()
    splits: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)
    notes: list[str] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        """Convert formats that are given as text."""
        formats: Mapping[str, Format | str] = self.formats
        self.formats = {
            name: tensor_format if isinstance(tensor_format, Format) else format_of(tensor_format)
            for name, tensor_format in formats.items()
        }

    def add(self, type: str, name: str = "", **attributes: object) -> Node:
        """Add a block, and return it.

        Args:
            type: a key of ``fiberscope.models.graphs.primitives.PRIMITIVES``.
            name: name of the block; by default the number of blocks before it.
            attributes: attributes of the type, by name.

        Raises:
            InputError: there is no such type, or another block has the name.
        """
        name = name or str(len(self.nodes))
        if type not in PRIMITIVES:
            raise InputError(f"node {name}: there is no type {type}; {suggest(type, PRIMITIVES)}")
        if name in self.nodes:
            raise InputError(f"node {name}: another node has this name")
        node = Node(name, type, {key: _format_value(value) for key, value in attributes.items()})
        self.nodes[name] = node
        return node

    def connect(self, source: Node, output: str, target: Node, input: str) -> Stream:
        """Add a stream from an output of a block to an input of a block, and return it.

        Connect the streams into ``source`` first: they may determine the kind of the stream. ``check`` later
        refuses a wrong kind, and a required input with two streams.

        Args:
            source, target: blocks of this graph.
            output, input: names of their ports; a port of an array has its number, as in ``crd[0]``.

        Raises:
            InputError: a block has no such port.
        """
        port = source.output(output)
        if port is None:
            raise InputError(_build_port_error(source, "output", output))
        if target.input(input) is None:
            raise InputError(_build_port_error(target, "input", input))
        stream = Stream(source.name, output, target.name, input, self.find_kind_at(source, output))
        self.streams.append(stream)
        return stream

    def find_kind_at(self, node: Node, output: str) -> str:
        """Return the kind of the streams of an output.

        An output without a kind of its own, such as that of a dropper, has the kind of an input. The streams
        into the node are therefore connected first.
        """
        port = node.output(output)
        assert port is not None
        kind = node.primitive.output_kind(output, node.attributes)
        if kind is None and len(port.kinds) > 1:  # the output passes its input on
            forwards_all = strip_port_number(output) in ("out", "out[]")
            inputs = (
                stream for stream in self.list_streams_into(node) if stream.input == output or forwards_all
            )
            kind = next((stream.kind for stream in inputs if stream.input != "ref"), None)
        return kind or port.kinds[0]

    def list_streams_into(self, node: Node) -> Iterator[Stream]:
        """Return the streams that end at a block."""
        return (stream for stream in self.streams if stream.target == node.name)

    def list_streams_from(self, node: Node) -> Iterator[Stream]:
        """Return the streams that begin at a block."""
        return (stream for stream in self.streams if stream.source == node.name)

    def stream_into(self, node: Node, input: str) -> Stream | None:
        """Return the stream into an input; None if no stream enters it."""
        return next((stream for stream in self.list_streams_into(node) if stream.input == input), None)

    def find_tensor_at(self, stream: Stream) -> str:
        """Return the tensor to which a stream of references, or of coordinates beside references, belongs.

        Empty for a stream that belongs to no single tensor.
        """
        source = self.nodes[stream.source]
        if source["tensor"] or not source.primitive.has_operand_pairs:
            return source["tensor"]
        # a joiner passes a reference on at the port of the same name; a coordinate belongs to its reference
        if stream.kind == REF:
            references = self.stream_into(source, stream.output)
        else:
            references = self.stream_into(self.nodes[stream.target], stream.input.replace(CRD, REF))
        return self.find_tensor_at(references) if references else ""

    def arity(self, node: Node) -> int:
        """Return the number of ports in a block's arrays: ``ways``, or as many as connected inputs need."""
        if node["ways"]:
            return int(node["ways"])
        # the number n of an input ``name[n]``
        numbers = [
            int(s.input[:-1].partition("[")[2]) for s in self.list_streams_into(node) if "[" in s.input
        ]
        return 1 + max(numbers, default=-1)

    def format_of(self, tensor: str, levels: Iterable[Node]) -> Format:
        """Return the format of a tensor.

        Args:
            tensor: name of the tensor.
            levels: its scanners or writers. If ``formats`` lacks the tensor, they determine the format, with
                the levels in the order of the dimensions.
        """
        if tensor in self.formats:
            return self.formats[tensor]
        letters = {int(node["mode"]): node.level.letters[0] for node in levels}
        order = tuple(sorted(letters))
        return Format("".join(letters[dimension] for dimension in order), order)

    def counts(self) -> Counter[str]:
        """Return the number of blocks of each type."""
        return Counter(node.type for node in self.nodes.values())

    @property
    def phases(self) -> list[int]:
        """Return the numbers of the phases, in order; each phase is a run of its own."""
        return sorted({node.phase for node in self.nodes.values()})

    @property
    def writers(self) -> list[Node]:
        """Return all writers."""
        return [node for node in self.nodes.values() if node.primitive.writes]


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _build_port_error(node: Node, direction: str, port: str) -> str:
    ports = node.primitive.inputs if direction == "input" else node.primitive.outputs
    names = ", ".join(port.name.replace("[]", "[0]") for port in ports) or "none"
    return f"{node} has no {direction} {port}; it has {names}"
