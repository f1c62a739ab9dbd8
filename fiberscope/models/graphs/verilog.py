"""A graph as Verilog: the twins of its blocks joined as its streams say, and what fills their memories."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from fiberscope.errors import InputError
from fiberscope.hw import streams as stream_blocks
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.rtl.kit.wrapper import Composition, Part, hierarchical
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.droppers import StopDropper
from fiberscope.hw.streams.netlist_rtl import netlist
from fiberscope.hw.streams.tokens_rtl import LEVEL_BITS
from fiberscope.models.graphs.execution import Prepared
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.report.files import write_text
from fiberscope.sim import Component

__all__ = [
    "POINTS",
    "VALUE_BITS",
    "GraphVerilog",
    "Sizes",
    "machine_of",
    "module_name",
    "plain",
    "verilog_of",
    "write_verilog",
]

VALUE_BITS = 32
POINTS = 64
WRITTEN = 1 << 16  # the most words that a writer's memory has

Loads = Mapping[str, list[Token]]


@dataclass(frozen=True)
class Sizes:
    """What twins are made for.

    Args:
        payload: bits of all coordinates and references.
        value: bits of all values.
        points: that an accumulator holds.
    """

    payload: int
    value: int
    points: int

    def part(self, twin: RtlBlock, block: Component) -> Part:
        """The twin of a block.

        Raises:
            ValueError: there is none for what it computes.
        """
        sizes = {
            **dict.fromkeys(("coordinate_bits", "reference_bits"), self.payload),
            **dict.fromkeys(("value_bits", "sum_bits", "result_bits"), self.value),
            **dict.fromkeys(("entries", "fibers", "elements"), WRITTEN),
            "points": self.points,
            **twin.instance(block),
        }
        known = [field.name for field in fields(twin.parameters)]
        return Part(twin, twin.parameters(**{name: sizes[name] for name in known}))

    def whole(self, node: Node, value: float) -> float:
        """A value that fits.

        Raises:
            InputError: it does not.
        """
        most = 1 << self.value - 1
        if value != int(value) or not -most <= value < most:
            raise InputError(
                f"{node}: {value:g} is no whole number of {self.value} bits, as Verilog's values are"
            )
        return value


@dataclass(frozen=True)
class GraphVerilog:
    """A graph as a module.

    Args:
        composition: of its twins.
        loads: tokens for each of the ports that fill memories, by the port's name.
        names: of the module's parts, by the nodes.
        roots: the inputs at which tensors begin.
    """

    composition: Composition
    loads: Loads
    names: Mapping[str, str]
    roots: Sequence[str]

    @property
    def text(self) -> str:
        """The Verilog, with every module in it once."""
        return hierarchical(self.composition.without_status(), self.composition.module)

    @property
    def words(self) -> str:
        """What fills the memories, a line for each word: port, control, address, word."""
        return "".join(f"{line}\n" for line in ("port,control,address,word", *self._words()))

    def _words(self) -> Iterator[str]:
        for port, tokens in self.loads.items():
            for token in tokens:
                word = token.reference if not token.value else int(token.value)
                yield f"{port},{token.control},{token.coordinate},{word}"


def machine_of(ready: Prepared, parameters: GraphParameters) -> GraphMachine:
    """The machine of a graph of one phase, with its tensors, not run.

    Raises:
        InputError: it has several phases, or its tensors are not stored as it reads them.
    """
    if len(ready.graph.phases) > 1:
        raise InputError(f"{ready.name} runs in phases after one another, and Verilog is of one machine")
    tensors = {name: operand.stored for name, operand in ready.operands.items()}
    return GraphMachine(parameters, ready.graph, tensors, ready.meant, ready.sizes, ready.graph.phases[0])


def module_name(text: str) -> str:
    """A name for a module like this text: letters, digits and underscores, and no word of Verilog's."""
    return f"graph_{re.sub(r'[^0-9A-Za-z]+', '_', text)}"


def verilog_of(
    machine: GraphMachine, module: str, value_bits: int = VALUE_BITS, points: int = POINTS
) -> GraphVerilog:
    """The Verilog of a graph, with memories as large as its tensors.

    Args:
        machine: the graph with its tensors, not run; channels are as deep as its own.
        module: the name of the module.
        value_bits: of every value, a whole number in two's complement; what does not fit a result is lost.
        points: that an accumulator holds; more leave at its port ``overflow``.

    Raises:
        InputError: naming the first block that has no twin, or value that is no such number.
    """
    if machine.parameters.capacity is None or machine.parameters.mask:
        raise InputError(
            f"{module}: Verilog has the timing of hardware; leave out --set timing, depth=0 and quirks"
        )
    names = {node.name: plain(machine.blocks[node.name].name) for node in machine.nodes}
    sizes = Sizes(_payload_bits(machine), value_bits, points)
    parts = {names[node.name]: _part(node, machine.blocks[node.name], sizes) for node in machine.nodes}
    loads = {
        f"{names[node.name]}_load": words
        for node in machine.nodes
        if (words := node.primitive.words(node, machine.blocks[node.name], sizes))
    }
    streams = [one for one in machine.graph.streams if one.source in names and one.target in names]
    for stream in streams:
        target = machine.graph.nodes[stream.target]
        if target.primitive.accumulates:  # behind a dropper of stops, as in the machine
            end = _dropper_of(stream)
            names[end] = plain(machine.droppers[end].name)
            parts[names[end]] = sizes.part(_twins()[StopDropper], machine.droppers[end])
    readers: dict[str, list[str]] = {}
    for stream in streams:
        for end, reader in _wires(machine.graph, stream, names):
            readers.setdefault(end, []).append(reader)
    fed = {reader for ends in readers.values() for reader in ends}
    roots = [
        f"{name}.in_ref" for name, part in parts.items() if _begins(part) and f"{name}.in_ref" not in fed
    ]
    composition = netlist(module, parts, readers, roots, machine.parameters.capacity)
    return GraphVerilog(composition, loads, names, roots)


def _part(node: Node, block: StreamBlock, sizes: Sizes) -> Part:
    """The twin of a block.

    Raises:
        InputError: there is none.
    """
    twin = _twins().get(type(block))
    if twin is None:
        raise InputError(f"{node}: {node.primitive.lacks(node)}")
    try:
        return sizes.part(twin, block)
    except ValueError as error:
        raise InputError(f"{plain(block.name)}: {error}") from None


@cache
def _twins() -> Mapping[type[Component], RtlBlock]:
    """The twins of stream blocks by their event classes."""
    modules = [one.name for one in iter_modules(stream_blocks.__path__) if one.name.endswith("_rtl")]
    made = [
        one for name in modules for one in vars(import_module(f"{stream_blocks.__name__}.{name}")).values()
    ]
    return {kind: one for one in made if isinstance(one, RtlBlock) for kind in one.kinds}


def _dropper_of(stream: Stream) -> str:
    """The dropper of stops in front of an input of an accumulator, as nodes are named."""
    return f"{stream.target}.{stream.input}"


def _wires(graph: Graph, stream: Stream, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The ports that a stream joins, through a dropper if there is one."""
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    end = f"{names[source.name]}.{source.primitive.output_port(source, stream.output)}"
    reader = f"{names[target.name]}.{target.primitive.input_port(target, stream.input)}"
    dropper = names.get(_dropper_of(stream))
    if dropper is not None:
        yield f"{dropper}.out_stream", reader
        reader = f"{dropper}.in_stream"
    yield end, reader


def write_verilog(made: GraphVerilog, name: str, folder: Path) -> tuple[Path, Path]:
    """Write a module and the words that fill its memories; gives both files."""
    files = folder / f"{name}.v", folder / f"{name}_words.csv"
    for file, text in zip(files, (made.text, made.words), strict=True):
        write_text(file, text)
    return files


def plain(block: str) -> str:
    """What a block of the machine, of this name, is called in the module."""
    return re.sub(r"\W+", "_", block.partition(".")[2])


def _begins(part: Part) -> bool:
    return any(stream.label == "in_ref" for stream in part.interface.streams)


def _payload_bits(machine: GraphMachine) -> int:
    """As many as all coordinates and positions take."""
    most = 1 << LEVEL_BITS - 1
    for block in machine.blocks.values():
        if isinstance(block, CompressedScanner):
            level = block.level
            positions = level.begin(level.fibers)
            most = max(most, level.fibers, positions, *map(level.coordinate, range(positions)))
        elif isinstance(block, ArrayLoad):
            most = max(most, block.size)
    return max([most, *_dense_references(machine)]).bit_length()


def _dense_references(machine: GraphMachine) -> Iterator[int]:
    """More than the references that each tensor with dense levels can have: all levels multiplied."""
    levels: dict[str, dict[str, int]] = {}
    for node in machine.nodes:
        block = machine.blocks[node.name]
        if isinstance(block, DenseScanner):
            levels.setdefault(node["tensor"], {})[node["mode"]] = block.size
        elif isinstance(block, CompressedScanner):
            levels.setdefault(node["tensor"], {})[node["mode"]] = block.level.begin(block.level.fibers)
    return (math.prod(max(1, size) for size in sizes.values()) for sizes in levels.values())
