"""Machine of a graph: the blocks as components of a kernel, the streams as channels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.base.errors import InputError
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.block_lookahead import AheadKernel
from fiberscope.hw.streams.droppers import StopDropper
from fiberscope.hw.streams.quirks import Q16
from fiberscope.hw.streams.root import Root
from fiberscope.hw.streams.tokens import CRD, VAL
from fiberscope.models.graphs.blocks import Context
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.levels.dense import DenseLevel
from fiberscope.models.graphs.levels.level import Level, WrittenFormat
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.result import WriterContents
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.models.graphs.splits import split_variables
from fiberscope.models.graphs.storage import StoredTensor, iterate_stops_below, round_values
from fiberscope.sim import Channel, Component, Kernel
from fiberscope.workloads.canonical import Integers

if TYPE_CHECKING:
    from fiberscope.models.graphs.scratchpad import ScratchpadLoop
    from fiberscope.models.graphs.tiles import TileMemories
    from fiberscope.results.costs.run_costs import RunCosts


class GraphMachine:
    """A machine that runs one phase of a graph.

    Args:
        parameters: clock, capacities, latencies and value type.
        graph: a checked graph.
        tensors: operands, and results of earlier phases, by name, in the layout of the graph.
        assignments: assignments that the graph computes, for the shapes of results.
        sizes: sizes of the index variables.
        phase: number of the phase, from 1; only the nodes of this phase become blocks.
        kernel: kernel of the machine; by default a kernel with lookahead models of the blocks.
        observe: called with the machine before its kernel is built, to connect more consumers by ``listen``.

    Attributes:
        nodes: the nodes of the phase that have a block.
        blocks: the block of each node, by name of the node.
        droppers: the blocks that remove stops before an accumulator, by ``node.input`` of the accumulator.
        channel_of: channel of each stream of the phase, by the stream's index in ``graph.streams``.
    """

    NAME = "graph"
    work = "multiply"  # operation that the timeline of a report counts

    def __init__(
        self,
        parameters: GraphParameters,
        graph: Graph,
        tensors: Mapping[str, StoredTensor],
        assignments: Sequence[Assignment],
        sizes: Mapping[str, int],
        phase: int = 1,
        kernel: Kernel | None = None,
        observe: Callable[[GraphMachine], None] | None = None,
    ) -> None:
        self.parameters, self.kernel = parameters, kernel or AheadKernel()
        self.kernel.clock("core", parameters.clock)
        self.graph, self.assignments, self.sizes, self.phase = graph, assignments, sizes, phase
        self.nodes = [
            node for node in graph.nodes.values() if node.phase == phase and not _is_unnecessary(node)
        ]
        self._capacity, self._latency = parameters.capacity, parameters.latency.model_dump()
        context = Context(
            graph, round_values(parameters.value_type, tensors), parameters.mask, parameters.registered
        )
        names = block_names(self.nodes)
        self.blocks: dict[str, StreamBlock] = {
            node.name: self.kernel.add(node.primitive.build(f"{self.NAME}.{names[node.name]}", node, context))
            for node in self.nodes
        }
        for block in self.blocks.values():
            block.value_type = parameters.value_type
        self._loop = self._build_scratchpad(parameters)
        self._tiles = self._tile_memories(parameters, context.tensors)
        self._producers = {
            node.name: self._loop.find_output_block(node, block) if self._loop else block
            for node, block in zip(self.nodes, self.blocks.values(), strict=True)
        }
        self._consumers: dict[tuple[str, str], int] = {}  # consumers of each output so far, each with a port
        self.droppers: dict[str, StopDropper] = {}
        self.channel_of: dict[int, Channel] = {}
        for node in self.nodes:
            self._feed_root(node)
        for number, stream in enumerate(graph.streams):
            if stream.source in self.blocks and stream.target in self.blocks:
                self.channel_of[number] = self._connect(stream)
        if self._loop:
            self._loop.close()  # after the connections, whose units it connects to the scratchpad
        if observe is not None:
            observe(self)
        self.kernel.build()
        if self._tiles and parameters.tiles.restart:
            self._tiles.restart_blocks(self.blocks)  # after ``build``, which adds the output streams

    def _build_scratchpad(self, parameters: GraphParameters) -> ScratchpadLoop | None:
        """Return the scratchpad of the graph; None without a scratchpad."""
        scratchpad = parameters.scratchpad
        if not scratchpad.latency:
            return None
        from fiberscope.models.graphs.scratchpad import ScratchpadLoop  # noqa: PLC0415  (imports the memory model)

        return ScratchpadLoop(self.kernel, scratchpad, int(parameters.clock), self._capacity)

    def _tile_memories(
        self, parameters: GraphParameters, tensors: Mapping[str, StoredTensor]
    ) -> TileMemories | None:
        """Return the memories of tiles; None if the settings ask for nothing at tiles."""
        tiles = parameters.tiles
        if not tiles.is_used:
            return None
        from fiberscope.models.graphs.tiles import TileMemories, tile_loops  # noqa: PLC0415  (needed for tiles only)

        return TileMemories(tile_loops(self.graph, tiles), tiles, tensors)

    def _feed_root(self, node: Node) -> None:
        """Feed the reference 0 and done to a block that starts at a root; leave other blocks as they are."""
        has_reference = self.graph.stream_into(node, "ref") is not None
        if node.root or (node.starts_at_root and not has_reference):
            block = self.blocks[node.name]
            root = self.kernel.add(Root(f"{block.name}.root"))
            reader, port = self._find_entry(node, "in_ref")
            self.kernel.connect(root, "out_ref[0]", reader, port, capacity=self._capacity)

    def _find_entry(self, node: Node, port: str) -> tuple[Component, str]:
        """Return the component and port that receive a stream: the block, or its fetch unit."""
        block = self.blocks[node.name]
        fetch = self._loop.add_input_fetch(node, block) if self._loop and port == "in_ref" else None
        if fetch is None:
            return block, port
        self.kernel.connect(fetch, "out_ref[0]", block, port, capacity=self._capacity)
        return fetch, "in_ref"

    def _connect(self, stream: Stream) -> Channel:
        """Add the channel of a stream and return it; before an accumulator, add a block that drops stops."""
        source, target = self.graph.nodes[stream.source], self.graph.nodes[stream.target]
        block, port = self._find_entry(target, target.primitive.input_port(target, stream.input))
        if self._tiles and self._tiles.holds_back_stream(stream):
            return self._connect_tiles(source, stream, block, port)
        output = self._take_next_output(source, stream.output)
        for writer in self._loop.writers(target, self.blocks[target.name]) if self._loop else ():
            # the units that write to the scratchpad see the stream in parallel with the writer block
            tap = self._take_next_output(source, stream.output)
            self._join(source, tap, writer, "in_stream")
        if not target.primitive.accumulates:
            return self._join(source, output, block, port)
        carries = VAL if stream.kind == "val" else CRD
        points = self.kernel.add(StopDropper(f"{block.name}.{stream.input}_points", carries))
        self.droppers[f"{target.name}.{stream.input}"] = points
        self.kernel.connect(points, "out_stream[0]", block, port, capacity=self._capacity)
        return self._join(source, output, points, "in_stream")

    def _connect_tiles(self, source: Node, stream: Stream, reader: Component, port: str) -> Channel:
        """Connect the memory of an operand's tiles to a consumer of their references."""
        assert self._tiles is not None
        memory = self._tiles.memory(stream)
        # the consumers of an output share one memory, as they name the same tiles
        if memory is None:
            memory = self.kernel.add(self._tiles.build(stream))
            self._join(source, self._take_next_output(source, stream.output), memory, "in_ref")
        output, capacity = self._tiles.take_next_output(stream), memory.OUTPUT_CAPACITY
        return self.kernel.connect(memory, output, reader, port, capacity=capacity)

    def _join(self, source: Node, output: str, reader: Component, port: str) -> Channel:
        """Connect a producer to a consumer; the capacity includes the tokens in flight."""
        latency = self._latency.get(source.primitive.latency_setting, 1)
        capacity = None if self._capacity is None else self._capacity + latency - 1
        producer = self._producers[source.name]
        return self.kernel.connect(producer, output, reader, port, capacity=capacity, latency=latency)

    def listen(self, node: Node, output: str, listener: Component, port: str) -> None:
        """Connect an additional consumer to an output; the consumer never stalls the output.

        Call this method only in ``observe``: the kernel accepts no connection after it is built.

        Args:
            node: node whose block has the output.
            output: name of the output in the graph.
            listener: the consumer, a component of the same kernel.
            port: input port of the consumer.
        """
        self.kernel.connect(
            self._producers[node.name], self._take_next_output(node, output), listener, port, capacity=None
        )

    def _take_next_output(self, source: Node, output: str) -> str:
        """Return the port for the next consumer of an output."""
        port = source.primitive.output_port(source, output)
        number = self._consumers.get((source.name, port), 0)
        self._consumers[source.name, port] = number + 1
        return f"{port}[{number}]"

    @property
    def blocks_by_phase(self) -> dict[int, list[str]]:
        """Return the names of all blocks of the graph, by phase."""
        nodes = [node for node in self.graph.nodes.values() if not _is_unnecessary(node)]
        names = {
            phase: block_names([node for node in nodes if node.phase == phase]) for phase in self.graph.phases
        }
        return {
            phase: [f"{self.NAME}.{name}" for name in by_node.values()] for phase, by_node in names.items()
        }

    def operations(self) -> dict[str, int]:
        """Return the number of operations so far, by name; ``multiply`` is always present."""
        counts = {"multiply": 0}
        for node in self.nodes:
            counters = self.blocks[node.name].counters()
            if "operations" in counters:
                name = node.primitive.operation_name
                counts[name] = counts.get(name, 0) + counters["operations"]
            if "matches" in counters:
                counts["intersect"] = counts.get("intersect", 0) + counters["matches"]
        return counts

    def traffic(self) -> dict[str, Traffic]:
        """Return the loads of tiles by tensor; a scratchpad counts no traffic."""
        return self._tiles.traffic() if self._tiles else {}

    def tile_costs(self, seconds: float, prefix: str) -> list[RunCosts]:
        """Return the energy and area of each memory of tiles, after a run; see ``price_memories``."""
        if self._tiles is None:
            return []
        from fiberscope.models.graphs.tile_costs import price_memories  # noqa: PLC0415  (needed for tiles only)

        return price_memories(self._tiles, self.blocks, seconds, prefix)

    def memory(self) -> MemoryUse | None:
        """Return None: a report of a graph has no statistics of DRAM, also not with a scratchpad."""
        return None

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of the tiles that were loaded, each counted once; 0 without memories of tiles."""
        return self._tiles.minimum_bytes if self._tiles else 0

    def progress(self) -> tuple[int, int]:
        """Return the number of finished writers, and of all writers."""
        writers = [self.blocks[node.name] for node in self.nodes if node.primitive.writes]
        return sum(block.done for block in writers), len(writers)

    @property
    def cycles(self) -> int:
        """Return the cycle in which the last writer that ends the run receives done.

        Cycles count as in the public simulator, whose cycle 0 is cycle 1 of the kernel. A writer with
        ``ends=false`` does not count.
        """
        ending = [node for node in self.nodes if node.primitive.writes and node["ends"] != "false"]
        return max((self.blocks[node.name].done_cycle for node in ending), default=0)

    def result(self) -> dict[str, WriterContents]:
        """Return the contents of the writers, by tensor; call this method after the run."""
        writers = [node for node in self.graph.writers if node.phase == self.phase]
        tensors = dict.fromkeys(node["tensor"] for node in writers)
        return {
            name: self._collect_writer_contents(name, [n for n in writers if n["tensor"] == name])
            for name in tensors
        }

    def _collect_writer_contents(self, tensor: str, writers: list[Node]) -> WriterContents:
        """Return the contents of the writers of a tensor; a dimension without a writer has a dense level."""
        by_mode = {int(node["mode"]): node for node in writers if not node.writes_values}
        format = self.graph.format_of(tensor, by_mode.values())
        shape = self._shape(
            tensor, [by_mode[mode]["index"] if mode in by_mode else "" for mode in sorted(format.order)]
        )
        levels: list[Level] = []
        for dimension in format.order:
            levels.append(self._level(by_mode.get(dimension), levels, shape[dimension]))
        values = next((node for node in writers if node.writes_values), None)
        values_array = None if values is None else np.array(self.blocks[values.name].values, np.float64)  # type: ignore[attr-defined]
        return WriterContents(format, shape, tuple(levels), values_array)

    def _level(self, node: Node | None, above: list[Level], size: int) -> Level:
        """Return the level that a writer wrote; a dense level for a dimension without a writer."""
        if node is None or not isinstance(node.level, WrittenFormat):
            return DenseLevel(size, above[-1].children if above else 1)
        block = self.blocks[node.name]
        return node.level.read_writer(block, extract_segments(block, above), size)

    def _shape(self, tensor: str, writer_variables: Sequence[str]) -> tuple[int, ...]:
        """Return the sizes of the stored dimensions of a result.

        Args:
            tensor: name of the result.
            writer_variables: the index variable of each dimension's writer, which counts if no expression can
                be read; empty for a dimension without a writer.

        Raises:
            InputError: no expression can be read, and no operand has the variable of a dimension.
        """
        access = next(
            (assignment.result for assignment in self.assignments if assignment.result.tensor == tensor), None
        )
        if access is not None:
            return tuple(self.sizes[name] for name in split_variables(access.variables, self.graph.splits))
        for dimension, variable in enumerate(writer_variables):
            if variable not in self.sizes:
                raise InputError(
                    f"no expression can be read from the graph, so dimension {dimension} of {tensor} has no "
                    "size; give its writer the index of a fiberlookup"
                )
        return tuple(self.sizes[variable] for variable in writer_variables)


def extract_segments(block: StreamBlock, outer_levels: Sequence[Level]) -> Integers:
    """Return the segments of a written level; the levels above determine which stop tokens end fibers.

    If the numbers of stops and fibers differ, a dropper has removed coordinates above. The level then has no
    empty fibers, and the writer's own segments are correct.

    Args:
        block: the writer, after the run.
        outer_levels: the written levels above, outermost first.
    """
    stops, fibers = np.array(block.stopped_at, np.int64), iterate_stops_below(outer_levels)  # type: ignore[attr-defined]
    # with Q16 the writer forgets empty fibers, and its segments are the result to reproduce
    if block.quirks & Q16 or len(stops) != len(fibers):
        return np.array(block.segments, np.int64)  # type: ignore[attr-defined]
    # a fiber ends where its stop came: ``stopped_at`` has the number of elements before each stop
    return np.append(0, stops[fibers])


def _is_unnecessary(node: Node) -> bool:
    """Return whether a node is a writer of a dense level, for which there is nothing to write."""
    return node.primitive.writes and not node.writes_values and node.level.has_all_coordinates


def block_names(nodes: Iterable[Node]) -> dict[str, str]:
    """Return the block names by node: the label, extended by the node's name if the label is not unique."""
    # punctuation at the end is left out, other punctuation becomes an underscore
    labels = {node.name: re.sub(r"\W+", "_", re.sub(r"\W+$", "", node.label)) for node in nodes}
    counts = Counter(labels.values())
    return {
        name: label if counts[label] == 1 else f"{label}_{re.sub(r'[^0-9A-Za-z]+', '_', name)}"
        for name, label in labels.items()
    }
