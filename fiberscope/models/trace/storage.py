"""Memory and buffers of one Einsum: their bindings, and the traffic between them.

The coordinates or the payloads of a rank have a path: the components that bind them, from the root of the
architecture down. Fills and write-backs of a buffer are the traffic of the component above it on the path.
Accesses of compute units to the last buffer count only with the effect ``on_chip``. Data bound to a single
component does not move.

Source: TeAAL, MICRO 2023, Section 4.3, and counts of the public tool; additions are in ``Effects``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fiberscope.models.trace.caches import AccessList, BeladyCache, CacheFeed, SetAssociativeCache
from fiberscope.models.trace.evaluate import Attachment, Prepared
from fiberscope.models.trace.instances import ElementCounter, Instances, Multicast
from fiberscope.models.trace.options import Effects
from fiberscope.models.trace.recorder import Buffet, Capacity, EagerBuffet, HeadExchange, Recorder
from fiberscope.models.trace.spacetime import find_outermost_in_space
from fiberscope.models.trace.specification import Component, Configuration, StorageBinding, Tensor
from fiberscope.models.trace.storage_format import RankFormat
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree

DEFAULT_WAYS = 16  # ways of a cache without that attribute
WHOLE_FIBER = 1 << 62  # elements per line if a fiber is a single line


def count_lines(tree: FiberTree, rank: str, elements_per_line: int) -> Integers:
    """Return the number of lines of each fiber of a rank; every fiber begins a new line.

    Args:
        tree: the tensor in its order of storage.
        rank: name of the rank.
        elements_per_line: elements in a line, at least 1.
    """
    occupancies = np.diff(tree.segments[tree.level(rank)])
    return -(-occupancies // elements_per_line)


def count_lines_below(tree: FiberTree, root: str, rank: str, elements_per_line: int) -> Integers:
    """Return the number of lines of the fibers of ``rank`` below each fiber of ``root``.

    Args:
        tree, elements_per_line: the arguments of ``count_lines``.
        root: name of a rank.
        rank: name of ``root``, or of a rank below it.
    """
    root_level, level_of_rank = tree.level(root), tree.level(rank)
    bounds = np.arange(len(tree.segments[root_level]))
    # follow the segments down: bounds of the fibers below each root fiber, at the next level
    for level in range(root_level, level_of_rank):
        bounds = tree.segments[level][bounds]
    total = np.concatenate(([0], np.cumsum(count_lines(tree, rank, elements_per_line))))
    return np.asarray(np.diff(total[bounds]))


@dataclass(frozen=True)
class Traffic:
    """Bits of one tensor read from and written to a component."""

    read: int = 0
    write: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        """Return the sum of both."""
        return Traffic(self.read + other.read, self.write + other.write)


@dataclass(frozen=True)
class Space:
    """The loop in space that selects the instance.

    Args:
        serials: number of bodies begun, by level; the array of the running nest itself.
        level: index of the loop in ``serials``.
    """

    serials: Integers
    level: int


@dataclass(frozen=True)
class BoundStorage:
    """One binding of a buffer with its recorders.

    Args:
        binding: the binding of the specification.
        bits: the bits of an element.
        recorders: the counters of the binding, one an instance.
        recorder: the recorder of all accesses: the only counter, or a distributor to the instances.
        headers: counter of fiber headers; None if headers do not count.
        header_bits: bits of the header of a fiber.
        served: counter of the accesses of compute units; None if they do not count.
        by_coordinate: whether an element lies at the address of its coordinate, not of its position.
        rank: rank of the tensor whose accesses are recorded; the bound rank, or the rank that makes the nodes
            of linked lists.
    """

    binding: StorageBinding
    bits: int
    recorders: Sequence[Recorder]
    recorder: Recorder
    headers: Buffet | None = None
    header_bits: int = 0
    served: ElementCounter | None = None
    by_coordinate: bool = False
    rank: str = ""

    def attachments(self) -> Iterator[Attachment]:
        """Yield the recorders with their accesses."""
        yield self._make_attachment(self.recorder, self.binding.root)
        if self.headers is not None:
            yield self._make_attachment(self.headers, self.binding.root)
        if self.served is not None:
            yield self._make_attachment(self.served, None)

    def _make_attachment(self, recorder: Recorder, root: str | None) -> Attachment:
        binding = self.binding
        return Attachment(binding.tensor, self.rank, binding.kind, recorder, root, self.by_coordinate)

    def header_traffic(self) -> Traffic:
        """Return the traffic of the headers."""
        if self.headers is None:
            return Traffic()
        headers, bits = self.headers, self.header_bits
        return Traffic(headers.lines_read * bits, headers.lines_written * bits)

    def lines(self) -> tuple[int, int]:
        """Return the lines that a buffet reads, without lines shared by multicast, and writes."""
        buffets = [buffet for buffet in self.recorders if isinstance(buffet, Buffet)]
        shared = self.recorder.lines_shared if isinstance(self.recorder, Multicast) else 0
        lines_read = sum(buffet.lines_read for buffet in buffets) - shared
        return int(lines_read), int(sum(buffet.lines_written for buffet in buffets))

    def served_traffic(self) -> Traffic:
        """Return the traffic of compute units."""
        if self.served is None:
            return Traffic()
        return Traffic(self.served.reads * self.bits, self.served.writes * self.bits)


def choose_recorder_target(recorders: Sequence[Recorder], space: Space | None, multicast: bool) -> Recorder:
    """Return the recorder of all accesses of a binding: a distributor if there are several instances.

    Args:
        recorders: the recorder of each instance.
        space: the loop in space that selects the instance; None if no loop does.
        multicast: whether buffets share a read of the same line in the same round.
    """
    if space is None or len(recorders) == 1:
        return recorders[0]
    kind = Multicast if multicast and isinstance(recorders[0], Buffet) else Instances
    return kind(list(recorders), space.serials, space.level)


@dataclass
class Buffer:
    """A buffer in one Einsum.

    Args:
        component: the component of the architecture.
        copies: lists of accesses of a cache, one an instance.
        capacities: capacities of a buffet, one an instance; empty if capacity does not count or has no bound.
        uses_srrip: whether a cache is set-associative, without Belady's OPT.
        sources: by tensor, the components above the buffer on the paths of its bindings.
        bound: its bindings, in the order of the file.
    """

    component: Component
    copies: Sequence[AccessList]
    capacities: Sequence[Capacity] = ()
    uses_srrip: bool = False
    sources: dict[str, list[str]] = field(default_factory=dict)
    bound: list[BoundStorage] = field(default_factory=list)

    def traffic(self) -> dict[str, Traffic]:
        """Return the traffic with the level above, by tensor; call once, as caches discard their accesses."""
        width, total = self.component.width, dict.fromkeys(self.tensors, Traffic())
        for bound, (lines_read, lines_written) in zip(self.bound, self._count_lines(), strict=True):
            lines = Traffic(lines_read * width, lines_written * width)
            total[bound.binding.tensor] += lines + bound.header_traffic()
        return total

    def served(self) -> dict[str, Traffic]:
        """Return the traffic of compute units, by tensor."""
        total: dict[str, Traffic] = {}
        for bound in self.bound:
            if bound.served is not None:
                tensor = bound.binding.tensor
                total[tensor] = total.get(tensor, Traffic()) + bound.served_traffic()
        return total

    @property
    def tensors(self) -> list[str]:
        """Return the tensors of the buffer's bindings."""
        return list(dict.fromkeys(bound.binding.tensor for bound in self.bound))

    def _count_lines(self) -> list[tuple[int, int]]:
        """Return the lines read and written by each binding."""
        if self.component.kind == "Buffet":
            return [bound.lines() for bound in self.bound]
        caches = [self._replay(accesses) for accesses in self.copies]
        return [
            (
                sum(cache.lines_read[owner] for cache in caches),
                sum(cache.lines_written[owner] for cache in caches),
            )
            for owner in range(len(self.bound))
        ]

    def _replay(self, accesses: AccessList) -> BeladyCache | SetAssociativeCache:
        # without a depth, the cache has room for every line
        lines = max(accesses.lines, 1) if self.component.depth is None else self.component.depth
        ways = self.component.ways or DEFAULT_WAYS
        cache = SetAssociativeCache(lines, ways) if self.uses_srrip else BeladyCache(lines)
        cache.replay(accesses)
        accesses.clear()
        return cache


class Storage:
    """The buffers of one Einsum, with their recorders.

    Args:
        prepared: the Einsum before its run.
        configuration: the configuration of the Einsum.
        tensors: the tensors of the specification, by name.
        effects: effects to count in addition to those of the public tool.
    """

    def __init__(
        self,
        prepared: Prepared,
        configuration: Configuration,
        tensors: Mapping[str, Tensor],
        effects: Effects,
    ) -> None:
        self.prepared = prepared
        self.components = configuration.components
        self.tensors = tensors
        self.effects = effects
        self.space = _find_space(prepared) if effects.instances else None
        self.buffers: dict[str, Buffer] = {}
        self.totals: dict[str, dict[str, Traffic]] | None = None
        for binding in prepared.einsum.bindings.storage:
            # DRAM has no recorders: the buffers below charge their fills to it
            if self.components[binding.component].kind != "DRAM" and self._find_bits(binding):
                self._bind(binding)

    def attachments(self) -> Iterator[Attachment]:
        """Yield the recorders with their accesses.

        A binding is recorded if its tensor comes from a component above the buffer, if accesses of compute
        units count, or if the buffer is a cache that fills from above for any tensor.
        """
        for buffer in self.buffers.values():
            # bindings of a cache compete for its lines, so their accesses are replayed together
            shared = bool(buffer.sources) and buffer.component.kind == "Cache"
            for bound in buffer.bound:
                if shared or bound.served is not None or bound.binding.tensor in buffer.sources:
                    yield from bound.attachments()

    def traffic(self) -> dict[str, dict[str, Traffic]]:
        """Return the traffic of a completed run by component and tensor.

        As in the public tool, all fills of a buffer are charged to each component above it on a path of the
        tensor. The first call counts the traffic and releases the buffers.
        """
        if self.totals is None:
            self.totals = self._collect_traffic()
            self.buffers.clear()
        return self.totals

    def _collect_traffic(self) -> dict[str, dict[str, Traffic]]:
        totals: dict[str, dict[str, Traffic]] = {}
        for buffer in self.buffers.values():
            fills = buffer.traffic() if buffer.sources else {}
            for tensor, sources in buffer.sources.items():
                for source in sources:
                    _charge(totals, source, tensor, fills[tensor])
            for tensor, served in buffer.served().items():
                _charge(totals, buffer.component.name, tensor, served)
        return totals

    def _find_bits(self, binding: StorageBinding) -> int:
        """Return the bits of an element; 0 if the format stores none or has another rank order."""
        tensor_format = self.tensors[binding.tensor].formats[binding.format]
        order, is_written = self._order(binding.tensor), binding.tensor == self.prepared.einsum.output
        if not (tensor_format.accepts(order) if is_written else tensor_format.rank_order == order):
            return 0
        return tensor_format.ranks[binding.rank].count_entry_bits(binding.kind)

    def _find_recorded_rank(self, binding: StorageBinding) -> str:
        """Return the rank whose accesses are recorded; for links and heads, the rank that makes nodes."""
        linked = self._find_linked_ranks(binding)
        return self._order(binding.tensor)[len(linked) - 1] if binding.rank in linked else binding.rank

    def _find_linked_ranks(self, binding: StorageBinding) -> tuple[str, ...]:
        """Return the ranks of the heads and nodes of linked lists that the Einsum writes; empty without."""
        is_written = binding.tensor == self.prepared.einsum.output
        return self.tensors[binding.tensor].formats[binding.format].linked if is_written else ()

    def _order(self, tensor: str) -> tuple[str, ...]:
        if tensor == self.prepared.einsum.output:
            return tuple(rank.name for rank in self.prepared.output)
        return self.prepared.trees[tensor].names

    def _bind(self, binding: StorageBinding) -> None:
        """Add the recorders of a binding to its buffer, and the component above the buffer to its sources."""
        buffer = self._buffer(binding.component)
        path = self._find_path(binding)
        index = path.index(binding.component)
        if index:  # the first component of the path has nothing above it
            sources = buffer.sources.setdefault(binding.tensor, [])
            sources += [path[index - 1]] if path[index - 1] not in sources else []
        recorders = [self._make_recorder(binding, buffer, copy) for copy in range(len(buffer.copies))]
        recorder = choose_recorder_target(recorders, self.space, self.effects.multicast)
        headers = self._make_headers(binding)
        served = ElementCounter() if self.effects.on_chip and binding.component == path[-1] else None
        rank_format = self._rank_format(binding)
        # in an uncompressed rank, an element lies at the address of its coordinate
        is_positional = self.effects.places and rank_format.kind == "U"
        bits = self._find_bits(binding)
        counters = recorders, recorder, headers, rank_format.fhbits, served
        rank = self._find_recorded_rank(binding)
        buffer.bound.append(BoundStorage(binding, bits, *counters, is_positional, rank))

    def _buffer(self, name: str) -> Buffer:
        if name not in self.buffers:
            component = self.components[name]
            copies = component.all_instances if self.space is not None else 1
            accesses = [AccessList() for _ in range(copies)]
            is_limited = self.effects.capacity and component.depth is not None
            capacities = [Capacity(component.depth or 0) for _ in range(copies)] if is_limited else []
            self.buffers[name] = Buffer(component, accesses, capacities, self.effects.replacement)
        return self.buffers[name]

    def _find_path(self, binding: StorageBinding) -> list[str]:
        """Return the components that bind the same data, from the root of the architecture."""
        key = (binding.tensor, binding.rank, binding.kind)
        components = {
            entry.component
            for entry in self.prepared.einsum.bindings.storage
            if (entry.tensor, entry.rank, entry.kind) == key
        }
        return [name for name in self.components if name in components]

    def _make_recorder(self, binding: StorageBinding, buffer: Buffer, copy: int) -> Recorder:
        # At least 1, as the binding was checked
        elements = buffer.component.width // self._find_bits(binding)
        if buffer.component.kind == "Cache":
            return CacheFeed(buffer.copies[copy], len(buffer.bound), elements, self._shape(binding))
        return self._make_buffet(binding, elements, buffer.capacities[copy] if buffer.capacities else None)

    def _make_headers(self, binding: StorageBinding) -> Buffet | None:
        """Return the buffet that counts headers: of coordinates, or of payloads without coordinates."""
        rank_format = self._rank_format(binding)
        has_header = binding.kind != "payload" or not rank_format.cbits
        if not self.effects.headers or not rank_format.fhbits or not has_header:
            return None
        # headers take no lines of the buffer's capacity
        return self._make_buffet(binding, WHOLE_FIBER, None)

    def _make_buffet(self, binding: StorageBinding, elements: int, capacity: Capacity | None) -> Buffet:
        level = self.prepared.levels[binding.evict_on or "root"]  # without evict-on, lines stay for the run
        if binding.rank in self._find_linked_ranks(binding)[:1]:
            return HeadExchange(elements, self._shape(binding), level, capacity)
        # lines of whole subtrees are known only for inputs, whose trees exist before the run
        if binding.root is None or binding.tensor == self.prepared.einsum.output:
            return Buffet(elements, self._shape(binding), level, capacity)
        tree = self.prepared.trees[binding.tensor]
        return EagerBuffet(
            count_lines_below(tree.whole, binding.root, binding.rank, elements), level, capacity
        )

    def _rank_format(self, binding: StorageBinding) -> RankFormat:
        return self.tensors[binding.tensor].formats[binding.format].ranks[binding.rank]

    def _shape(self, binding: StorageBinding) -> int:
        if binding.tensor == self.prepared.einsum.output:
            recorded = self._find_recorded_rank(binding)
            return next(rank.shape for rank in self.prepared.output if rank.name == recorded)
        tree = self.prepared.trees[binding.tensor]
        return next(rank.shape for rank in tree.ranks if rank.name == binding.rank)


def _charge(totals: dict[str, dict[str, Traffic]], component: str, tensor: str, traffic: Traffic) -> None:
    by_tensor = totals.setdefault(component, {})
    by_tensor[tensor] = by_tensor.get(tensor, Traffic()) + traffic


def _find_space(prepared: Prepared) -> Space | None:
    """Return the outermost loop in space, or None."""
    first = find_outermost_in_space(prepared)
    return None if first is None else Space(prepared.serials, prepared.levels[first])
