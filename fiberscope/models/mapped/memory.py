"""The memory of a mapped machine: what fetches and writes, the shared stores, and DRAM behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from fiberscope.accelerators.composition import User
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import TENSOR_SHIFT, TENSORS
from fiberscope.hw.networks.crossbar import Concentrator
from fiberscope.hw.streams.kept import EACH, NEVER
from fiberscope.hw.streams.line_fetch import LineFetch
from fiberscope.hw.streams.line_writer import LineWriter
from fiberscope.hw.streams.way_lines import ArrayLines
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.nests import Nest, Nests
from fiberscope.models.graphs.netlist import Node, Stream
from fiberscope.models.mapped.arrays import Rows, StoredArray, stored_array
from fiberscope.models.mapped.chains import Chain, Chains
from fiberscope.models.mapped.lowering import Lowered, base_name
from fiberscope.models.mapped.stages import Stage
from fiberscope.sim import Component as Block
from fiberscope.sim.names import numbered

if TYPE_CHECKING:
    from fiberscope.models.mapped.machine import MappedMachine

__all__ = ["MappedMemory", "StageMemory"]

WRITTEN = 1 << 36  # bytes that each array which is written has room for
BANKS = (3, 2)  # of a cache for each instance, as Gamma's 48 for 32
LEAST_LINE = 2  # bytes, of a cache


Array: TypeAlias = tuple[str, tuple[str, ...], int | str, str]  # tensor, its ranks, the rank, the kind


@dataclass
class _Port:
    """Who asks memory at one place: the blocks of an instance, those that take replies first."""

    readers: list[User] = field(default_factory=list)
    writers: list[User] = field(default_factory=list)


class MappedMemory:
    """The stores of a machine, and the arrays of its tensors.

    Args:
        machine: that it is of.
        chains: of all its stages.
    """

    def __init__(self, machine: MappedMachine, chains: Sequence[Chain]) -> None:
        self.machine = machine
        self.timing = machine.parameters.timing
        widest = max((-(-chain.width // 8) for chain in chains), default=LEAST_LINE)
        self.line = max(self.timing.line, widest, LEAST_LINE)
        self.page_lines = max(1, self.timing.page // self.line)
        self.tensors: dict[str, int] = {}  # numbers of those that are moved
        self.ends: dict[int, int] = {}  # of each number the byte behind what is laid out
        self.layouts: list[Layout] = []
        self.bases: dict[Array, int] = {}
        self.shared: dict[str, list[User]] = {}  # who asks each of the shared stores
        self.held: Counter[str] = Counter()  # bytes of the arrays that come through these
        self.ports: dict[str, _Port] = {}  # of instances, by name

    def rows(self, chain: Chain) -> Rows:
        """How the entries of a rank lie in requests."""
        return Rows(max(1, chain.width // chain.bits), max(1, self.line * 8 // chain.width), self.line)

    def place(self, tensor: str, size: int, role: Role) -> int:
        """A place for so many bytes of a tensor; from the last number on all tensors have one."""
        number = self.tensors.setdefault(tensor, min(len(self.tensors), TENSORS - 1))
        begin = self.ends.get(number, -(-(number << TENSOR_SHIFT) // self.line) * self.line)
        self.ends[number] = begin + size
        self.layouts.append(Layout(begin, size, role))
        return begin

    def laid_out(self, what: Array, size: int, chain: Chain) -> int:
        """Where an operand's array of so many bytes begins, which all stages have in one place."""
        if what not in self.bases:
            self.bases[what] = self.place(what[0], size, Role.OPERAND)
            self.held[chain.shared] += size
        return self.bases[what]

    def area(self, what: Array, chain: Chain, number: int) -> int:
        """Where an instance begins to write an array of an output: pages of all lie in turn."""
        if what not in self.bases:
            self.bases[what] = self.place(what[0], WRITTEN, Role.PRODUCT)
            self.held[chain.shared] += self.line
        return self.bases[what] + number * self.page_lines * self.line

    def port(self, chain: Chain) -> int:
        """The number of the next who asks the store that is next on the way."""
        return len(self.shared.get(chain.shared, ()))

    def reads(self, chain: Chain, leaf: str, block: Block, place: str = "") -> None:
        """Have a block ask the store that is next on the way; of an array of ports at one place."""
        user = (block, f"requests{place}", f"replies{place}")
        if chain.shared:
            self.shared.setdefault(chain.shared, []).append(user)
        else:
            self.ports.setdefault(leaf, _Port()).readers.append(user)

    def writes(self, chain: Chain, leaf: str, block: Block) -> None:
        """Have a block write to that store: a cache acknowledges, past a buffer it goes on to memory."""
        if chain.cached:
            self.reads(chain, leaf, block)
        else:
            self.ports.setdefault(leaf, _Port()).writers.append((block, "requests", ""))

    def build(self) -> None:
        """Make the shared stores and DRAM, and join all to them.

        Raises:
            ConfigurationError: there is no memory for such requests.
        """
        if not self.tensors:
            return
        most = max((len(port.readers) + len(port.writers) for port in self.ports.values()), default=1)
        users: list[User] = []
        for name, askers in self.shared.items():
            users += self._store(name, askers, len(users) * most, most)
        for name, port in self.ports.items():
            users.append(self._concentrated(name, port, len(users) * most))
        self.machine.add_memory(users, self.line, group=most)

    def _concentrated(self, leaf: str, port: _Port, first: int) -> User:
        connect, queue = self.machine.kernel.connect, self.timing.queue
        both = [*port.readers, *port.writers]
        one = self.machine.add(Concentrator, f"{leaf}memory_port", first)
        for place, (block, requests, replies) in enumerate(both):
            connect(block, requests, one, f"inputs[{place}]", capacity=queue)
            if replies:
                connect(one, f"outputs[{place}]", block, replies, capacity=queue)
        return one, "requests", "replies"

    def _store(self, name: str, askers: Sequence[User], first: int, group: int) -> list[User]:
        """The banks of a shared store, and the network between it and those who ask."""
        banks = self._geometry(name)
        made = [
            self.machine.add(self.machine.part("bank", name), one, banks, first + place * group)
            for place, one in enumerate(numbered(f"{name.lower()}.bank", banks.banks))
        ]
        latency = self.timing.network_latency
        self.machine.add_network(name.lower(), askers, made, interleave=self.line, latency=latency)
        return [(one, "memory_requests", "memory_replies") for one in made]

    def _geometry(self, name: str) -> FiberCacheSpecification:
        component = self.machine.component(name)
        banks = self.timing.banks or -(-BANKS[0] * self.machine.instances // BANKS[1])
        size = self.held[name] if component.depth is None else component.width * component.depth // 8
        ways = component.ways or self.timing.ways
        sets = max(1, size // (self.line * ways * banks))
        return FiberCacheSpecification(banks, sets, ways, self.line, stages=self.timing.cache_stages)


class StageMemory:
    """What the blocks of a stage read and write in memory.

    Args:
        memory: of the machine.
        stage: what runs.
        graph: as blocks.
        chains: of the stage.
        nests: loop nests of the graph's streams.
    """

    def __init__(
        self, memory: MappedMemory, stage: Stage, graph: Lowered, chains: Chains, nests: Nests
    ) -> None:
        self.memory, self.stage, self.graph, self.chains, self.nests = memory, stage, graph, chains, nests
        self.arrays: dict[tuple[str, int, str], StoredArray] = {}

    def before(self, leaf: str, node: Node, port: str, name: str) -> LineFetch | None:
        """What the references into a block wait for: where the fibers that they name begin, or values.

        Args:
            leaf: the instance, which begins names of its blocks.
            node, port: of the block.
            name: that the block's begins with.
        """
        stream = self.graph.graph.feeding(node, port)
        tensor, place = self._named_at(node, port)
        if place < 0:
            return None
        came = isinstance(self.graph.tensors[tensor].levels[place], CompressedLevel)
        kinds = ("payload",) if came else ("payload", "elem")  # an element has come with its coordinate
        for kind in kinds:
            chain = self._chain(tensor, place, kind)
            if chain is not None and self._is_asked_for_here(chain, port, stream):
                nest = () if stream is None else self.nests[stream.source, stream.output]
                return self._fetch(leaf, tensor, place, kind, chain, nest, f"{name}_payloads")
        return None

    def _is_asked_for_here(self, chain: Chain, port: str, stream: Stream | None) -> bool:
        """Of what travels through a merger: in front of it, if a buffer keeps what has come, else behind."""
        enters, left = port.startswith("carried"), stream is not None and stream.output.startswith("carried")
        return chain.kept if enters else not (left and chain.kept)

    def _named_at(self, node: Node, port: str) -> tuple[str, int]:
        """The tensor and the level whose payloads the references at a port of a block name; -1 of none."""
        if port.startswith("carried"):
            graph = self.graph.graph
            behind = next(stream for stream in graph.streams_from(node) if stream.output == port)
            return self._named_at(graph.nodes[behind.target], behind.input)
        tensor, place = node["tensor"], -1
        if node.primitive.loads and port == "ref":
            place = len(self.graph.tensors[tensor].levels) - 1
        elif node.primitive.of_level and not node.primitive.writes:
            place = int(node["mode"]) - 1 if port == ("base" if node.type == "locate" else "ref") else -1
        return tensor, place

    def behind(self, leaf: str, node: Node, name: str) -> LineFetch | None:
        """What a scanner's coordinates wait for."""
        if not (node.primitive.scans and node.level.lists):
            return None
        tensor, place, nest = node["tensor"], int(node["mode"]), self.nests[node.name, "crd"]
        for kind in ("coord", "elem"):
            chain = self._chain(tensor, place, kind)
            if chain is not None:
                return self._fetch(leaf, tensor, place, kind, chain, nest, f"{name}.coordinates")
        return None

    def _fetch(
        self, leaf: str, tensor: str, place: int, kind: str, chain: Chain, nest: Nest, name: str
    ) -> LineFetch:
        array, memory = self._array(tensor, place, kind, chain), self.memory
        fetch = memory.machine.add(
            LineFetch,
            name,
            array.base,
            integers_of(array.lines),
            line_bytes=memory.line,
            kept=chain.kept,
            lets_go=self._lets_go(chain, nest),
            window=memory.timing.window,
            outstanding=memory.timing.ahead,
            port=memory.port(chain),
        )
        memory.reads(chain, leaf, fetch)
        return fetch

    def _chain(self, tensor: str, place: int, kind: str) -> Chain | None:
        ranks = self.graph.orders[tensor]
        return self.chains.get((tensor, ranks[place], kind))

    def _lets_go(self, chain: Chain, nest: Nest) -> int:
        """Level of the stops, in a stream of such a nest, with which the buffer lets go what it has."""
        if not chain.kept or not chain.evict_on:
            return NEVER
        outer = chain.evict_on in self.stage.outer  # of which an instance knows tasks alone
        if chain.evict_on not in nest and not outer:
            return EACH
        place = nest.index(chain.evict_on) if chain.evict_on in nest else 0
        return max(EACH, len(nest) - 2 - place)

    def _array(self, tensor: str, place: int, kind: str, chain: Chain) -> StoredArray:
        if (tensor, place, kind) not in self.arrays:
            whole, rows = chain.format.kind == "U", self.memory.rows(chain)
            array = stored_array(self.graph.tensors[tensor], place, whole=whole, rows=rows)
            what = (base_name(tensor), self.graph.orders[tensor], place, kind)
            self.arrays[tensor, place, kind] = array.at(self.memory.laid_out(what, array.size, chain))
        return self.arrays[tensor, place, kind]

    def ways(self, node: Node) -> list[tuple[Chain, ArrayLines]]:
        """The arrays whose lines a merger's ways read, for one who asks for them next."""
        tensor, place = node["tensor"], int(node["mode"])
        found: list[tuple[Chain, ArrayLines]] = []
        for kind in ("elem", "coord", "payload"):
            chain = self._chain(tensor, place, kind)
            if chain is not None:
                array = self._array(tensor, place, kind, chain)
                rows, first = array.rows, integers_of(array.first)
                before = sum(bool(chain.shared) and one.shared == chain.shared for one, _lines in found)
                port = self.memory.port(chain) + before
                lines = ArrayLines(array.base, rows.line_bytes, first, rows.entries, rows.rows, port)
                found.append((chain, lines))
        return found

    def writers(self, leaf: str, number: int, node: Node, name: str) -> Iterator[LineWriter]:
        """What takes a writer's stream to memory too: coordinates and where their fibers begin, or values.

        Args:
            leaf: the instance, which begins names of its blocks.
            number: of it.
            node: of the writer.
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
        """What writes the coordinates of tasks."""
        name = f"{leaf}tasks.{loop}"
        yield from self._writers(leaf, number, (loop,), ("coord",), name, level=NEVER)

    def sum_writers(self, name: str) -> Iterator[LineWriter]:
        """What writes the elements that tasks gave in parts, each once."""
        for kinds in (("coord", "elem"), ("payload",)):
            ranks = self.graph.orders[self.graph.einsum.output][-1:]
            yield from self._writers(name, 0, ranks, kinds, f"{name}.{kinds[0]}s", level=NEVER)

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
    ) -> Iterator[LineWriter]:
        output, memory = self.graph.einsum.output, self.memory
        for rank in ranks:
            for kind in kinds:
                chain = self.chains.get((output, rank, kind))
                if chain is None:
                    continue
                rows = memory.rows(chain)
                base = memory.area((output, self.graph.orders[output], rank, kind), chain, number)
                writer = memory.machine.add(
                    LineWriter,
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
                    port=memory.port(chain) if chain.cached else 0,
                )
                memory.writes(chain, leaf, writer)
                yield writer
