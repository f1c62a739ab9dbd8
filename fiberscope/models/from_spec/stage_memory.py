"""Memory accesses of a stage: fetches that delay streams until data arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import EACH, NEVER
from fiberscope.hw.streams.line_fetch import BufferRoom, LineFetch
from fiberscope.hw.streams.subtree_fetch import SubtreeFetch
from fiberscope.hw.streams.way_lines import ArrayLines
from fiberscope.models.from_spec.arrays import (
    Banks,
    StoredArray,
    build_array,
    build_linked_array,
    find_ancestors,
    find_intervals_below,
)
from fiberscope.models.from_spec.chains import Chain, Chains
from fiberscope.models.from_spec.linked_lists import order_nodes
from fiberscope.models.from_spec.memory import MappedMemory
from fiberscope.models.from_spec.stage_graph import StageGraph, strip_primes
from fiberscope.models.from_spec.stage_writers import StageWriters
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.loops import Nest, Nests
from fiberscope.models.graphs.netlist import Node, Stream
from fiberscope.models.graphs.primitives.tasks import FIBER_PAIRS, LANE_SEEK, LOCATED, SKIP_AHEAD
from fiberscope.sim.clock import Clock
from fiberscope.workloads.canonical import Integers

READER_TYPES = (LANE_SEEK, SKIP_AHEAD)  # types of nodes that read the fibers of two tensors themselves


class StageMemory(StageWriters):
    """The memory accesses of the blocks of a stage, before or after the cut.

    The methods that return fetches add them to the machine, and register their requests with ``memory``.
    They are called once for each port or block. ``memory.build`` later connects the requests.

    Args:
        memory: the memory system of the machine.
        graph: graph of the stage.
        chains: chains of the data that these blocks move.
        nests: loop nests of the graph's streams.
        leaves: names of the instances; empty for the blocks before the cut.
        clock: clock of the fetches and writers; by default the first clock of the machine.
    """

    def __init__(
        self,
        memory: MappedMemory,
        stage: Stage,
        graph: StageGraph,
        chains: Chains,
        nests: Nests,
        leaves: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        super().__init__(memory, stage, graph, chains, nests, leaves, clock)
        self.arrays: dict[tuple[str, int, str], StoredArray] = {}
        self.free_lines: dict[tuple[str, str], BufferRoom] = {}
        self.eager_levels = {
            (node[f"tensor{operand}"], int(node[f"{attribute}{operand}"]))
            for node in graph.graph.nodes.values()
            if node.type == FIBER_PAIRS
            for operand in (0, 1)
            for attribute in ("mode", "below")
        }  # tensor and level of data that is fetched as whole subtrees
        # First and last lines of subtrees, by tensor and by the name and copies of the store.
        self.subtree_lines: dict[tuple[str, tuple[str, int]], tuple[Integers, Integers]] = {}

    def iterate_input_fetches(self, leaf: str, node: Node, port: str, name: str) -> Iterator[Fetch]:
        """Yield the fetches before an input of references: of the starts of their fibers, or of values.

        Before a unit that reads fibers itself, a further fetch loads their coordinates.

        Args:
            leaf: name of the instance.
            node, port: node of the block, and its input.
            name: prefix of the names of the fetches.
        """
        stream = self.graph.graph.stream_into(node, port)
        nest = () if stream is None else self.nests[stream.source, stream.output]
        tensor, level = self._find_referenced_level(node, port)
        # The fetch of a coordinate of a compressed level has already loaded its element.
        has_element = level < 0 or isinstance(self.graph.tensors[tensor].levels[level], CompressedLevel)
        kinds = ("payload",) if has_element else ("payload", "elem")
        for kind in kinds if level >= 0 and (tensor, level) not in self.eager_levels else ():
            chain = self._chain(tensor, level, kind)
            if chain is not None and self._is_fetched_here(chain, node, port, stream):
                yield self._fetch(leaf, tensor, level, kind, chain, nest, f"{name}_payloads")
                break
        if node.type in READER_TYPES:
            for kind, chain in self._find_coordinate_chain(tensor, level + 1):
                segments = self._find_fiber_starts(tensor, level + 1)
                yield self._fetch(leaf, tensor, level + 1, kind, chain, nest, f"{name}_coordinates", segments)
        if node.type == FIBER_PAIRS:
            yield from self._iterate_subtree_fetches(leaf, tensor, level + 1, f"{name}_subtrees")

    def _iterate_subtree_fetches(
        self, leaf: str, tensor: str, level: int, name: str
    ) -> Iterator[SubtreeFetch]:
        """Yield a fetch for each store that supplies subtrees of a level's fibers."""
        stores: dict[tuple[str, int], list[tuple[int, str, Chain]]] = {}
        for eager_tensor, inner in sorted(self.eager_levels):
            for kind in ("coord", "payload", "elem") if eager_tensor == tensor else ():
                chain = self._chain(tensor, inner, kind)
                if chain is not None:
                    stores.setdefault((chain.shared, chain.copies), []).append((inner, kind, chain))
        for store, entries in stores.items():
            arrays = [
                (inner, self._build_array(tensor, inner, kind, chain)) for inner, kind, chain in entries
            ]
            if (tensor, store) not in self.subtree_lines:
                intervals = find_intervals_below(self.graph.tensors[tensor], level, arrays)
                self.subtree_lines[tensor, store] = intervals
            first, last = self.subtree_lines[tensor, store]
            memory, chain = self.memory, entries[0][-1]
            fetch = memory.machine.add_at(
                self.clock,
                SubtreeFetch,
                name if len(stores) == 1 else f"{name}_{store[0].lower()}",
                integers_of(first),
                integers_of(last),
                len(arrays),
                line_bytes=memory.line,
                window=memory.timing.window,
                outstanding=memory.timing.ahead,
                port=memory.port(chain, self.copy_of(chain, leaf)),
            )
            memory.connect_reads(chain, leaf, self.copy_of(chain, leaf), fetch)
            yield fetch

    def _find_coordinate_chain(self, tensor: str, level: int) -> Iterator[tuple[str, Chain]]:
        """Yield the kind and the chain of a level's coordinates; nothing if coordinates are not moved."""
        for kind in ("coord", "elem"):
            chain = self._chain(tensor, level, kind)
            if chain is not None:
                yield kind, chain
                return

    def _find_fiber_starts(self, tensor: str, level: int) -> memoryview[int]:
        compressed = self.graph.tensors[tensor].levels[level]
        assert isinstance(compressed, CompressedLevel)  # such a unit reads compressed levels only
        return integers_of(compressed.segments)

    def _is_fetched_here(self, chain: Chain, node: Node, port: str, stream: Stream | None) -> bool:
        """Return whether payloads are fetched at this input.

        Payloads of references that pass a merger are fetched once: before the merger if a buffer keeps them,
        else after it.
        """
        enters_merger = _passes_merger(node, port)
        leaves_merger = stream is not None and _passes_merger(
            self.graph.graph.nodes[stream.source], stream.output
        )
        return chain.kept if enters_merger else not (leaves_merger and chain.kept)

    def _find_referenced_level(self, node: Node, port: str) -> tuple[str, int]:
        """Return the tensor and level to which the references at a port point; level -1 for the root."""
        if _passes_merger(node, port):
            graph = self.graph.graph
            consumer = next(stream for stream in graph.list_streams_from(node) if stream.output == port)
            return self._find_referenced_level(graph.nodes[consumer.target], consumer.input)
        if node.type in (*READER_TYPES, FIBER_PAIRS):
            operand = port[len("ref[") : -1]
            return node[f"tensor{operand}"], int(node[f"mode{operand}"]) - 1
        tensor, level = node["tensor"], -1
        if node.primitive.loads and port == "ref":
            level = len(self.graph.tensors[tensor].levels) - 1
        elif node.primitive.accesses_level and not node.primitive.writes:
            looks_up = node.primitive.position_output == LOCATED
            level = int(node["mode"]) - 1 if port == ("base" if looks_up else "ref") else -1
        return tensor, level

    def build_coordinate_fetch(self, leaf: str, node: Node, name: str) -> LineFetch | None:
        """Return the fetch that delays a scanner's coordinates or a look-up's results; None without one.

        Args:
            leaf: name of the instance.
            node: node of the scanner or look-up.
            name: name of its block.
        """
        if not (node.type == "seek" or (node.primitive.scans and node.level.loads_coordinates)):
            return None
        tensor, level = node["tensor"], int(node["mode"])
        nest = self.nests[node.name, "crd" if node.primitive.scans else LOCATED]  # of the delayed stream
        for kind, chain in self._find_coordinate_chain(tensor, level):
            return self._fetch(leaf, tensor, level, kind, chain, nest, f"{name}.coordinates")
        return None

    def _fetch(
        self,
        leaf: str,
        tensor: str,
        level: int,
        kind: str,
        chain: Chain,
        nest: Nest,
        name: str,
        segments: memoryview[int] | None = None,
    ) -> LineFetch:
        array, memory = self._build_array(tensor, level, kind, chain), self.memory
        groups = None if segments is not None else self._list_groups(tensor, level, chain)
        fetch = memory.machine.add_at(
            self.clock,
            LineFetch,
            name,
            array.base,
            integers_of(array.lines),
            segments=segments,
            line_bytes=memory.line,
            kept=chain.kept,
            lets_go=NEVER if groups is not None else self._find_eviction_level(chain, nest),
            groups=groups,
            lingers=chain.lingers,
            room=self._free_lines_of(leaf, chain),
            # the address of the next node is known when a link has arrived
            window=1 if chain.format.kind == "L" else memory.timing.window * max(1, self.stage.lanes),
            outstanding=memory.timing.ahead,
            port=memory.port(chain, self.copy_of(chain, leaf)),
        )
        memory.connect_reads(chain, leaf, self.copy_of(chain, leaf), fetch)
        return fetch

    def _list_groups(self, tensor: str, level: int, chain: Chain) -> memoryview[int] | None:
        """Return the group of each entry, if the buffer evicts lines when the group changes; else None.

        A single instance on lanes receives all tasks. The groups are the tensor's own coordinates of the
        outer loop that evicts lines.
        """
        outer = self.stage.outer[:-1]
        if not (self.stage.lanes and self.stage.instances == 1 and chain.kept and chain.evict_on in outer):
            return None
        outer_ranks = outer[: outer.index(chain.evict_on) + 1]
        depth = sum(rank in outer_ranks for rank in self.graph.orders[tensor][:level])
        return integers_of(find_ancestors(self.graph.tensors[tensor], level, depth))

    def _free_lines_of(self, leaf: str, chain: Chain) -> BufferRoom | None:
        """Return the free lines of an instance's buffer, shared by its fetches; None without a bound."""
        if chain.buffer is None:
            return None
        name, bits = chain.buffer
        if self.stage.lanes and self.stage.instances == 1:
            # One instance stands for all instances, and has their buffers.
            bits *= self.memory.machine.component(name).all_instances
        return self.free_lines.setdefault((leaf, name), BufferRoom(bits // (8 * self.memory.line)))

    def _chain(self, tensor: str, level: int, kind: str) -> Chain | None:
        ranks = self.graph.orders[tensor]
        return self.chains.get((tensor, ranks[level], kind))

    def _find_eviction_level(self, chain: Chain, nest: Nest) -> int:
        """Return the level of the stops that empty the buffer.

        Args:
            chain: chain of the data.
            nest: loop nest of the stream.

        Returns:
            The level; ``EACH`` if each element empties the buffer, ``NEVER`` if nothing does.
        """
        if not chain.kept or not chain.evict_on:
            return NEVER
        outer = chain.evict_on in self.stage.outer  # an instance sees outer loops only as tasks
        without_stops = self.stage.of_elements and self.numbers  # no stop separates tasks
        if without_stops or (chain.evict_on not in nest and not outer):
            return EACH
        depth = nest.index(chain.evict_on) if chain.evict_on in nest else 0
        # A stop of level 0 ends the innermost fiber; each loop further out ends with a stop one level higher.
        return max(EACH, len(nest) - 2 - depth)

    def _build_array(self, tensor: str, level: int, kind: str, chain: Chain) -> StoredArray:
        if (tensor, level, kind) not in self.arrays:
            dense, rows = chain.format.kind == "U", self.memory.rows(chain)
            piece = self.graph.piece(tensor, level)
            banks = self._find_banks(tensor, level, chain)
            stored = self.graph.tensors[tensor]
            specification = self.memory.machine.specification
            parent_places, places = (
                order_nodes(specification, self.stage, self.graph, tensor, number)
                for number in (level - 1, level)
            )
            if any(eager_tensor == tensor for eager_tensor, _level in self.eager_levels):
                parent_places = places = None  # a subtree is fetched as consecutive lines
            if chain.format.kind == "L" and places is not None:
                array = build_linked_array(places, rows)
            else:
                array = build_array(
                    stored,
                    level,
                    uncompressed=dense,
                    rows=rows,
                    piece=piece,
                    banks=banks,
                    places=parent_places,
                )
            name, number = strip_primes(tensor), banks.count if banks else 1
            key = (name, self.graph.sources.get(name, ""), self.graph.orders[tensor], level, kind, number)
            address = self.memory.place_operand(key, array.size, chain)
            self.arrays[tensor, level, kind] = array.replace_base(address)
        return self.arrays[tensor, level, kind]

    def _find_banks(self, tensor: str, level: int, chain: Chain) -> Banks | None:
        """Return the banks of an array, one per instance, if coordinates determine the instances of tasks."""
        ranks = self.graph.orders[tensor][: level + 1]
        loop = self.stage.outer[-1] if self.stage.banked and self.numbers and not chain.shared else ""
        supports_banks = self.stage.merger is None and not self.eager_levels
        return Banks(ranks.index(loop), self.stage.instances) if supports_banks and loop in ranks else None

    def list_merger_arrays(self, leaf: str, node: Node) -> list[tuple[Chain, ArrayLines]]:
        """Return the chains and arrays from which the ways of a merger read lines.

        Arrays of one shared store have consecutive ports.

        Args:
            leaf: name of the instance.
            node: node of the merger.
        """
        tensor, level = node["tensor"], int(node["mode"])
        chains: list[tuple[Chain, ArrayLines]] = []
        for kind in ("elem", "coord", "payload"):
            chain = self._chain(tensor, level, kind)
            if chain is not None:
                array = self._build_array(tensor, level, kind, chain)
                rows, first = array.rows, integers_of(array.first)
                earlier_ports = sum(
                    bool(chain.shared) and earlier.shared == chain.shared for earlier, _lines in chains
                )
                port = self.memory.port(chain, self.copy_of(chain, leaf)) + earlier_ports
                lines = ArrayLines(array.base, rows.line_bytes, first, rows.entries, rows.rows, port)
                chains.append((chain, lines))
        return chains


def _passes_merger(node: Node, port: str) -> bool:
    """Return whether the references at a port pass through a merger."""
    return node.type == "swap" and port.startswith("carried")
