"""The memory and the buffers of one Einsum: which holds what, and what goes between them.

A rank of a tensor, its coordinates or its payloads, has a path: the components that bind it, from the root of
the architecture down. What a buffer on it takes in and gives back is the traffic of the component above it.
What the last one serves to compute is counted only if that is asked for, and what is bound to one component
alone is not moved.

Source: what the public TeAAL tool counts; TeAAL, MICRO 2023, Section 4.3. What goes beyond: ``Effects``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fiberscope.models.trace.attach import Attachment
from fiberscope.models.trace.belady import AccessList, CacheFeed
from fiberscope.models.trace.buffers import Bound, Buffer, Space, Traffic, told_of
from fiberscope.models.trace.evaluate import Prepared
from fiberscope.models.trace.footprint import lines_below
from fiberscope.models.trace.imbalance import outermost_in_space
from fiberscope.models.trace.instances import Served
from fiberscope.models.trace.options import Effects
from fiberscope.models.trace.recorder import Buffet, EagerBuffet, Recorder, Room
from fiberscope.models.trace.specification import Configuration, RankFormat, StorageBinding, Tensor

__all__ = ["Storage"]

WHOLE = 1 << 62  # elements to a line: a fiber has one


class Storage:
    """The buffers of one Einsum, with the recorders that its run tells of what it does.

    Args:
        prepared: the Einsum, about to run.
        configuration: that it runs on.
        tensors: of the specification, by name.
        effects: what is counted beside what the public tool counts.
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
        self.space = _space(prepared) if effects.instances else None
        self.buffers: dict[str, Buffer] = {}
        self.counted: dict[str, dict[str, Traffic]] | None = None
        for binding in prepared.einsum.bindings.storage:
            if self.components[binding.component].kind != "DRAM" and self._bits(binding):
                self._bind(binding)

    def attachments(self) -> Iterator[Attachment]:
        """The recorders, each with what it is to be told of; a buffet's only if something is above it."""
        for buffer in self.buffers.values():
            shared = bool(buffer.sources) and buffer.component.kind == "Cache"
            for bound in buffer.bound:
                if shared or bound.served is not None or bound.binding.tensor in buffer.sources:
                    yield from bound.attachments()

    def traffic(self) -> dict[str, dict[str, Traffic]]:
        """After the run: by component and tensor.

        All that a buffer takes of a tensor is charged to each component that is above it on one of the
        tensor's paths, as the public tool does. When it has been counted, caches need the memory no more that
        lists what they were asked for.
        """
        if self.counted is None:
            self.counted = self._traffic()
        return self.counted

    def _traffic(self) -> dict[str, dict[str, Traffic]]:
        charged: dict[str, dict[str, Traffic]] = {}
        for buffer in self.buffers.values():
            moved = buffer.traffic() if buffer.sources else {}
            for tensor, sources in buffer.sources.items():
                for source in sources:
                    _charge(charged, source, tensor, moved[tensor])
            for tensor, served in buffer.served().items():
                _charge(charged, buffer.component.name, tensor, served)
        return charged

    def _bits(self, binding: StorageBinding) -> int:
        """Bits of an element; 0 if there are none, or the tensor is in another order than the format."""
        stored = self.tensors[binding.tensor].formats[binding.format]
        if stored.rank_order != self._order(binding.tensor):
            return 0
        rank = stored.ranks[binding.rank]
        return {"coord": rank.cbits, "payload": rank.pbits, "elem": rank.cbits + rank.pbits}[binding.kind]

    def _order(self, tensor: str) -> tuple[str, ...]:
        if tensor == self.prepared.einsum.output:
            return tuple(rank.name for rank in self.prepared.output)
        return self.prepared.trees[tensor].names

    def _bind(self, binding: StorageBinding) -> None:
        buffer = self._buffer(binding.component)
        path = self._path(binding)
        place = path.index(binding.component)
        if place:
            sources = buffer.sources.setdefault(binding.tensor, [])
            sources += [path[place - 1]] if path[place - 1] not in sources else []
        recorders = [self._recorder(binding, buffer, copy) for copy in range(len(buffer.copies))]
        told = told_of(recorders, self.space, self.effects.multicast)
        headers = self._headers(binding)
        served = Served() if self.effects.on_chip and binding.component == path[-1] else None
        bits, header_bits = self._bits(binding), self._rank_format(binding).fhbits
        buffer.bound.append(Bound(binding, bits, recorders, told, headers, header_bits, served))

    def _buffer(self, name: str) -> Buffer:
        if name not in self.buffers:
            component = self.components[name]
            copies = component.all_instances if self.space is not None else 1
            accesses = [AccessList() for _ in range(copies)]
            limited = self.effects.capacity and component.depth is not None
            rooms = [Room(component.depth or 0) for _ in range(copies)] if limited else []
            self.buffers[name] = Buffer(component, accesses, rooms, self.effects.replacement)
        return self.buffers[name]

    def _path(self, binding: StorageBinding) -> list[str]:
        """The components that bind the same, from the root of the architecture."""
        what = (binding.tensor, binding.rank, binding.kind)
        binding_it = {
            other.component
            for other in self.prepared.einsum.bindings.storage
            if (other.tensor, other.rank, other.kind) == what
        }
        return [name for name in self.components if name in binding_it]

    def _recorder(self, binding: StorageBinding, buffer: Buffer, copy: int) -> Recorder:
        elements = buffer.component.width // self._bits(binding)
        if buffer.component.kind == "Cache":
            return CacheFeed(buffer.copies[copy], len(buffer.bound), elements, self._shape(binding))
        return self._buffet(binding, elements, buffer.rooms[copy] if buffer.rooms else None)

    def _headers(self, binding: StorageBinding) -> Buffet | None:
        """Who counts headers: with the coordinates, or with the payloads where there are no coordinates."""
        stored = self._rank_format(binding)
        carries = binding.kind != "payload" or not stored.cbits
        if not self.effects.headers or not stored.fhbits or not carries:
            return None
        return self._buffet(binding, WHOLE, None)

    def _buffet(self, binding: StorageBinding, elements: int, room: Room | None) -> Buffet:
        level = self.prepared.levels[binding.evict_on or "root"]
        if binding.root is None or binding.tensor == self.prepared.einsum.output:
            return Buffet(elements, self._shape(binding), level, room)
        tree = self.prepared.trees[binding.tensor]
        return EagerBuffet(lines_below(tree.whole, binding.root, binding.rank, elements), level, room)

    def _rank_format(self, binding: StorageBinding) -> RankFormat:
        return self.tensors[binding.tensor].formats[binding.format].ranks[binding.rank]

    def _shape(self, binding: StorageBinding) -> int:
        if binding.tensor == self.prepared.einsum.output:
            return next(rank.shape for rank in self.prepared.output if rank.name == binding.rank)
        tree = self.prepared.trees[binding.tensor]
        return next(rank.shape for rank in tree.ranks if rank.name == binding.rank)


def _charge(charged: dict[str, dict[str, Traffic]], component: str, tensor: str, traffic: Traffic) -> None:
    at = charged.setdefault(component, {})
    at[tensor] = at.get(tensor, Traffic()) + traffic


def _space(prepared: Prepared) -> Space | None:
    """The outermost loop in space; None where no loop is."""
    first = outermost_in_space(prepared)
    return None if first is None else Space(prepared.serials, prepared.levels[first])
