"""Energy and area of memories of tiles, from the words that a run accesses or is expected to access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.graphs.primitives.primitive import CRD, REF, VAL
from fiberscope.models.graphs.settings import TileParameters
from fiberscope.models.graphs.tiles import TileLoops, TileMemories
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.prices import price_part
from fiberscope.results.costs.run_costs import DYNAMIC, LEAKAGE, AreaItem, EnergyItem, RunCosts

COSTS = Path(__file__).with_name("costs.yaml")
PART = "TileMemory"  # in ``COSTS``
BITS_PER_BYTE = 8
TokenCount = Callable[[str, str], float]  # number of elements at an output, by the names of node and output


def count_word_reads(loops: TileLoops, tensor: str, tokens: TokenCount) -> float:
    """Return the words of a tensor's tiles that the blocks of the inner graph read.

    A scanner of a compressed level reads a word for each reference (both segments) and for each coordinate, a
    scanner of bit vectors its words, and an array a word for each value. A dense level reads nothing. Blocks
    in the loops over tiles do not count.

    Args:
        loops: the loops over tiles.
        tensor: name of an operand.
        tokens: returns the number of coordinates, references or values at an output.
    """
    nodes = loops.graph.nodes.values()
    inner = (node for node in nodes if node.primitive.reads and node["tensor"] == tensor)
    return sum(
        _count_reads(loops, node, tokens) for node in inner if loops.find_inner_output(node) is not None
    )


def _count_reads(loops: TileLoops, node: Node, tokens: TokenCount) -> float:
    if node.primitive.loads:
        return tokens(node.name, VAL)
    if not node.primitive.scans or node.level.has_all_coordinates:
        return 0.0
    coordinates = tokens(node.name, CRD)
    source = loops.graph.stream_into(node, REF)
    # tokens of a scanner of bit vectors are words; a scanner without a stream of references reads one fiber
    if node.level.is_bit_vector or source is None:
        return coordinates
    return coordinates + tokens(source.source, source.output)


def price_memory(
    name: str, parameters: TileParameters, reads: float, load_bytes: float, seconds: float
) -> RunCosts:
    """Return the energy of a memory's reads, writes and leakage, and its area.

    Args:
        name: name of the memory.
        parameters: capacity in bytes, and bytes of a word.
        reads: words that are read.
        load_bytes: bytes of the loaded tiles, which are written word by word.
        seconds: length of the run.
    """
    attributes = {"capacity": parameters.capacity, "word": BITS_PER_BYTE * parameters.value_bytes}
    part = price_part(read_cost_file(COSTS), PART, attributes)
    assert part is not None  # the attributes are complete
    counts = {"word_reads": reads, "word_writes": load_bytes / parameters.value_bytes}
    dynamic = [
        EnergyItem(name, key, DYNAMIC, part.actions[key].times(count)) for key, count in counts.items()
    ]
    # W times seconds gives J, of 1e12 pJ
    leakage = EnergyItem(name, LEAKAGE, LEAKAGE, part.leakage.times(seconds * 1e12))
    return RunCosts([*dynamic, leakage], [AreaItem(name, area, cost) for area, cost in part.areas.items()])


def price_memories(
    memories: TileMemories, blocks: Mapping[str, StreamBlock], seconds: float, prefix: str
) -> list[RunCosts]:
    """Return the costs of each memory of a run.

    Args:
        memories: the memories, after the run.
        blocks: the blocks of the graph, by node.
        seconds: length of the run.
        prefix: first part of the names of the memories in the result.
    """
    nodes = memories.loops.graph.nodes

    def tokens(name: str, output: str) -> int:
        port = nodes[name].primitive.output_port(nodes[name], output)
        return blocks[name].counters()[f"{port}_data"]

    # ``read_bytes`` of a memory: bytes that it reads from the main memory, and writes into its own words
    built = list(memories.memories.values())
    reads = count_reads_by_memory(memories.loops, [tensor for tensor, _memory in built], tokens)
    return [
        price_memory(
            prefix + memory.name.partition(".")[2], memories.parameters, count, memory.read_bytes, seconds
        )
        for count, (_tensor, memory) in zip(reads, built, strict=True)
    ]


def count_reads_by_memory(loops: TileLoops, tensors: Sequence[str], tokens: TokenCount) -> list[float]:
    """Return the words that are read from each memory; memories of one tensor have equal shares.

    Args:
        loops, tokens: as for ``count_word_reads``.
        tensors: the tensor of each memory.
    """
    return [count_word_reads(loops, tensor, tokens) / tensors.count(tensor) for tensor in tensors]
