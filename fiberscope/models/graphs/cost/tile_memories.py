"""Estimate of the memories of tiles: loads, transfers, accesses, energy and area, without a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fiberscope.models.graphs.cost.expected_streams import ExpectedStream, count_distinct
from fiberscope.models.graphs.loops import Nest
from fiberscope.models.graphs.netlist import Node, Stream
from fiberscope.models.graphs.settings import TileParameters
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.models.graphs.tile_costs import count_reads_by_memory, price_memory
from fiberscope.models.graphs.tiles import TileLoops, check_tile_sizes, format_memory_name
from fiberscope.results.costs.cost import Cost, sum_intervals
from fiberscope.results.report.cost_lines import format_cost_interval
from fiberscope.results.report.table import Table


@dataclass(frozen=True)
class ExpectedMemory:
    """Estimate of one memory of tiles.

    Args:
        name, tensor: name of the memory in a run, without ``graph.``, and its tensor.
        loads: number of tiles that are loaded.
        load_bytes: bytes of these tiles.
        first_arrival: cycle in which the first tile arrives.
        transfer_cycles: cycles that all loads take, without the wait for the first tile.
    """

    name: str
    tensor: str
    loads: float
    load_bytes: float
    first_arrival: float
    transfer_cycles: float


class TileEstimate:
    """Estimate of a graph's memories of tiles and of its restarts.

    Args:
        loops: the loops over tiles.
        parameters: capacity, bandwidth, latency, tiles ahead and restarts.
        tensors: the stored operands, by name.
    """

    def __init__(
        self, loops: TileLoops, parameters: TileParameters, tensors: Mapping[str, StoredTensor]
    ) -> None:
        self.loops, self.parameters, self.tensors = loops, parameters, tensors
        self.memories: dict[tuple[str, str], ExpectedMemory] = {}

    def holds_back_stream(self, stream: Stream) -> bool:
        """Return whether a memory of tiles holds back the tokens of a stream."""
        return self.parameters.capacity > 0 and self.loops.enters_tile(stream)

    def memory(self, stream: Stream, references: ExpectedStream) -> ExpectedMemory:
        """Return the estimate of the memory in a stream of references to tiles.

        Streams of one output share a memory, and the estimate of the first call.

        Args:
            stream: a stream that enters a tile.
            references: its expected references; ignored after the first call for its output.

        Raises:
            InputError: the two largest tiles, or the only tile, do not fit in the memory.
        """
        place = stream.source, stream.output
        if place not in self.memories:
            self.memories[place] = self._estimate(stream, references)
        return self.memories[place]

    def _estimate(self, stream: Stream, references: ExpectedStream) -> ExpectedMemory:
        """Return the estimate of a memory, in which every tile has the mean size of the tensor's tiles."""
        tensor, parameters = self.loops.graph.find_tensor_at(stream), self.parameters
        sizes = check_tile_sizes(self.loops, tensor, self.tensors[tensor], parameters)
        tile_bytes = float(sizes.mean()) if len(sizes) else 0.0
        nest = self.loops.nests[stream.source, stream.output]
        loads = self._estimate_loads(nest, tensor, references, tile_bytes)
        transfer = tile_bytes / parameters.bandwidth if parameters.bandwidth else 0.0
        # up to ``ahead`` loads overlap; transfers share the bandwidth, so a load takes at least its transfer
        each = max(transfer, (parameters.latency + transfer) / parameters.ahead)
        first = parameters.latency + transfer
        return ExpectedMemory(
            format_memory_name(tensor, stream), tensor, loads, loads * tile_bytes, first, loads * each
        )

    def _estimate_loads(
        self, nest: Nest, tensor: str, references: ExpectedStream, tile_bytes: float
    ) -> float:
        """Return the expected number of loads.

        A tile is used again in the next iteration of each loop that does not index its tensor. It is still in
        memory if the tiles of one iteration fit together. The outermost such loop decides: all loops inside
        of it load each tile once.
        """
        indices = self.loops.tile_variables(tensor)
        for depth in range(len(nest)):
            names = [name for place, name in enumerate(nest) if place < depth or name in indices]
            if names == list(nest[: len(names)]):  # each point of the loop around is a tile
                tiles = _find_ancestor(references, len(nest) - len(names)).count
            else:
                tiles = min(count_distinct(references, names), references.count)
            # ``tiles`` counts the tiles of all iterations of the outer loops; the tiles of one must fit
            iterations = _find_ancestor(references, len(nest) - depth).count
            if tiles * tile_bytes <= self.parameters.capacity * iterations:
                return tiles
        return references.count

    def restart_cycles(self, node: Node, streams: Mapping[tuple[str, str], ExpectedStream]) -> float:
        """Return the cycles that a block pauses after tiles.

        Args:
            node: any block.
            streams: expected streams, by node and output.
        """
        inner = None if node.primitive.writes else self.loops.find_inner_output(node)
        if inner is None or not self.parameters.restart:
            return 0.0
        output, nest = inner
        tiles = _find_ancestor(streams[node.name, output], len(nest) - self.loops.count_tile_loops(nest))
        return self.parameters.restart * tiles.count


def _find_ancestor(stream: ExpectedStream, loops: int) -> ExpectedStream:
    """Return the points of the stream that many loops further out; a single point outside of all loops."""
    for _loop in range(loops):
        if stream.parent is None:
            return ExpectedStream(1.0, {})
        stream = stream.parent.points
    return stream


def build_memories_table(
    tiles: TileEstimate, streams: Mapping[tuple[str, str], ExpectedStream], seconds: float
) -> Table:
    """Return a table of the memories: loads, accesses, energy and area, each cost with its interval.

    The table has the memories that ``TileEstimate.memory`` has estimated so far.

    Args:
        tiles: the estimate of the memories.
        streams: expected streams, by node and output.
        seconds: expected length of the run, for leakage.
    """
    table = Table(
        "Memories of tiles (SRAM by CACTI 7 for 45 nm; basis: law)",
        ("memory", "loads", "bytes loaded", "word reads", "accesses, nJ", "leakage, nJ", "area, um2"),
    )
    for row in _iterate_rows(tiles, streams, seconds):
        table.add(*row)
    return table


def _format_interval(cost: Cost, digits: int) -> str:
    return format_cost_interval(cost.lower, cost.upper, lambda value: f"{value:,.{digits}f}")


def _iterate_rows(
    tiles: TileEstimate, streams: Mapping[tuple[str, str], ExpectedStream], seconds: float
) -> Iterator[tuple[str, ...]]:
    """Yield the cells of ``build_memories_table``, a row for each memory."""
    memories = tiles.memories.values()
    reads = count_reads_by_memory(
        tiles.loops, [memory.tensor for memory in memories], lambda node, output: streams[node, output].count
    )
    for memory, count in zip(memories, reads, strict=True):
        costs = price_memory(memory.name, tiles.parameters, count, memory.load_bytes, seconds)
        *accesses, leakage = (item.cost for item in costs.energy)
        # costs are in pJ, the table in nJ
        energies = Cost(*sum_intervals(accesses), leakage.basis).times(1e-3), leakage.times(1e-3)
        yield (
            memory.name,
            *(f"{number:,.0f}" for number in (memory.loads, memory.load_bytes, count)),
            *(_format_interval(energy, 1) for energy in energies),
            *(_format_interval(item.cost, 0) for item in costs.area),
        )
