"""Verilog of a graph: the RTL twins of its blocks as one module, and the contents of their memories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from fiberscope.base.errors import InputError
from fiberscope.hw import streams as stream_blocks
from fiberscope.hw.fibers import merge_rtl
from fiberscope.hw.rtl.kit.arithmetic import carried_as
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.contract import contract
from fiberscope.hw.rtl.kit.interface import Field, Token, float_bits
from fiberscope.hw.rtl.kit.wrapper import Composition, Part, hierarchical
from fiberscope.hw.rtl.kit.wrapper import Link as Wire
from fiberscope.hw.streams import absent_values_rtl
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.memory_rtl import LISTS, LOAD, STORED
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merged_sums import FiberSums
from fiberscope.hw.streams.netlist_rtl import netlist
from fiberscope.hw.streams.root import Root
from fiberscope.hw.streams.task_cut import TaskEnd
from fiberscope.hw.streams.values_rtl import PIPELINE, AluParameters, PipelineParameters
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.hw.value_type import INTEGER, ValueType
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.graphs.payloads import count_payload_bits
from fiberscope.models.graphs.prepared import PreparedGraph
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.results.report.files import write_text
from fiberscope.sim import Component
from fiberscope.sim.wiring import End, Link

VALUE_BITS = 32
POINTS = 64
WRITER_WORDS = 1 << 16  # words of a writer's memory, independent of the graph's tensors
_LOADED = f"""\
// Streams that end with {LOAD} fill memories, a word a token: send all words before the first other token.
"""

Loads = Mapping[str, list[Token]]


@dataclass(frozen=True)
class Sizes:
    """Widths and depths of the twins.

    Args:
        payload: bits of coordinates and references.
        value: bits of integer values.
        points: capacity of an accumulator in points.
        type: type of all values.
    """

    payload: int
    value: int
    points: int
    type: ValueType

    def part(self, twin: RtlBlock, block: Component) -> Part:
        """Return the twin of a block, with its parameters.

        Args:
            twin: the RTL of blocks of this class.
            block: the block, whose parameters take precedence over these sizes.

        Raises:
            ValueError: the twin cannot compute the block's function.
        """
        sizes = {
            **dict.fromkeys(("coordinate_bits", "reference_bits"), self.payload),
            **dict.fromkeys(("value_bits", "sum_bits", "result_bits"), self.value),
            **dict.fromkeys(("entries", "fibers", "elements"), WRITER_WORDS),
            "points": self.points,
            "values": self._values,
            **(carried_as(self._values, self.value) if twin is merge_rtl.BLOCK else {}),
            **twin.instance(block),
        }
        names = sizes.keys() & {field.name for field in fields(twin.parameters)}
        return Part(twin, twin.parameters(**{name: sizes[name] for name in names}))

    @property
    def _values(self) -> str:
        """Return the name of the value type in the parameters of RTL."""
        return self.type.name if self.type.floats else INTEGER

    def check_value(self, node: Node, value: float) -> float:
        """Return a value after a check that the value fits a word.

        Args:
            node: node of the value, for the message.
            value: the value; integer words hold whole numbers only.

        Raises:
            InputError: the value does not fit.
        """
        if self.type.floats:
            return value
        limit = 1 << self.value - 1
        if value != int(value) or not -limit <= value < limit:
            raise InputError(
                f"{node}: {value:g} is no whole number of {self.value} bits, as Verilog's values are"
            )
        return value


@dataclass(frozen=True)
class GraphVerilog:
    """The Verilog module of a graph.

    Args:
        composition: the composition of the twins.
        loads: tokens for each port that fills a memory, by port.
        names: names of the twins, without channels and forks.
        roots: inputs that receive the root reference of a tensor.
        entries, exits: inputs and outputs of blocks that are ports of the module.
    """

    composition: Composition
    loads: Loads
    names: Sequence[str]
    roots: Sequence[str]
    entries: Sequence[str] = ()
    exits: Sequence[str] = ()

    @property
    def text(self) -> str:
        """Return the Verilog text: the contract of the ports, then every module once."""
        composition = self.composition.without_status()
        rules = contract(composition.interface(), registered=False)
        fills = _LOADED if any(port.endswith(f"_{LOAD}") for port in composition.exports) else ""
        return f"{rules}{fills}\n{hierarchical(composition, composition.module)}"

    @property
    def words(self) -> str:
        """Return the memory contents as CSV, a line per word: port, control, address, word."""
        return "".join(f"{line}\n" for line in ("port,control,address,word", *self._iterate_words()))

    def _iterate_words(self) -> Iterator[str]:
        streams = {stream.label: stream for stream in self.composition.interface().streams}
        for port, tokens in self.loads.items():
            field = next((wire for wire in streams[port].fields.values() if wire.part == "value"), None)
            for token in tokens:
                word = token.reference or (_encode_word(field, token.value) if field else 0)
                yield f"{port},{token.control},{token.coordinate},{word}"


def _encode_word(field: Field, value: float) -> int:
    """Return a value as an integer; for floating point, the bit pattern."""
    return int(value) if field.kind == "whole" else field.codec.encode(float_bits(value))


def build_machine(prepared: PreparedGraph, parameters: GraphParameters) -> GraphMachine:
    """Build the machine of a graph with one phase, and do not run the machine.

    Args:
        prepared: the graph with its operands.
        parameters: parameters of the machine.

    Raises:
        InputError: the graph has several phases, the settings ask for memories or restarts of tiles, or a
            tensor's format differs from that of the graph.
    """
    if parameters.tiles.is_used:
        raise InputError("there is no RTL of tiles; leave tiles.capacity and tiles.restart at 0")
    if len(prepared.graph.phases) > 1:
        raise InputError(f"{prepared.name} runs in phases after one another, and Verilog is of one machine")
    tensors = {name: operand.stored for name, operand in prepared.operands.items()}
    return GraphMachine(
        parameters, prepared.graph, tensors, prepared.assignments, prepared.sizes, prepared.graph.phases[0]
    )


def to_module_name(text: str, kind: str = "graph") -> str:
    """Return a module name for a text: letters, digits and underscores, and no Verilog keyword.

    Args:
        text: any text; other characters become underscores.
        kind: prefix of the name.
    """
    return f"{kind}_{re.sub(r'[^0-9A-Za-z]+', '_', text)}"


def build_verilog(
    machine: GraphMachine, module: str, value_bits: int = VALUE_BITS, points: int = POINTS
) -> GraphVerilog:
    """Return the Verilog of a graph. Memories of operands fit the tensors; writers have ``WRITER_WORDS``.

    Args:
        machine: the machine of the graph, not yet run; the module has the machine's channel depths.
        module: name of the module.
        value_bits: bits of an integer value, in two's complement; a larger result overflows. Floating-point
            values have the bits of their type.
        points: capacity of an accumulator in points; further points leave at its port ``overflow``.

    Raises:
        InputError: the machine has the timing of the public simulator, unbounded channels or quirks; a block
            has no twin; or a value does not fit. The message names the first block.
    """
    if machine.parameters.capacity is None or machine.parameters.mask:
        raise InputError(
            f"{module}: Verilog has the timing of hardware; leave out --set timing, depth=0 and quirks"
        )
    nodes = {strip_machine(machine.blocks[node.name]): node for node in machine.nodes}
    blocks = {strip_machine(block): block for block in (*machine.blocks.values(), *machine.droppers.values())}
    payload = count_payload_bits(machine.nodes, machine.blocks)
    sizes = Sizes(payload, value_bits, points, machine.parameters.value_type)
    return Hardware(module, blocks, nodes, machine.kernel.wiring.connections, sizes).verilog()


@dataclass(frozen=True)
class Hardware:
    """Blocks of a machine that become one module.

    Args:
        module: name of the module.
        blocks: blocks, by their names in the module.
        nodes: nodes of the graph, by the name of their block.
        links: links of the machine.
        sizes: widths and depths of the twins.
    """

    module: str
    blocks: Mapping[str, Component]
    nodes: Mapping[str, Node]
    links: Sequence[Link]
    sizes: Sizes

    def verilog(self) -> GraphVerilog:
        """Return the module.

        An unbounded channel gets one token more than its largest capacity in the run so far.

        Raises:
            InputError: a block has no twin, or a value does not fit; the message names the first.
        """
        names = {id(block): name for name, block in self.blocks.items()}
        twins = {name: self._build_part(name, block) for name, block in self.blocks.items()}
        readers: dict[str, list[str]] = {}
        open_inputs: dict[bool, list[str]] = {True: [], False: []}  # keyed by whether a root feeds the input
        exits, channels = [], dict[str, tuple[int, int]]()
        for link in self.links:
            source, target = names.get(id(link.producer.component)), names.get(id(link.consumer.component))
            reader = f"{target}.{link.consumer.label}"
            channels[reader] = link.channel.capacity + (not link.channel.bounded), link.channel.latency
            if source and target:
                readers.setdefault(_stream_at(source, twins[source], link.producer), []).append(reader)
            elif target:
                open_inputs[isinstance(link.producer.component, Root)].append(reader)
            elif source and not isinstance(link.consumer.component, TaskEnd):
                exits.append(f"{source}.{link.producer.label}")
        _pipeline_float_alus(twins, readers, channels)
        roots, entries = open_inputs[True], open_inputs[False]
        wires = self._list_wires()
        composition = netlist(
            self.module, twins, readers, roots, channels, entries=entries, exits=exits, wires=wires
        )
        return GraphVerilog(composition, self._find_loads(), tuple(self.blocks), roots, entries, exits)

    def _list_wires(self) -> list[Wire]:
        """Return the wires between the two ends of a merger, which share a table."""
        points_by_table, writers_by_table = dict[int, str](), dict[int, str]()
        for name, block in self.blocks.items():
            if isinstance(block, MergedPoints):
                points_by_table[id(block.table)] = name
            if isinstance(block, FiberSums) or type(block) is MergedPoints:
                writers_by_table[id(block.table)] = name
        table_of_ways = {
            name: id(block.table) for name, block in self.blocks.items() if isinstance(block, FiberWays)
        }
        return [
            wire
            for name, table in table_of_ways.items()
            for wire in (
                Wire(f"{name}.{LISTS}", f"{points_by_table[table]}.{LISTS}", 0),
                Wire(f"{writers_by_table[table]}.{STORED}", f"{name}.{STORED}", 0),
            )
        ]

    def _find_loads(self) -> Loads:
        contents = {
            name: node.primitive.memory_contents(node, self.blocks[name], self.sizes)
            for name, node in self.nodes.items()
        }
        return {f"{name}_{LOAD}": tokens for name, tokens in contents.items() if tokens}

    def _build_part(self, name: str, block: Component) -> Part:
        """Return the twin of a block, with its parameters.

        Raises:
            InputError: the block has no twin.
        """
        twin, node = self._build_twin(name, block), self.nodes.get(name)
        if twin is None:
            reason = (
                f"{node}: {node.primitive.missing_twin(node)}"
                if node
                else f"{name}: there is no RTL of this block"
            )
            raise InputError(reason)
        try:
            return self.sizes.part(twin, block)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None

    def _build_twin(self, name: str, block: Component) -> RtlBlock | None:
        """Return the twin of a block; with a wire for absent values if an ALU after the block needs the wire.

        Raises:
            InputError: no twin of the block has such a wire.
        """
        if _fills_absent(block):
            return absent_values_rtl.ALU
        twin, needs_absent_wire = _find_twins().get(type(block)), id(block) in self._absent_value_sources
        if type(block) is ArrayLoad and (needs_absent_wire or block.empty != 0.0):
            return absent_values_rtl.ARRAY
        if needs_absent_wire:
            raise InputError(f"{name}: there is no RTL of this block with absent values")
        return twin

    @cached_property
    def _absent_value_sources(self) -> set[int]:
        """Return the identities of the blocks that feed an ALU with absent values."""
        return {id(link.producer.component) for link in self.links if _fills_absent(link.consumer.component)}


def _fills_absent(block: Component) -> bool:
    """Return whether a block is an ALU that replaces absent values."""
    return type(block) is Alu and block.fills


def _pipeline_float_alus(
    twins: dict[str, Part], readers: Mapping[str, Sequence[str]], channels: dict[str, tuple[int, int]]
) -> None:
    """Replace a float ALU and the single channel after it by a pipelined ALU with the channel's latency."""
    for name, twin in twins.items():
        parameters, consumers = twin.parameters, readers.get(f"{name}.out_val", ())
        if not isinstance(parameters, AluParameters) or parameters.values == INTEGER or len(consumers) != 1:
            continue
        capacity, latency = channels[consumers[0]]
        if latency > 1:
            pipeline = PipelineParameters(**asdict(parameters), capacity=capacity, latency=latency)
            twins[name] = Part(PIPELINE, pipeline)
            channels[consumers[0]] = (0, 1)


def _stream_at(name: str, twin: Part, end: End) -> str:
    """Return the name of an output stream. Unlike the block, a twin has one stream for all consumers.

    A twin with an array of streams of this name is the exception.
    """
    is_array = sum(stream.port[0] == end.port.name for stream in twin.interface.streams) > 1
    return f"{name}.{end.label if is_array else end.port.name}"


@cache
def _find_twins() -> Mapping[type[Component], RtlBlock]:
    """Return the twins of the stream blocks, by event class."""
    modules = [module.name for module in iter_modules(stream_blocks.__path__) if module.name.endswith("_rtl")]
    blocks = [
        block
        for name in modules
        for block in vars(import_module(f"{stream_blocks.__name__}.{name}")).values()
    ]
    blocks.append(merge_rtl.BLOCK)
    return {kind: block for block in blocks if isinstance(block, RtlBlock) for kind in block.kinds}


def write_verilog(hardware: GraphVerilog, name: str, folder: Path) -> tuple[Path, Path]:
    """Write a module and the contents of its memories, and return the paths of both files.

    Args:
        hardware: the module.
        name: stem of the files: ``NAME.v`` and ``NAME_words.csv``.
        folder: an existing folder.
    """
    files = folder / f"{name}.v", folder / f"{name}_words.csv"
    for file, text in zip(files, (hardware.text, hardware.words), strict=True):
        write_text(file, text)
    return files


def strip_machine(block: Component, machine: str = GraphMachine.NAME) -> str:
    """Return a block's name in the module.

    Args:
        machine: name of its machine, which is left out with the dot after it.
    """
    return re.sub(r"\W+", "_", block.name.removeprefix(f"{machine}."))
