"""A graph as Verilog: the twins of its blocks joined as its streams say, and what fills their memories."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fiberscope.errors import InputError
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.rtl.kit.wrapper import Composition, Part, hierarchical
from fiberscope.hw.streams import accumulators_rtl as accumulators
from fiberscope.hw.streams import coordinate_dropper_rtl as dropper
from fiberscope.hw.streams import dense_rtl as dense_scanner
from fiberscope.hw.streams import fiber_reduce_rtl as fiber_reducer
from fiberscope.hw.streams import hold_rtl as hold
from fiberscope.hw.streams import joiner_rtl as joiner
from fiberscope.hw.streams import repeater_rtl as repeater
from fiberscope.hw.streams import scanner_rtl as scanner
from fiberscope.hw.streams import stop_dropper_rtl as stop_dropper
from fiberscope.hw.streams import values_rtl as values
from fiberscope.hw.streams import writers_rtl as writer
from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce
from fiberscope.hw.streams.alu import Alu, UnaryAlu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.netlist_rtl import netlist
from fiberscope.hw.streams.reduce import FiberReduce, ScalarReduce
from fiberscope.hw.streams.repeater import Repeater, RepeatSignalGenerator
from fiberscope.hw.streams.skipping import SkippingScanner
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.tokens import CRD
from fiberscope.hw.streams.tokens_rtl import LEVEL_BITS
from fiberscope.hw.streams.writers import CompressedWriter, ValuesWriter
from fiberscope.models.graphs.blocks import input_port, output_port
from fiberscope.models.graphs.execution import Prepared
from fiberscope.models.graphs.expression import ACCUMULATORS
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.report.files import write_text

__all__ = [
    "POINTS",
    "VALUE_BITS",
    "GraphVerilog",
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
    makers = _Makers(_payload_bits(machine), value_bits, points)
    parts = {names[node.name]: makers.part(node, machine.blocks[node.name]) for node in machine.nodes}
    loads = {
        f"{names[node.name]}_load": words
        for node in machine.nodes
        if (words := makers.loads(node, machine.blocks[node.name]))
    }
    streams = [one for one in machine.graph.streams if one.source in names and one.target in names]
    for stream in streams:
        target = machine.graph.nodes[stream.target]
        if target.type in ACCUMULATORS:  # behind a dropper of stops, as in the machine
            name = plain(f"{machine.blocks[target.name].name}.{stream.input}_points")
            names[_dropper_of(stream)], parts[name] = name, makers.dropper(stream.kind)
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


def _dropper_of(stream: Stream) -> str:
    """The dropper of stops in front of an input of an accumulator, as nodes are named."""
    return f"{stream.target}.{stream.input}"


def _wires(graph: Graph, stream: Stream, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The ports that a stream joins, through a dropper if there is one."""
    source, target = graph.nodes[stream.source], graph.nodes[stream.target]
    end = f"{names[source.name]}.{output_port(source, stream.output)}"
    reader = f"{names[target.name]}.{input_port(target, stream.input)}"
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


def _lacking(node: Node, block: StreamBlock) -> str:
    """Why a block has no twin, and what to write instead."""
    if isinstance(block, SkippingScanner):
        return "no hardware here skips ahead; take skip out of its intersection"
    if isinstance(block, UnaryAlu):
        return "no hardware here computes with a constant or one value alone; give a tensor of such values"
    if node["format"] == "bitvector" or "bv" in node.type or node.type in ("bitvector", "chunk"):
        return "no hardware here has bit vectors; store its tensors as s or d"
    if node.type in ("scatter", "merge", "gather"):
        return "no hardware here has loops on several copies; compile it without --parallelize"
    return f"there is no hardware of {node.type}; fiberscope graph run simulates it"


class _Makers:
    """Makes twins from blocks.

    Args:
        payload: bits of all coordinates and references.
        value: bits of all values.
        points: that an accumulator holds.
    """

    def __init__(self, payload: int, value: int, points: int) -> None:
        self._payload, self._value = payload, value
        self._sums = (points, payload, value, value)
        self._kinds: Mapping[type[StreamBlock], Callable[..., Part]] = {
            CompressedScanner: self._scanner,
            DenseScanner: lambda block: Part(
                dense_scanner.BLOCK, dense_scanner.DenseScannerParameters(block.size, payload, payload)
            ),
            CoordinateHold: lambda _: Part(hold.BLOCK, hold.CoordinateHoldParameters(payload)),
            RepeatSignalGenerator: lambda _: Part(
                repeater.GENERATOR, repeater.RepeatSignalGeneratorParameters(payload)
            ),
            Repeater: lambda _: Part(repeater.REPEATER, repeater.RepeaterParameters(payload)),
            Intersect: lambda block: Part(
                joiner.INTERSECT, joiner.JoinerParameters(block.ways, payload, payload)
            ),
            Union: lambda block: Part(joiner.UNION, joiner.JoinerParameters(block.ways, payload, payload)),
            ArrayLoad: lambda block: Part(
                values.ARRAY, values.ArrayParameters(max(1, block.size), payload, value)
            ),
            Alu: self._alu,
            ScalarReduce: lambda block: Part(values.REDUCER, self._reducer(block)),
            FiberReduce: lambda _: Part(
                fiber_reducer.BLOCK, fiber_reducer.FiberReducerParameters(payload, value, value)
            ),
            VectorReduce: lambda _: self._sparse(1),
            MatrixReduce: lambda _: self._sparse(2),
            TensorReduce: self._tensor,
            CoordinateDropper: self._dropper,
            CompressedWriter: lambda _: Part(
                writer.COMPRESSED, writer.CompressedWriterParameters(WRITTEN, WRITTEN, payload)
            ),
            ValuesWriter: lambda _: Part(writer.VALUES, writer.ValuesWriterParameters(WRITTEN, value)),
        }

    def part(self, node: Node, block: StreamBlock) -> Part:
        """The twin of a block.

        Raises:
            InputError: there is none.
        """
        make = self._kinds.get(type(block))
        if make is None:
            raise InputError(f"{node}: {_lacking(node, block)}")
        return make(block)

    def loads(self, node: Node, block: StreamBlock) -> list[Token]:
        """The words of its memory.

        Raises:
            InputError: one does not fit.
        """
        if isinstance(block, CompressedScanner):
            level = block.level
            segments = [level.begin(fiber) for fiber in range(level.fibers + 1)]
            coordinates = map(level.coordinate, range(segments[-1]))
            both = enumerate((segments, coordinates))
            return [Token(control, at, word, 0.0) for control, words in both for at, word in enumerate(words)]
        if isinstance(block, ArrayLoad):
            return [Token(0, at, 0, self._whole(node, value)) for at, value in enumerate(block.values)]
        return []

    def _whole(self, node: Node, value: float) -> float:
        most = 1 << self._value - 1
        if value != int(value) or not -most <= value < most:
            raise InputError(
                f"{node}: {value:g} is no whole number of {self._value} bits, as Verilog's values are"
            )
        return value

    def _scanner(self, block: CompressedScanner) -> Part:
        level = block.level
        fibers, elements = max(1, level.fibers), max(1, level.begin(level.fibers))
        parameters = scanner.CompressedScannerParameters(fibers, elements, self._payload, self._payload)
        return Part(scanner.BLOCK, parameters)

    def _alu(self, block: Alu) -> Part:
        if block.operation not in values.OPERATIONS:
            known = ", ".join(values.OPERATIONS)
            raise InputError(f"{plain(block.name)}: no hardware here does {block.operation}; known: {known}")
        return Part(values.ALU, values.AluParameters(block.operation, self._value, self._value))

    def _reducer(self, block: ScalarReduce) -> values.ScalarReducerParameters:
        empty = "drop" if block.drops else "keep"
        return values.ScalarReducerParameters("sum", empty, self._value, self._value)

    def _sparse(self, order: int) -> Part:
        return Part(accumulators.SPARSE, accumulators.SparseAccumulatorParameters(*self._sums, order))

    def _tensor(self, block: TensorReduce) -> Part:
        parameters = accumulators.TensorAccumulatorParameters(*self._sums, block.ways, block.kept)
        return Part(accumulators.TENSOR, parameters)

    def dropper(self, kind: str) -> Part:
        """The dropper of stops of a stream of this kind, in front of an accumulator."""
        carries = stop_dropper.VALUES if kind == "val" else stop_dropper.COORDINATES
        parameters = stop_dropper.StopDropperParameters(carries, self._payload, self._value)
        return Part(stop_dropper.BLOCK, parameters)

    def _dropper(self, block: CoordinateDropper) -> Part:
        inner = dropper.COORDINATES if block.carries == CRD else dropper.VALUES
        parameters = dropper.CoordinateDropperParameters(inner, self._payload, self._value)
        return Part(dropper.BLOCK, parameters)
