"""A graph as a machine: its blocks in a kernel, its streams as channels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.accelerators.machine import MemoryUse, Traffic
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
from fiberscope.models.graphs.splits import cut_variables
from fiberscope.models.graphs.storage import StoredTensor, of_type, stops_below
from fiberscope.sim import Channel, Component, Kernel
from fiberscope.workloads.canonical import Integers

if TYPE_CHECKING:
    from fiberscope.models.graphs.scratchpad import ScratchpadLoop

__all__ = ["GraphMachine", "block_names", "segments_of"]


class GraphMachine:
    """A machine that runs one phase of a graph.

    Args:
        parameters: clock, capacities, latencies and value type.
        graph: a checked graph.
        tensors: operands by name, in the layout that the graph reads.
        meant: assignments that the graph computes, for the shapes of results.
        sizes: sizes of the index variables.
        phase: number of the phase, from 1; phases run one after another, and only its nodes become blocks.
        kernel: kernel of the machine; by default one with lookahead models of the blocks.
        observe: called with the machine before its kernel is built, to connect more consumers by ``listen``.
    """

    NAME = "graph"
    work = "multiply"  # what a report follows over time

    def __init__(
        self,
        parameters: GraphParameters,
        graph: Graph,
        tensors: Mapping[str, StoredTensor],
        meant: Sequence[Assignment],
        sizes: Mapping[str, int],
        phase: int = 1,
        kernel: Kernel | None = None,
        observe: Callable[[GraphMachine], None] | None = None,
    ) -> None:
        self.parameters, self.kernel = parameters, kernel or AheadKernel()
        self.kernel.clock("core", parameters.clock)
        self.graph, self.meant, self.sizes, self.phase = graph, meant, sizes, phase
        self.nodes = [node for node in graph.nodes.values() if node.phase == phase and not _unused(node)]
        self._capacity, self._latency = parameters.capacity, parameters.latency.model_dump()
        context = Context(
            graph, of_type(parameters.value_type, tensors), parameters.mask, parameters.registered
        )
        names = block_names(self.nodes)
        self.blocks: dict[str, StreamBlock] = {
            node.name: self.kernel.add(node.primitive.make(f"{self.NAME}.{names[node.name]}", node, context))
            for node in self.nodes
        }
        for block in self.blocks.values():
            block.value_type = parameters.value_type
        self._loop = self._scratchpad(parameters)
        self._producers = {
            node.name: self._loop.output_block(node, block) if self._loop else block
            for node, block in zip(self.nodes, self.blocks.values(), strict=True)
        }
        self._consumers: dict[tuple[str, str], int] = {}
        self.droppers: dict[str, StopDropper] = {}  # of stops, by the node behind and its input
        self.channel_of: dict[int, Channel] = {}  # of a stream, by its place in the graph
        for node in self.nodes:
            self._feed_root(node)
        for place, stream in enumerate(graph.streams):
            if stream.source in self.blocks and stream.target in self.blocks:
                self.channel_of[place] = self._connect(stream)
        if self._loop:
            self._loop.close()
        if observe is not None:
            observe(self)
        self.kernel.build()

    def _scratchpad(self, parameters: GraphParameters) -> ScratchpadLoop | None:
        """The memory in the loop, if there is one."""
        scratchpad = parameters.scratchpad
        if not scratchpad.latency:
            return None
        from fiberscope.models.graphs.scratchpad import ScratchpadLoop  # noqa: PLC0415  (memory comes with it)

        return ScratchpadLoop(self.kernel, scratchpad, int(parameters.clock), self._capacity)

    def _feed_root(self, node: Node) -> None:
        """The first block of a tensor gets the reference 0 and the end."""
        fed = self.graph.feeding(node, "ref") is not None
        if node.root or (node.begins and not fed):
            block = self.blocks[node.name]
            root = self.kernel.add(Root(f"{block.name}.root"))
            reader, port = self._entry(node, "in_ref")
            self.kernel.connect(root, "out_ref[0]", reader, port, capacity=self._capacity)

    def _entry(self, node: Node, port: str) -> tuple[Component, str]:
        """Return the end of a stream into a block: the block, or the unit that delays its references."""
        block = self.blocks[node.name]
        fetch = self._loop.before(node, block) if self._loop and port == "in_ref" else None
        if fetch is None:
            return block, port
        self.kernel.connect(fetch, "out_ref[0]", block, port, capacity=self._capacity)
        return fetch, "in_ref"

    def _connect(self, stream: Stream) -> Channel:
        source, target = self.graph.nodes[stream.source], self.graph.nodes[stream.target]
        block, port = self._entry(target, target.primitive.input_port(target, stream.input))
        output = self._next_output(source, stream.output)
        for writer in self._loop.writers(target, self.blocks[target.name]) if self._loop else ():
            more = self._next_output(source, stream.output)
            self._join(source, more, writer, "in_stream")
        if not target.primitive.accumulates:
            return self._join(source, output, block, port)
        carries = VAL if stream.kind == "val" else CRD
        points = self.kernel.add(StopDropper(f"{block.name}.{stream.input}_points", carries))
        self.droppers[f"{target.name}.{stream.input}"] = points
        self.kernel.connect(points, "out_stream[0]", block, port, capacity=self._capacity)
        return self._join(source, output, points, "in_stream")

    def _join(self, source: Node, output: str, reader: Component, port: str) -> Channel:
        """The channel behind a block, which holds what is in flight besides."""
        latency = self._latency.get(source.primitive.computes, 1)
        capacity = None if self._capacity is None else self._capacity + latency - 1
        producer = self._producers[source.name]
        return self.kernel.connect(producer, output, reader, port, capacity=capacity, latency=latency)

    def listen(self, node: Node, output: str, listener: Component, port: str) -> None:
        """One more consumer of an output, which never stalls it."""
        self.kernel.connect(
            self._producers[node.name], self._next_output(node, output), listener, port, capacity=None
        )

    def _next_output(self, source: Node, output: str) -> str:
        """The port for one more consumer of an output."""
        port = source.primitive.output_port(source, output)
        number = self._consumers.get((source.name, port), 0)
        self._consumers[source.name, port] = number + 1
        return f"{port}[{number}]"

    @property
    def blocks_by_phase(self) -> dict[int, list[str]]:
        """The names of the blocks of all phases of the graph, by phase."""
        nodes = [node for node in self.graph.nodes.values() if not _unused(node)]
        names = {
            phase: block_names([node for node in nodes if node.phase == phase]) for phase in self.graph.phases
        }
        return {phase: [f"{self.NAME}.{name}" for name in of.values()] for phase, of in names.items()}

    def operations(self) -> dict[str, int]:
        """Operations of its ALUs, by name."""
        counts = {"multiply": 0}
        for node in self.nodes:
            counters = self.blocks[node.name].counters()
            if "operations" in counters:
                name = node.primitive.counted
                counts[name] = counts.get(name, 0) + counters["operations"]
            if "matches" in counters:
                counts["intersect"] = counts.get("intersect", 0) + counters["matches"]
        return counts

    def traffic(self) -> dict[str, Traffic]:
        """Return no traffic: levels and values are stored in the blocks that read them, not in memory."""
        return {}

    def memory(self) -> MemoryUse | None:
        """Return None: this machine has no memory model."""
        return None

    def traffic_minimum_bytes(self) -> int:
        """Return 0, since this machine has no memory model."""
        return 0

    def progress(self) -> tuple[int, int]:
        """Return the number of writers that are done, and of all."""
        writers = [self.blocks[node.name] for node in self.nodes if node.primitive.writes]
        return sum(block.done for block in writers), len(writers)

    @property
    def cycles(self) -> int:
        """Cycles until the last writer that ends the run took done, as the public simulator counts them.

        A root's reference is seen in the kernel's cycle 1, which is cycle 0 of the public simulator.
        """
        ending = [node for node in self.nodes if node.primitive.writes and node["ends"] != "false"]
        return max((self.blocks[node.name].done_cycle for node in ending), default=0)

    def result(self) -> dict[str, WriterContents]:
        """Return the written tensors, by name."""
        writers = [node for node in self.graph.writers if node.phase == self.phase]
        tensors = dict.fromkeys(node["tensor"] for node in writers)
        return {name: self._written(name, [n for n in writers if n["tensor"] == name]) for name in tensors}

    def _written(self, tensor: str, writers: list[Node]) -> WriterContents:
        by_mode = {int(node["mode"]): node for node in writers if not node.writes_values}
        form = self.graph.format_of(tensor, by_mode.values())
        shape = self._shape(tensor)
        levels: list[Level] = []
        for dimension in form.order:
            levels.append(self._level(by_mode.get(dimension), levels, shape[dimension]))
        values = next((node for node in writers if node.writes_values), None)
        held = None if values is None else np.array(self.blocks[values.name].values, np.float64)  # type: ignore[attr-defined]
        return WriterContents(form, shape, tuple(levels), held)

    def _level(self, node: Node | None, above: list[Level], size: int) -> Level:
        """The level that a writer has written below those above; of all coordinates where there is none."""
        if node is None or not isinstance(node.level, WrittenFormat):
            return DenseLevel(size, above[-1].children if above else 1)
        block = self.blocks[node.name]
        return node.level.written(block, segments_of(block, above), size)

    def _shape(self, tensor: str) -> tuple[int, ...]:
        """Sizes of the dimensions of a result, as it is stored."""
        access = next(
            (assignment.result for assignment in self.meant if assignment.result.tensor == tensor), None
        )
        variables = () if access is None else cut_variables(access.variables, self.graph.splits)
        return tuple(self.sizes[variable] for variable in variables)


def segments_of(block: StreamBlock, above: Sequence[Level]) -> Integers:
    """Return where the fibers of a level begin; the levels above tell which of its stops end fibers.

    Where these are not as many, coordinates were dropped above: then no fiber is empty, and the writer knows.
    """
    stops, fibers = np.array(block.stopped_at, np.int64), stops_below(above)  # type: ignore[attr-defined]
    if block.quirks & Q16 or len(stops) != len(fibers):
        return np.array(block.segments, np.int64)  # type: ignore[attr-defined]
    return np.append(0, stops[fibers])


def _unused(node: Node) -> bool:
    """Writers of all coordinates write nothing: the size says it all."""
    return node.primitive.writes and not node.writes_values and node.level.full


def block_names(nodes: Iterable[Node]) -> dict[str, str]:
    """The names of blocks: what they are; where several are the same, with the node's name."""
    labels = {node.name: re.sub(r"\W+", "_", re.sub(r"\W+$", "", node.label)) for node in nodes}
    counts = Counter(labels.values())
    return {
        name: label if counts[label] == 1 else f"{label}_{re.sub(r'[^0-9A-Za-z]+', '_', name)}"
        for name, label in labels.items()
    }
