"""Memory accesses of the blocks of a stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.kept import EACH, NEVER
from fiberscope.hw.streams.line_fetch import BufferRoom, LineFetch
from fiberscope.hw.streams.line_writer import LineKeeper, LineWriter
from fiberscope.hw.streams.subtree_fetch import SubtreeFetch
from fiberscope.hw.streams.way_lines import ArrayLines
from fiberscope.models.from_spec.arrays import Banks, StoredArray, ancestors, intervals_below, stored_array
from fiberscope.models.from_spec.chains import Chain, Chains
from fiberscope.models.from_spec.memory import MappedMemory
from fiberscope.models.from_spec.stage_graph import StageGraph, base_name
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.loops import Nest, Nests
from fiberscope.models.graphs.netlist import Node, Stream
from fiberscope.models.graphs.primitives.tasks import FIBER_PAIRS, LANE_SEEK, LOCATED, SKIP_AHEAD
from fiberscope.sim.clock import Clock
from fiberscope.workloads.canonical import Integers

if TYPE_CHECKING:
    pass

__all__ = ["StageMemory"]

READERS = (LANE_SEEK, SKIP_AHEAD)  # read the fibers of two tensors themselves


class StageMemory:
    """Memory accesses of the blocks of a stage.

    Args:
        memory: the memory of the machine.
        stage: what runs.
        graph: as blocks.
        chains: the chains of the stage.
        nests: loop nests of the graph's streams.
        leaves: names of the instances.
        clock: the clock of the fetching component; that of the machine if not given.
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
        self.numbers = {leaf: number for number, leaf in enumerate(leaves)}
        self.clock = clock or memory.machine.kernel.clocks[0]
        self.memory, self.stage, self.graph, self.chains, self.nests = memory, stage, graph, chains, nests
        self.arrays: dict[tuple[str, int, str], StoredArray] = {}
        self.rooms: dict[tuple[str, str], BufferRoom] = {}
        self.come_whole = {
            (node[f"tensor{way}"], int(node[f"{place}{way}"]))
            for node in graph.graph.nodes.values()
            if node.type == FIBER_PAIRS
            for way in (0, 1)
            for place in ("mode", "below")
        }  # tensors and levels
        self.intervals: dict[tuple[str, tuple[str, int]], tuple[Integers, Integers]] = {}  # of subtrees

    def before(self, leaf: str, node: Node, port: str, name: str) -> Iterator[Fetch]:
        """Yield the fetches for the references into a block: where their fibers begin, or values.

        In front of a unit that reads the fibers itself, their coordinates too.

        Args:
            leaf: the instance, which begins names of its blocks.
            node, port: the node and port of the block.
            name: that the block's begins with.
        """
        stream = self.graph.graph.feeding(node, port)
        nest = () if stream is None else self.nests[stream.source, stream.output]
        tensor, place = self._named_at(node, port)
        came = place < 0 or isinstance(self.graph.tensors[tensor].levels[place], CompressedLevel)
        kinds = ("payload",) if came else ("payload", "elem")  # an element has come with its coordinate
        for kind in kinds if place >= 0 and (tensor, place) not in self.come_whole else ():
            chain = self._chain(tensor, place, kind)
            if chain is not None and self._is_asked_for_here(chain, node, port, stream):
                yield self._fetch(leaf, tensor, place, kind, chain, nest, f"{name}_payloads")
                break
        if node.type in READERS:
            for kind, chain in self._coordinates(tensor, place + 1):
                segments = self._segments(tensor, place + 1)
                fibers = f"{name}_coordinates"
                yield self._fetch(leaf, tensor, place + 1, kind, chain, nest, fibers, segments)

        if node.type == FIBER_PAIRS:
            yield from self._subtrees(leaf, tensor, place + 1, f"{name}_subtrees")

    def _subtrees(self, leaf: str, tensor: str, place: int, name: str) -> Iterator[SubtreeFetch]:
        """Yield a fetch for each store from which anything below the references to a level's fibers comes."""
        stores: dict[tuple[str, int], list[tuple[int, str, Chain]]] = {}
        for whole, level in sorted(self.come_whole):
            for kind in ("coord", "payload", "elem") if whole == tensor else ():
                chain = self._chain(tensor, level, kind)
                if chain is not None:
                    stores.setdefault((chain.shared, chain.copies), []).append((level, kind, chain))
        for store, parts in stores.items():
            arrays = [(level, self._array(tensor, level, kind, chain)) for level, kind, chain in parts]
            if (tensor, store) not in self.intervals:
                intervals = intervals_below(self.graph.tensors[tensor], place, arrays)
                self.intervals[tensor, store] = intervals
            first, last = self.intervals[tensor, store]
            memory, chain = self.memory, parts[0][-1]
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
                port=memory.port(chain, self.copy(chain, leaf)),
            )
            memory.reads(chain, leaf, self.copy(chain, leaf), fetch)
            yield fetch

    def _coordinates(self, tensor: str, place: int) -> Iterator[tuple[str, Chain]]:
        """Yield the chain of the coordinates of a level, if they are read."""
        for kind in ("coord", "elem"):
            chain = self._chain(tensor, place, kind)
            if chain is not None:
                yield kind, chain
                return

    def _segments(self, tensor: str, place: int) -> memoryview[int]:
        level = self.graph.tensors[tensor].levels[place]
        assert isinstance(level, CompressedLevel)  # a unit that skips reads no other
        return integers_of(level.segments)

    def _is_asked_for_here(self, chain: Chain, node: Node, port: str, stream: Stream | None) -> bool:
        """Return whether a merger's payload is read before it, because a buffer keeps it."""
        enters = _goes_along(node, port)
        left = stream is not None and _goes_along(self.graph.graph.nodes[stream.source], stream.output)
        return chain.kept if enters else not (left and chain.kept)

    def _named_at(self, node: Node, port: str) -> tuple[str, int]:
        """The tensor and the level whose payloads the references at a port of a block name; -1 of none."""
        if _goes_along(node, port):
            graph = self.graph.graph
            behind = next(stream for stream in graph.streams_from(node) if stream.output == port)
            return self._named_at(graph.nodes[behind.target], behind.input)
        if node.type in (*READERS, FIBER_PAIRS):
            way = port[len("ref[") : -1]
            return node[f"tensor{way}"], int(node[f"mode{way}"]) - 1
        tensor, place = node["tensor"], -1
        if node.primitive.loads and port == "ref":
            place = len(self.graph.tensors[tensor].levels) - 1
        elif node.primitive.of_level and not node.primitive.writes:
            looks_up = node.primitive.positions == LOCATED
            place = int(node["mode"]) - 1 if port == ("base" if looks_up else "ref") else -1
        return tensor, place

    def coordinate_fetch(self, leaf: str, node: Node, name: str) -> LineFetch | None:
        """Return the fetch that a scanner's coordinates wait for, or what a look-up in a fiber finds."""
        if not (node.type == "seek" or (node.primitive.scans and node.level.lists)):
            return None
        tensor, place = node["tensor"], int(node["mode"])
        nest = self.nests[node.name, "crd" if node.primitive.scans else LOCATED]
        for kind, chain in self._coordinates(tensor, place):
            return self._fetch(leaf, tensor, place, kind, chain, nest, f"{name}.coordinates")
        return None

    def _fetch(
        self,
        leaf: str,
        tensor: str,
        place: int,
        kind: str,
        chain: Chain,
        nest: Nest,
        name: str,
        segments: memoryview[int] | None = None,
    ) -> LineFetch:
        array, memory = self._array(tensor, place, kind, chain), self.memory
        groups = None if segments is not None else self._groups(tensor, place, chain)
        fetch = memory.machine.add_at(
            self.clock,
            LineFetch,
            name,
            array.base,
            integers_of(array.lines),
            segments=segments,
            line_bytes=memory.line,
            kept=chain.kept,
            lets_go=NEVER if groups is not None else self._lets_go(chain, nest),
            groups=groups,
            lingers=chain.lingers,
            room=self._room(leaf, chain),
            window=memory.timing.window * max(1, self.stage.lanes),
            outstanding=memory.timing.ahead,
            port=memory.port(chain, self.copy(chain, leaf)),
        )
        memory.reads(chain, leaf, self.copy(chain, leaf), fetch)
        return fetch

    def _groups(self, tensor: str, place: int, chain: Chain) -> memoryview[int] | None:
        """Return the group of each entry whose lines stay together, if tasks do not tell when they go.

        An instance on lanes has each task. So it knows an outer loop by the tensor's own coordinates of it.
        """
        outer = self.stage.outer[:-1]
        if not (self.stage.lanes and self.stage.instances == 1 and chain.kept and chain.evict_on in outer):
            return None
        above = outer[: outer.index(chain.evict_on) + 1]
        depth = sum(rank in above for rank in self.graph.orders[tensor][:place])
        return integers_of(ancestors(self.graph.tensors[tensor], place, depth))

    def copy(self, chain: Chain, leaf: str) -> int:
        """Return which copy of the store on the way serves an instance; the first serves all others."""
        return self.numbers.get(leaf, 0) * chain.copies // max(1, len(self.numbers))

    def _room(self, leaf: str, chain: Chain) -> BufferRoom | None:
        """Return the size of an instance's buffer, in whole lines of a request."""
        if chain.buffer is None:
            return None
        name, bits = chain.buffer
        if self.stage.lanes and self.stage.instances == 1:  # of all instances, which work together
            bits *= self.memory.machine.component(name).all_instances
        return self.rooms.setdefault((leaf, name), BufferRoom(bits // (8 * self.memory.line)))

    def _chain(self, tensor: str, place: int, kind: str) -> Chain | None:
        ranks = self.graph.orders[tensor]
        return self.chains.get((tensor, ranks[place], kind))

    def _lets_go(self, chain: Chain, nest: Nest) -> int:
        """Level of the stops, in a stream of such a nest, with which the buffer lets go what it has."""
        if not chain.kept or not chain.evict_on:
            return NEVER
        outer = chain.evict_on in self.stage.outer  # of which an instance knows tasks alone
        behind = self.stage.of_elements and self.numbers  # where no stop tells them apart
        if behind or (chain.evict_on not in nest and not outer):
            return EACH
        place = nest.index(chain.evict_on) if chain.evict_on in nest else 0
        return max(EACH, len(nest) - 2 - place)

    def _array(self, tensor: str, place: int, kind: str, chain: Chain) -> StoredArray:
        if (tensor, place, kind) not in self.arrays:
            whole, rows = chain.format.kind == "U", self.memory.rows(chain)
            piece = self.graph.piece(tensor, place)
            banks = self._banks(tensor, place, chain)
            stored = self.graph.tensors[tensor]
            array = stored_array(stored, place, whole=whole, rows=rows, piece=piece, banks=banks)
            name, number = base_name(tensor), banks.count if banks else 1
            what = (name, self.graph.sources.get(name, ""), self.graph.orders[tensor], place, kind, number)
            self.arrays[tensor, place, kind] = array.at(self.memory.laid_out(what, array.size, chain))
        return self.arrays[tensor, place, kind]

    def _banks(self, tensor: str, place: int, chain: Chain) -> Banks | None:
        """Return the banks of an array that instances read by the coordinates of their tasks."""
        ranks = self.graph.orders[tensor][: place + 1]
        loop = self.stage.outer[-1] if self.stage.banked and self.numbers and not chain.shared else ""
        alone = self.stage.merger is None and not self.come_whole
        return Banks(ranks.index(loop), self.stage.instances) if alone and loop in ranks else None

    def ways(self, leaf: str, node: Node) -> list[tuple[Chain, ArrayLines]]:
        """The arrays whose lines a merger's ways read, for one who asks for them next."""
        tensor, place = node["tensor"], int(node["mode"])
        chains: list[tuple[Chain, ArrayLines]] = []
        for kind in ("elem", "coord", "payload"):
            chain = self._chain(tensor, place, kind)
            if chain is not None:
                array = self._array(tensor, place, kind, chain)
                rows, first = array.rows, integers_of(array.first)
                before = sum(
                    bool(chain.shared) and chain_.shared == chain.shared for chain_, _lines in chains
                )
                port = self.memory.port(chain, self.copy(chain, leaf)) + before
                lines = ArrayLines(array.base, rows.line_bytes, first, rows.entries, rows.rows, port)
                chains.append((chain, lines))
        return chains

    def writers(self, leaf: str, number: int, node: Node, name: str) -> Iterator[LineWriter]:
        """Return the blocks that write a writer's stream to memory: coordinates and fiber starts, or values.

        Args:
            leaf: the instance, which begins names of its blocks.
            number: the number of it.
            node: the node of the writer.
            name: that its block's begins with.
        """
        output = self.graph.einsum.output
        ranks = self.graph.orders[output]
        if node.writes_values:
            level = 0 if self.graph.loops else NEVER  # else the values of tasks are one fiber
            kinds = ("payload", "elem")
            yield from self._writers(leaf, number, ranks[-1:], kinds, f"{name}.payloads", level=level)
            return
        place = ranks.index(node["index"]) if node["index"] in ranks else len(ranks)
        yield from self._writers(leaf, number, ranks[place : place + 1], ("coord",), f"{name}.coordinates")
        above = ranks[max(0, place - 1) : place]
        yield from self._writers(leaf, number, above, ("payload",), f"{name}.segments", of_stops=True)

    def task_writers(self, leaf: str, number: int, loop: str) -> Iterator[LineWriter]:
        """Return the blocks that write the coordinates of tasks."""
        name = f"{leaf}tasks.{loop}"
        yield from self._writers(leaf, number, (loop,), ("coord",), name, level=NEVER)

    def sum_writers(self, leaf: str, number: int, name: str, *, again: bool) -> Iterator[LineWriter]:
        """Return the blocks that write partial elements of tasks, and read them back if requested."""
        for kinds in (("coord", "elem"), ("payload",)):
            ranks = self.graph.orders[self.graph.einsum.output][-1:]
            called = f"{name}.{kinds[0]}s"
            yield from self._writers(leaf, number, ranks, kinds, called, level=NEVER, again=again)

    def _writers(
        self,
        leaf: str,
        number: int,
        ranks: Sequence[str],
        kinds: Sequence[str],
        name: str,
        *,
        of_stops: bool = False,
        level: int = 0,
        again: bool = False,
    ) -> Iterator[LineWriter]:
        output, memory = self.graph.einsum.output, self.memory
        for rank in ranks:
            for kind in kinds:
                chain = self.chains.get((output, rank, kind))
                if chain is None:
                    continue
                rows = memory.rows(chain)
                what = (output, "", self.graph.orders[output], rank, kind, 1)
                base = memory.area(what, chain, number, again=again)
                writer = memory.machine.add_at(
                    self.clock,
                    LineKeeper if again else LineWriter,
                    name,
                    base,
                    1,
                    line_bytes=memory.line,
                    of_stops=of_stops,
                    level=level,
                    row=rows.entries,
                    rows=rows.rows,
                    page_lines=memory.page_lines,
                    pages=memory.machine.instances,
                    port=memory.port(chain, self.copy(chain, leaf)) if chain.cached else 0,
                )
                memory.writes(chain, leaf, self.copy(chain, leaf), writer, again=again)
                yield writer


def _goes_along(node: Node, port: str) -> bool:
    """Return whether references at a port go through a merger."""
    return node.type == "swap" and port.startswith("carried")
