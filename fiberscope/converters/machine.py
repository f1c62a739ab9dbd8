"""The machine MINT: a reader and a writer of memory, and the blocks of a recipe between them.

The machine is built for one conversion. Some blocks are stages, with one channel for all lanes; others are
chains of units with one channel per lane (*lines*, see ``lanes``). Source: MINT, Section V.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from fiberscope.accelerators.composition import Composition, PartFactory, count
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.layout import Layout as Place
from fiberscope.accelerators.machine import Traffic
from fiberscope.converters.arrays import Source, Target
from fiberscope.converters.blocks import BLOCKS, latency
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.counters import Counters
from fiberscope.converters.job import Job
from fiberscope.converters.lanes import PARTS, ROWS, SUMS, UNITS, Line, is_row, lines, ports_of
from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.reader import Reader
from fiberscope.converters.recipes import Edge, kind_of, recipe
from fiberscope.converters.stages import LaneStage
from fiberscope.converters.writer import Writer
from fiberscope.sim import Component, Kernel
from fiberscope.workloads.formats import Encoded, Format
from fiberscope.workloads.formats.format import Layout

WORD_BITS = 62  # bits of a word that holds all coordinates of an item
READ, WRITE = "read", "write"
ARRAYS = 4  # capacity of a channel for constants, which takes one constant for each array


class Mint(Composition[MintParameters]):
    """A converter that reads its source from memory and writes the target to memory.

    Args:
        parameters: configuration of the machine.
        source: encoded tensor to convert.
        target: format of the result.
        header: layout of the target's arrays, without items, and the counts of the target.
        parts: replacements of blocks in ``PARTS``, by the same names.
        kernel: kernel that runs the machine, for checks of the engine; a new kernel by default.

    Raises:
        WorkloadError: if no recipe exists.
        ConfigurationError: if the coordinates of an item do not fit in a word of the converter.
    """

    NAME = "mint"
    PARTS: ClassVar[Mapping[str, PartFactory]] = {**Composition.PARTS, **PARTS}
    TENSORS: ClassVar = {"A": (0,), "Z": (1,)}
    work = "write"

    def __init__(
        self,
        parameters: MintParameters,
        source: Encoded,
        target: Format,
        header: tuple[Layout, Mapping[str, int]],
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(parameters, parts, kernel)
        _check_words(source)
        self.source = source
        self.layout, self.counts = header
        self.job = Job(parameters, source.format, target, source.shape, source.nonzeros)
        self.recipe = recipe(source.format.name, target.name, len(source.shape), parameters.lanes.chunk)
        self.target = Target(target, source.shape, source.bits, self.layout)
        self.stages: dict[str, Component] = {}
        self._add_ends()
        self._add_stages()
        self._connect()
        if not parameters.port.ideal:
            users = [(self.reader, "requests", "replies"), (self.writer, "requests", "")]
            self.add_memory(users, LINE_BYTES)
        self.build()

    def _ports(self, block: str) -> list[str]:
        """Return the distinct ports of the reader or the writer that the recipe uses."""
        if block == READ:
            named = [edge.output for edge in self.recipe.edges if edge.block == READ]
        else:
            named = [edge.input for edge in self.recipe.edges if edge.to == WRITE]
        return list(dict.fromkeys(named))

    def _add_ends(self) -> None:
        """Add the reader of the source and the writer of the target."""
        parameters, lanes = self.parameters, self.parameters.lanes
        self.arrays = source = Source(
            self.source,
            lanes=lanes.words,
            chunk=lanes.chunk,
            lines=parameters.port.lines,
            ranges=self.job.ranges if self.recipe.is_two_pass else 1,
        )
        twice = "turn" in self.recipe.blocks
        self.inputs, self.outputs = self._ports(READ), self._ports(WRITE)
        self.reader = self.add(Reader, READ, [source.stream(name, twice=twice) for name in self.inputs])
        routes = [self.target.routes(port) for port in self.outputs]
        self.writer = self.add(
            Writer,
            WRITE,
            routes,
            self.target.regions,
            words=lanes.words,
            backlog=parameters.port.backlog,
            port=1,
        )

    def _add_stages(self) -> None:
        self.lines = list(lines(self.recipe, self.job))
        if self.recipe.is_two_pass:
            self.lines.append(Counters.from_recipe(self.recipe, self.job))
        for block in self.recipe.blocks:
            if kind_of(block) in BLOCKS:
                self.stages[block] = self.add(BLOCKS[kind_of(block)], block, self.job)
        for line in self.lines:
            for block in line.blocks:
                self.stages[block] = self.add(UNITS[kind_of(block)].part, block, *line.arguments(block))

    def _connect(self) -> None:
        line_of = {block: line for line in self.lines for block in line.blocks}
        for edge in self.recipe.edges:
            if is_row(edge):
                self._connect_rows(edge, line_of[edge.block])
            else:
                self._connect_items(edge)
        for line in self.lines:
            for place, (block, _constant) in enumerate(line.constants):
                former, unit = self.stages[line.blocks[0]], self.stages[block]
                port = UNITS[kind_of(block)].constants
                self.kernel.connect(former, f"{port}[{place}]", unit, port, capacity=ARRAYS)

    def _connect_rows(self, edge: Edge, line: Line) -> None:
        """Connect an edge that carries rows with one channel per lane."""
        giver, taker = self.stages[edge.block], self.stages[edge.to]
        output, port = ports_of(edge)
        wire = self.parameters.wire(kind_of(edge.block))
        for lane in range(line.lanes(edge.block, edge.output)):
            self.kernel.connect(
                giver, f"{output}[{lane}]", taker, f"{port}[{lane}]", capacity=ROWS + wire, latency=wire
            )

    def _connect_items(self, edge: Edge) -> None:
        cycles = latency(edge.block, edge.output, self.parameters, self.source.shape)
        producer, output, room = self._producer(edge)
        consumer, port = self._consumer(edge)
        if kind_of(edge.input) == "rests" or kind_of(edge.output) == "rests":
            capacity = room * self._rows_in_flight(edge.block)
        else:
            capacity = room * (cycles + 2)
        self.kernel.connect(producer, output, consumer, port, capacity=capacity, latency=cycles)

    def _rows_in_flight(self, block: str) -> int:
        """Return the largest number of rows in flight from a block to the end of its line.

        The rests of these rows wait in the bypass.
        """
        line = next(line for line in self.lines if block in line.blocks)
        behind = line.blocks[line.blocks.index(block) :]
        cycles = [latency(unit, "results", self.parameters, self.source.shape) for unit in behind]
        return sum(cycles) + ROWS * len(behind) + 1

    def _producer(self, edge: Edge) -> tuple[Component, str, int]:
        """Return the component at the start of an edge, its port, and the most tokens pushed in a cycle."""
        if edge.block == READ:
            place = self.inputs.index(edge.output)
            return (
                self.reader,
                f"streams[{place}]",
                1 + max(self.parameters.lanes.words, self.parameters.lanes.chunk),
            )
        stage = self.stages[edge.block]
        if isinstance(stage, LaneStage):
            return stage, _numbered(edge.output), stage.room
        line = next(line for line in self.lines if edge.block in line.blocks)
        return stage, _numbered(edge.output), line.room(edge.block)

    def _consumer(self, edge: Edge) -> tuple[Component, str]:
        if edge.to == WRITE:
            return self.writer, f"items[{self.outputs.index(edge.input)}]"
        if edge.to == READ:
            return self.reader, edge.input
        return self.stages[edge.to], _numbered(edge.input)

    def result(self) -> Encoded:
        """Return the target as it has been written."""
        return self.target.encoded(self.counts)

    def operations(self) -> Mapping[str, int]:
        """Return the number of words written, and of the blocks' operations by name, such as ``divide``."""
        operations = {"write": count("words_taken", self.writer)}
        for counter, name in OPERATIONS.items():
            parts = [stage for stage in self.stages.values() if counter in stage.counters()]
            if parts:
                operations[name] = operations.get(name, 0) + count(counter, *parts)
        sums = [self.stages[block] for block in self.recipe.blocks if kind_of(block) in SUMS]
        if sums:
            operations["add"] = self.job.adders * count("rows", *sums)
        if self.recipe.is_two_pass:
            operations["count"] = operations.get("cluster", operations["scatter"])
        return operations

    def layouts(self) -> Sequence[Place]:
        """Return the layouts of the source's arrays, and of the target's arrays as written so far."""
        return [*self.arrays.layouts, *self.target.layouts()]

    def traffic(self) -> dict[str, Traffic]:
        """Return the bytes read of the source (A) and written of the target (Z), in whole lines."""
        if self.parameters.port.ideal:
            return {
                "A": Traffic(LINE_BYTES * count("lines", self.reader), 0),
                "Z": Traffic(0, LINE_BYTES * count("lines", self.writer)),
            }
        return super().traffic()

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of reading the source and writing the target once, in whole lines."""
        target = self.target.format.packed_bits(self.layout)
        return self.source.line_bytes + sum(-(-bits // LINE_BITS) * LINE_BYTES for bits in target)

    def explained(self) -> str:
        """Return a sentence that names the block with the most busy cycles."""
        statistics = self.kernel.statistics()
        parts = {"read": self.reader, **self.stages, "write": self.writer}
        busy = {name: statistics[part.name].busy for name, part in parts.items()}
        most = max(busy, key=lambda name: busy[name])
        share = busy[most] / max(1, self.kernel.length(self.kernel.clocks[0]))
        return f"The block that works most is {most}, {share:.0%} of the time."

    def progress(self) -> tuple[int, int]:
        """Return the number of words written so far, and of all items of the target (at least 1).

        An item is a word, but a word of a mask has ``MASK_BITS`` items.
        """
        return count("words_taken", self.writer), max(1, sum(int(span.length) for span in self.layout))


OPERATIONS = {  # name of the operation in a report, by the counter of a block
    "divide": "divide",
    "divisions": "divide",
    "multiply": "multiply",
    "compare_exchanges": "compare_exchange",
    "clusters": "cluster",
    "compares": "compare",
    "updates": "count",
    "scattered": "scatter",
}


def _check_words(source: Encoded) -> None:
    """Refuse a tensor whose packed coordinates, or whose number of elements, do not fit in a word."""
    bits = sum(max(1, (size - 1).bit_length()) for size in source.shape)
    if bits > WORD_BITS or math.prod(source.shape) >= 1 << WORD_BITS:
        raise ConfigurationError(
            f"the coordinates of {source.shape} take {bits} bits; a converter's words hold {WORD_BITS}"
        )


def _numbered(port: str) -> str:
    """Return the port for a port name in a recipe: ``rests_2`` is ``rests[0]``, as levels start at 2."""
    name, _, level = port.partition("_")
    return f"{name}[{int(level) - 2}]" if level else name
