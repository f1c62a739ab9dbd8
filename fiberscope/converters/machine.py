"""The machine MINT: a reader and a writer of memory, and the blocks of a recipe between them.

The machine is built for one conversion. Some blocks are stages, with one channel for all lanes; others are
chains of units with one channel per lane (see ``lanes``). Source: MINT, Section V.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from fiberscope.accelerators.composition import Composition, PartFactory, count
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.layout import Layout as MemoryLayout
from fiberscope.accelerators.machine import Traffic
from fiberscope.converters.arrays import Source, Target, count_words_on_chip
from fiberscope.converters.blocks import BLOCKS, latency
from fiberscope.converters.configuration import MintParameters
from fiberscope.converters.counters import Counters
from fiberscope.converters.job import Job
from fiberscope.converters.lanes import (
    PARTS,
    ROWS,
    SUMS,
    UNITS,
    UnitChain,
    is_row,
    iterate_unit_chains,
    name_ports,
)
from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.reader import Reader
from fiberscope.converters.recipes import Edge, find_recipe, parse_kind
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
        self.recipe = find_recipe(source.format.name, target.name, len(source.shape), parameters.lanes.chunk)
        self.target = Target(target, source.shape, source.bits, self.layout)
        self.stages: dict[str, Component] = {}
        self._add_reader_and_writer()
        self._add_stages()
        self._connect()
        if not parameters.port.ideal:
            users = [(self.reader, "requests", "replies"), (self.writer, "requests", "")]
            self.add_memory(users, LINE_BYTES)
        self.build()

    def _ports(self, block: str) -> list[str]:
        """Return the distinct ports of the reader or the writer that the recipe uses."""
        if block == READ:
            ports = [edge.output for edge in self.recipe.edges if edge.producer == READ]
        else:
            ports = [edge.input for edge in self.recipe.edges if edge.consumer == WRITE]
        return list(dict.fromkeys(ports))

    def _add_reader_and_writer(self) -> None:
        """Add the reader of the source and the writer of the target."""
        parameters, lanes = self.parameters, self.parameters.lanes
        self.arrays = source = Source(
            self.source,
            lanes=lanes.words,
            chunk=lanes.chunk,
            max_lines=parameters.port.lines,
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
        self.chains = list(iterate_unit_chains(self.recipe, self.job))
        if self.recipe.is_two_pass:
            self.chains.append(Counters.from_recipe(self.recipe, self.job))
        for block in self.recipe.blocks:
            if parse_kind(block) in BLOCKS:
                self.stages[block] = self.add(BLOCKS[parse_kind(block)], block, self.job)
        for chain in self.chains:
            for block in chain.blocks:
                self.stages[block] = self.add(UNITS[parse_kind(block)].part, block, *chain.arguments(block))

    def _connect(self) -> None:
        """Connect the edges of the recipe, and each former with the units that take its constants."""
        chain_of = {block: chain for chain in self.chains for block in chain.blocks}
        for edge in self.recipe.edges:
            if is_row(edge):
                self._connect_rows(edge, chain_of[edge.producer])
            else:
                self._connect_items(edge)
        for chain in self.chains:
            for index, (block, _constant) in enumerate(chain.constants):
                former, unit = self.stages[chain.blocks[0]], self.stages[block]
                port = UNITS[parse_kind(block)].constants
                self.kernel.connect(former, f"{port}[{index}]", unit, port, capacity=ARRAYS)

    def _connect_rows(self, edge: Edge, chain: UnitChain) -> None:
        """Connect an edge that carries rows with one channel per lane."""
        producer, consumer = self.stages[edge.producer], self.stages[edge.consumer]
        output, port = name_ports(edge)
        cycles = self.parameters.wire_latency(parse_kind(edge.producer))
        for lane in range(chain.lanes(edge.producer, edge.output)):
            # All lanes of a row have the same latency, so that a row stays together.
            ends = producer, f"{output}[{lane}]", consumer, f"{port}[{lane}]"
            self.kernel.connect(*ends, capacity=ROWS + cycles, latency=cycles)

    def _connect_items(self, edge: Edge) -> None:
        """Connect an edge that carries items on one channel; the edge ``rests`` is a bypass."""
        cycles = latency(edge.producer, edge.output, self.parameters, self.source.shape)
        producer, output, max_tokens = self._producer(edge)
        consumer, port = self._consumer(edge)
        if parse_kind(edge.input) == "rests" or parse_kind(edge.output) == "rests":
            # The bypass never fills before its chain, so that it does not slow the chain down.
            capacity = max_tokens * self._rows_in_flight(edge.producer)
        else:
            # The most tokens of a cycle, for all cycles of the latency and two further cycles.
            capacity = max_tokens * (cycles + 2)
        self.kernel.connect(producer, output, consumer, port, capacity=capacity, latency=cycles)

    def _rows_in_flight(self, block: str) -> int:
        """Return the largest number of rows in flight from a block to the end of its chain.

        The rests of these rows wait in the bypass.
        """
        chain = next(chain for chain in self.chains if block in chain.blocks)
        remaining = chain.blocks[chain.blocks.index(block) :]
        cycles = [latency(unit, "results", self.parameters, self.source.shape) for unit in remaining]
        return sum(cycles) + ROWS * len(remaining) + 1

    def _producer(self, edge: Edge) -> tuple[Component, str, int]:
        """Return the component at the start of an edge, its port, and the most tokens pushed in a cycle."""
        if edge.producer == READ:
            index, lanes = self.inputs.index(edge.output), self.parameters.lanes
            return self.reader, f"streams[{index}]", 1 + max(lanes.words, lanes.chunk)
        stage = self.stages[edge.producer]
        if isinstance(stage, LaneStage):
            return stage, _index_port(edge.output), stage.beat_tokens
        chain = next(chain for chain in self.chains if edge.producer in chain.blocks)
        return stage, _index_port(edge.output), chain.max_tokens(edge.producer)

    def _consumer(self, edge: Edge) -> tuple[Component, str]:
        if edge.consumer == WRITE:
            return self.writer, f"items[{self.outputs.index(edge.input)}]"
        if edge.consumer == READ:
            return self.reader, edge.input
        return self.stages[edge.consumer], _index_port(edge.input)

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
        sums = [self.stages[block] for block in self.recipe.blocks if parse_kind(block) in SUMS]
        if sums:
            operations["add"] = self.job.adders * count("rows", *sums)
        # Each cluster of equal keys, or each item without clusters, updates a counter.
        if self.recipe.is_two_pass:
            operations["count"] = operations.get("cluster", operations["scatter"])
        return operations

    def layouts(self) -> Sequence[MemoryLayout]:
        """Return the layouts of the source's arrays, and of the target's arrays as written so far."""
        return [*self.arrays.layouts, *self.target.layouts()]

    def traffic(self) -> dict[str, Traffic]:
        """Return the bytes read of the source (A) and written of the target (Z), in whole lines."""
        # An ideal port has no memory that counts the traffic.
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
        busiest = max(busy, key=lambda name: busy[name])
        share = busy[busiest] / max(1, self.kernel.length(self.kernel.clocks[0]))
        return f"The block that works most is {busiest}, {share:.0%} of the time."

    def progress(self) -> tuple[int, int]:
        """Return the number of words written so far, and of all words of the target (at least 1)."""
        return count("words_taken", self.writer), max(1, int(count_words_on_chip(self.layout)))


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


def _index_port(port: str) -> str:
    """Return the port for a port name in a recipe: ``rests_2`` is ``rests[0]``, as levels start at 2."""
    name, _, level = port.partition("_")
    return f"{name}[{int(level) - 2}]" if level else name
