"""Estimate the tokens of every stream of a graph, from statistics of its tensors and without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
from fiberscope.models.graphs.cost.statistics import LevelStatistics, TensorStatistics
from fiberscope.models.graphs.cost.tile_memories import TileEstimate
from fiberscope.models.graphs.loops import Nests
from fiberscope.models.graphs.nests import derive_nests, topological_order
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.results.report.table import Table


class InestimableError(ValueError):
    """A block of the graph has no estimate; the message names the block."""


@dataclass(frozen=True)
class Estimate:
    """Estimate of a graph's run, without stalls.

    Args:
        streams: expected streams, by node and output.
        work: by name of a node, a number that approximates the block's cycles: the largest number of tokens
            at a port, or more if the block needs further cycles, as an expander of bit vectors does. The
            pauses after tiles are included.
        cycles: expected cycles of all phases. A block ends at least one cycle after its producers, and not
            before its work is done. An accumulator that sends after its last input adds its output tokens.
        tiles: estimate of the memories of tiles; None without memories and restarts.
    """

    streams: Mapping[tuple[str, str], ExpectedStream]
    work: Mapping[str, float]
    cycles: float
    tiles: TileEstimate | None = None

    @property
    def tokens(self) -> float:
        """Return the number of tokens of all streams."""
        return sum(stream.tokens for stream in self.streams.values())

    @property
    def busiest(self) -> str:
        """Return the name of the node with the most work; this work is a lower bound of ``cycles``."""
        return max(self.work, key=self.work.__getitem__)


def estimate(
    graph: Graph, statistics: Mapping[str, TensorStatistics], tiles: TileEstimate | None = None
) -> Estimate:
    """Estimate the tokens of a graph.

    Args:
        graph: a checked graph.
        statistics: statistics of the operands, by name; statistics of written tensors are estimated.
        tiles: estimate of memories of tiles and restarts; None without them.

    Raises:
        InestimableError: a block has no estimate.
        InputError: the two largest tiles of a tensor, or its only tile, do not fit in a memory.
    """
    walk = Walk(graph, statistics, tiles)
    cycles = 0.0
    # phases run one after another, so their cycles add up; a phase lasts until its last block ends
    for phase in graph.phases:
        nodes = [node for node in topological_order(graph) if node.phase == phase]
        for node in nodes:
            walk.visit(node)
        cycles += max(walk.ends[node.name] for node in nodes)
        walk.take_results([node for node in nodes if node.primitive.writes])
    return Estimate(walk.streams, walk.work, cycles, tiles)


class Walk:
    """Walk along the streams, which visits a block after all blocks that feed it."""

    def __init__(
        self, graph: Graph, statistics: Mapping[str, TensorStatistics], tiles: TileEstimate | None = None
    ) -> None:
        self.graph, self.statistics, self.tiles = graph, dict(statistics), tiles
        self.nests: Nests = derive_nests(graph)
        self.streams: dict[tuple[str, str], ExpectedStream] = {}
        self.bits: dict[str, ExpectedStream] = {}  # coordinates in bit-vector words, by their producer
        self.work: dict[str, float] = {}
        self.starts: dict[str, float] = {}  # cycle in which the first tile arrives at a block
        self.ends: dict[str, float] = {}

    def visit(self, node: Node) -> None:
        """Estimate the outputs and the end of a block; all blocks that feed it have been visited."""
        inputs = {
            stream.input: self.streams[stream.source, stream.output]
            for stream in self.graph.list_streams_into(node)
            if stream.input != "skip"
        }
        outputs = node.primitive.estimate(self, node, inputs)
        self.streams.update({(node.name, output): stream for output, stream in outputs.items()})
        largest = max(stream.tokens for stream in (*outputs.values(), *inputs.values()))
        restarts = self.tiles.restart_cycles(node, self.streams) if self.tiles else 0.0
        # ``estimate`` of the node type may have set ``work`` already
        self.work[node.name] = max(largest, self.work.get(node.name, 0.0)) + restarts
        self.starts[node.name], last_input = self._find_inputs(node)
        last_tokens = node.primitive.tokens_after_input(node, outputs)
        self.ends[node.name] = max(
            self.starts[node.name] + self.work[node.name], last_input + 1 + last_tokens
        )

    def _find_inputs(self, node: Node) -> tuple[float, float]:
        """Return the start of a block and the cycle of its last input, through memories of tiles."""
        starts, ends = [0.0], [0.0]
        for stream in self.graph.list_streams_into(node):
            if stream.input == "skip":
                continue
            start, end = self.starts[stream.source], self.ends[stream.source]
            if self.tiles and self.tiles.holds_back_stream(stream):
                memory = self.tiles.memory(stream, self.streams[stream.source, stream.output])
                start += memory.first_arrival
                # the last token leaves a cycle after its arrival, and after the last of all loads
                end = max(end + 1, start + memory.transfer_cycles)
            starts.append(start)
            ends.append(end)
        return max(starts), max(ends)

    def take_results(self, writers: Sequence[Node]) -> None:
        """Estimate the statistics of written tensors, for later phases.

        A tensor without a declared format, or with a dimension without a writer, gets no statistics.

        Args:
            writers: the writers of a phase; their inputs have been visited.
        """
        for tensor in dict.fromkeys(node["tensor"] for node in writers):
            format = self.graph.formats.get(tensor)
            levels = {int(n["mode"]): n for n in writers if n["tensor"] == tensor and not n.writes_values}
            if format is not None and sorted(levels) == sorted(format.order):
                level_statistics = tuple(
                    self._level_statistics(levels, format.order[: 1 + level]) for level in range(len(levels))
                )
                self.statistics[tensor] = TensorStatistics(format, level_statistics)

    def _level_statistics(self, writers: Mapping[int, Node], dimensions: Sequence[int]) -> LevelStatistics:
        """Return the level of the last of these dimensions, from its coordinate stream."""
        writer = writers[dimensions[-1]]
        # for bit vectors, the coordinates are those that enter the packer before the writer
        word_stream = self.graph.stream_into(writer, "bv")
        stream = self.graph.stream_into(
            self.graph.nodes[word_stream.source] if word_stream else writer, "crd"
        )
        assert stream is not None
        crd = self.streams[stream.source, stream.output]
        spread = {dimension: crd.spread[writers[dimension]["index"]] for dimension in dimensions}
        return LevelStatistics(len(spread[dimensions[-1]]), crd.count, crd.filled, spread)

    def list_joined_streams(self, node: Node) -> list[ExpectedStream]:
        """Return the distinct coordinate streams that a joiner compares."""
        crds = {
            (stream.source, stream.output)
            for stream in self.graph.list_streams_into(node)
            if stream.input.startswith("crd")
        }
        # sorted, since the order of a set differs between runs and rounding depends on it
        return [self.streams[crd] for crd in sorted(crds)]

    def refuse(self, node: Node) -> NoReturn:
        """Refuse a block.

        Raises:
            InestimableError: always.
        """
        raise InestimableError(f"{node} makes a stream that cannot be estimated")


def describe_cost(graph: Graph, expected: Estimate) -> str:
    """Describe the expected total, and the block with the most work."""
    return (
        f"Expected: {expected.tokens:,.0f} tokens, about {expected.cycles:,.0f} cycles, most of them of "
        f"{graph.nodes[expected.busiest]} (a guess from statistics, not a run)"
    )


def build_cost_table(graph: Graph, expected: Estimate) -> Table:
    """Return a table of the expected tokens of each stream.

    Args:
        graph: the graph, for the names of blocks.
        expected: its estimate.
    """
    table = Table("Expected tokens", ("stream", "data", "stops", "empties"))
    for (name, output), stream in expected.streams.items():
        counts = (stream.count, stream.stops, stream.missing)
        table.add(f"{graph.nodes[name].label} {output}", *(f"{count:,.0f}" for count in counts))
    return table
