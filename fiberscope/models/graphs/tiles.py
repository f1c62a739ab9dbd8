"""Tiles of a graph: the memories of tiles between the loops over tiles and the inner graph, and restarts.

A tile is the part of an operand for one iteration of the loops over tiles. A memory holds back the reference
to a tile until the tile is loaded. After each tile, a block of the inner graph can pause for some cycles: it
restarts.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fiberscope.accelerators.machine import Traffic
from fiberscope.base.errors import InputError
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.tile_memory import TileMemory
from fiberscope.models.graphs.loops import Nest, Nests
from fiberscope.models.graphs.nests import derive_nests
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.primitives.primitive import REF
from fiberscope.models.graphs.settings import TileParameters
from fiberscope.models.graphs.splits import name_parts
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.workloads.canonical import Integers


@dataclass(frozen=True)
class TileLoops:
    """The loops over tiles of a graph; the blocks inside of these loops are the inner graph.

    Args:
        graph: the graph, checked.
        variables: index variables of the loops.
    """

    graph: Graph
    variables: frozenset[str]

    @cached_property
    def nests(self) -> Nests:
        """Return the loop nests of all streams."""
        return derive_nests(self.graph)

    def count_tile_loops(self, nest: Nest) -> int:
        """Return the number of loops over tiles around a stream."""
        return sum(variable in self.variables for variable in nest)

    def check(self) -> None:
        """Refuse variables without a loop, loops over tiles inside of other loops, and divided tiles.

        Raises:
            InputError: the loops are not the outermost loops of the graph, or one of them is parallelized.
        """
        loops = list(dict.fromkeys(variable for nest in self.nests.values() for variable in nest))
        unknown = sorted(self.variables - set(loops))
        if unknown:
            raise InputError(
                f"tiles.loops: the graph has no loop {', '.join(unknown)}; its loops are {','.join(loops)}"
            )
        for nest in self.nests.values():
            depth = self.count_tile_loops(nest)
            # the ``depth`` loops over tiles around a stream must be its ``depth`` outermost loops
            if not self.variables.issuperset(nest[:depth]):
                raise InputError(
                    f"tiles.loops: {','.join(sorted(self.variables))} should be the outermost loops; "
                    f"a stream has the loops {','.join(nest)}"
                )
        for stream in filter(self.enters_tile, self.graph.streams):
            if not self.graph.find_tensor_at(stream):
                raise InputError(
                    f"tiles.capacity: {stream.source} divides references to tiles among copies of blocks, "
                    "which have no memories of tiles; compile without --parallelize of a loop over tiles"
                )

    def find_inner_output(self, node: Node) -> tuple[str, Nest] | None:
        """Return the output of a block with the most loops, and its nest; None for a block outside of tiles.

        A block is inside of tiles if that output has a loop which is no loop over tiles.
        """
        outputs = {output: nest for (name, output), nest in self.nests.items() if name == node.name}
        # a writer has no output, and a block that no root reaches has no nest
        if not outputs:
            return None
        output = max(outputs, key=lambda name: len(outputs[name]))
        nest = outputs[output]
        return (output, nest) if len(nest) > self.count_tile_loops(nest) else None

    def enters_tile(self, stream: Stream) -> bool:
        """Return whether a stream carries the references to tiles from the outer loops to the inner graph.

        Such a stream lies in all loops over tiles and in no other loop.
        """
        nest = self.nests.get((stream.source, stream.output))
        target = self.graph.nodes[stream.target]
        return (
            stream.kind == REF
            and nest is not None
            and self.count_tile_loops(nest) == len(nest) == len(self.variables)
            and self.find_inner_output(target) is not None
        )

    def count_outer_levels(self, tensor: StoredTensor, name: str) -> int:
        """Return the number of levels of a tensor that the outer loops scan."""
        dimensions = {int(node["mode"]) for node in self._list_outer_scanners(name)}
        return sum(dimension in dimensions for dimension in tensor.format.order)

    def tile_variables(self, name: str) -> set[str]:
        """Return the index variables of the outer loops that choose a tile of a tensor."""
        return {node["index"] for node in self._list_outer_scanners(name)}

    def _list_outer_scanners(self, name: str) -> list[Node]:
        """Return the nodes that scan levels of a tensor outside of its tiles."""
        return [
            node
            for node in self.graph.nodes.values()
            if node.primitive.position_output
            and node["tensor"] == name
            and self.find_inner_output(node) is None
        ]


def tile_loops(graph: Graph, parameters: TileParameters) -> TileLoops:
    """Return the loops over tiles of a graph.

    Args:
        graph: a checked graph.
        parameters: names the loops; without names, the loops over chunks of split variables are taken.

    Raises:
        InputError: the loops are unknown, or are not the outermost loops; or none is named, and the graph
            splits no variable.
    """
    variables = parameters.variables or [name_parts(variable)[0] for variable in graph.splits]
    if not variables:
        raise InputError(
            "tiles.loops is auto, and the graph has no split loops; name the loops over tiles, as in "
            "tiles.loops=a,b"
        )
    loops = TileLoops(graph, frozenset(variables))
    loops.check()
    return loops


def tile_sizes(tensor: StoredTensor, outer_levels: int, parameters: TileParameters) -> Integers:
    """Return the bytes of each tile of a tensor: its inner levels and its values.

    Args:
        tensor: the stored tensor.
        outer_levels: number of levels that the loops over tiles scan; each position of the last one is a
            tile. With 0, the whole tensor is a tile.
        parameters: bytes of coordinates and values.
    """
    count = tensor.levels[outer_levels - 1].children if outer_levels else 1
    bounds = np.arange(count + 1)  # first fiber of each tile, in the level
    sizes = np.zeros(count, np.int64)
    for level, format in zip(tensor.levels[outer_levels:], tensor.format.levels[outer_levels:], strict=True):
        # the number of children before a tile is the number of its first fiber in the next level
        children = np.append(0, np.cumsum(level.counts))[bounds]
        sizes += format.count_stored_bytes(level, np.diff(bounds), np.diff(children), parameters)
        bounds = children
    sizes += np.diff(bounds) * parameters.value_bytes
    return sizes


def check_tile_sizes(
    loops: TileLoops, name: str, tensor: StoredTensor, parameters: TileParameters
) -> Integers:
    """Return the bytes of each tile of a tensor that has a memory.

    Args:
        loops: the loops over tiles.
        name, tensor: the name of the tensor, and the stored tensor.
        parameters: capacity of the memory, bytes of coordinates and values.

    Raises:
        InputError: the two largest tiles, or the only tile, do not fit in the memory.
    """
    sizes = tile_sizes(tensor, loops.count_outer_levels(tensor, name), parameters)
    # the tile in use stays while the next one is loaded, and any two tiles can follow each other
    least = int(np.sort(sizes)[-2:].sum())
    if least > parameters.capacity:
        raise InputError(
            f"tiles.capacity is {parameters.capacity:,} B; it should be at least {least:,} B, for the "
            f"two largest tiles of {name}"
        )
    return sizes


def format_memory_name(tensor: str, stream: Stream) -> str:
    """Return the name of the memory that holds back a stream of references to tiles of a tensor."""
    source = f"{stream.source}{stream.output.removeprefix(REF)}"
    return re.sub(r"[^0-9A-Za-z]+", "_", f"tiles_{tensor}_{source}").rstrip("_")


def find_memory_names(graph: Graph, parameters: TileParameters | None) -> Callable[[Stream], str | None]:
    """Return a function that names the memory of tiles in a stream; None for a stream without one.

    Args:
        parameters: the settings of tiles; None, or a capacity of 0, for a graph without memories of tiles.

    Raises:
        InputError: as of ``tile_loops``.
    """
    if parameters is None or not parameters.capacity:
        return lambda stream: None
    loops = tile_loops(graph, parameters)
    return lambda stream: (
        format_memory_name(graph.find_tensor_at(stream), stream) if loops.enters_tile(stream) else None
    )


class TileMemories:
    """The memories of a graph's tiles, one for each operand and each stream of references to its tiles.

    Args:
        loops: the loops over tiles.
        parameters: capacity, bandwidth, latency, tiles ahead and restarts.
        tensors: the stored operands, by name.

    Attributes:
        memories: tensor and memory of each output with references to tiles, by node and output.
    """

    def __init__(
        self, loops: TileLoops, parameters: TileParameters, tensors: Mapping[str, StoredTensor]
    ) -> None:
        self.loops, self.parameters, self.tensors = loops, parameters, tensors
        self.memories: dict[tuple[str, str], tuple[str, TileMemory]] = {}
        self._consumers: Counter[tuple[str, str]] = Counter()

    def holds_back_stream(self, stream: Stream) -> bool:
        """Return whether a memory of tiles holds back the tokens of a stream."""
        return self.parameters.capacity > 0 and self.loops.enters_tile(stream)

    def memory(self, stream: Stream) -> TileMemory | None:
        """Return the memory that was built for the output at which a stream begins, or None."""
        return self.memories.get((stream.source, stream.output), ("", None))[1]

    def take_next_output(self, stream: Stream) -> str:
        """Return the port of the memory for the next consumer of a stream; each call returns another port."""
        self._consumers[stream.source, stream.output] += 1
        return f"out_ref[{self._consumers[stream.source, stream.output] - 1}]"

    def build(self, stream: Stream) -> TileMemory:
        """Build the memory of the tiles that a stream of references names, and register it for ``memory``.

        Args:
            stream: a stream that enters a tile; call this once for each output at which such streams begin.

        Raises:
            InputError: the two largest tiles, or the only tile, do not fit in the memory.
        """
        tensor, parameters = self.loops.graph.find_tensor_at(stream), self.parameters
        sizes = check_tile_sizes(self.loops, tensor, self.tensors[tensor], parameters)
        memory = TileMemory(
            f"graph.{format_memory_name(tensor, stream)}",
            memoryview(array("q", sizes.tolist())),
            parameters.capacity,
            # the decimal number of the settings, not the binary number closest to it
            Fraction(str(parameters.bandwidth)),
            parameters.latency,
            parameters.ahead,
        )
        self.memories[stream.source, stream.output] = tensor, memory
        return memory

    def restart_blocks(self, blocks: Mapping[str, StreamBlock]) -> None:
        """Let the blocks of the inner graph restart after each tile; call this after the kernel is built."""
        for node, output, level in self._iterate_tile_ends(blocks):
            port = node.primitive.output_port(node, output)
            blocks[node.name].restart_after_tiles(port, level, self.parameters.restart)

    def _iterate_tile_ends(self, blocks: Mapping[str, StreamBlock]) -> Iterator[tuple[Node, str, int]]:
        """Yield each node of the inner graph, an output of it, and the level of the stops that end a tile."""
        for name in blocks:
            node = self.loops.graph.nodes[name]
            inner = self.loops.find_inner_output(node)
            if inner is not None and not node.primitive.writes:
                output, nest = inner
                # a stop of level l ends l + 1 loops, here all inner loops of the stream
                yield node, output, len(nest) - 1 - self.loops.count_tile_loops(nest)

    def traffic(self) -> dict[str, Traffic]:
        """Return the bytes that were loaded, by tensor."""
        read_bytes: dict[str, int] = {}
        for tensor, memory in self.memories.values():
            read_bytes[tensor] = read_bytes.get(tensor, 0) + memory.read_bytes
        return {tensor: Traffic(count, 0) for tensor, count in read_bytes.items()}

    @property
    def minimum_bytes(self) -> int:
        """Return the bytes of all tiles that were loaded; a tile counts once for each memory with it."""
        return sum(memory.distinct_bytes for _tensor, memory in self.memories.values())
