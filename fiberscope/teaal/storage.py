"""The memory and the buffers of one Einsum: which holds what, and what goes between them.

A rank of a tensor, its coordinates or its payloads, has a path: the components that bind it, from the root of
the architecture down. What a buffer on it takes in and gives back is the traffic of the component above it.
What the last one serves to compute is not counted, nor is what is bound to one component alone.

Source: what the public TeAAL tool counts; TeAAL, MICRO 2023, Section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fiberscope.teaal.attach import Attachment
from fiberscope.teaal.belady import AccessList, BeladyCache, CacheFeed
from fiberscope.teaal.evaluate import Prepared
from fiberscope.teaal.footprint import lines_below
from fiberscope.teaal.recorder import Buffet, EagerBuffet, Recorder
from fiberscope.teaal.specification import Component, Configuration, StorageBinding, Tensor

__all__ = ["Storage", "Traffic"]


@dataclass(frozen=True)
class Traffic:
    """Bits that a component gave and took, of one tensor."""

    read: int = 0
    write: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        """What both are together."""
        return Traffic(self.read + other.read, self.write + other.write)


@dataclass
class Buffer:
    """A buffer in one Einsum.

    Args:
        component: of the architecture.
        sources: by tensor, the components above it on the paths of what it binds.
        bound: what it binds, in the order of the file, and who is told of it.
        accesses: of a cache, those of all its bindings.
    """

    component: Component
    sources: dict[str, list[str]] = field(default_factory=dict)
    bound: list[tuple[StorageBinding, Recorder]] = field(default_factory=list)
    accesses: AccessList = field(default_factory=AccessList)

    def traffic(self) -> dict[str, Traffic]:
        """What went between it and what is above it, by tensor."""
        width, total = self.component.width, dict.fromkeys(self.tensors, Traffic())
        for (binding, _), (read, written) in zip(self.bound, self._lines(), strict=True):
            total[binding.tensor] += Traffic(read * width, written * width)
        return total

    @property
    def tensors(self) -> list[str]:
        """What it holds of, each once."""
        return list(dict.fromkeys(binding.tensor for binding, _ in self.bound))

    def _lines(self) -> list[tuple[int, int]]:
        """Lines read and written by binding."""
        recorders = [recorder for _, recorder in self.bound]
        if self.component.kind == "Buffet":
            return [(int(each.lines_read), int(each.lines_written)) for each in recorders]  # type: ignore[attr-defined]
        lines = self.accesses.lines if self.component.depth is None else self.component.depth
        cache = BeladyCache(lines)
        cache.replay(self.accesses)
        return [(cache.lines_read[owner], cache.lines_written[owner]) for owner in range(len(recorders))]


class Storage:
    """The buffers of one Einsum, with the recorders that its run tells of what it does.

    Args:
        prepared: the Einsum, about to run.
        configuration: that it runs on.
        tensors: of the specification, by name.
    """

    def __init__(
        self, prepared: Prepared, configuration: Configuration, tensors: Mapping[str, Tensor]
    ) -> None:
        self.prepared = prepared
        self.components = configuration.components
        self.tensors = tensors
        self.buffers: dict[str, Buffer] = {}
        for binding in prepared.einsum.bindings.storage:
            if self.components[binding.component].kind != "DRAM" and self._bits(binding):
                self._bind(binding)

    def attachments(self) -> Iterator[Attachment]:
        """The recorders, each with what it is to be told of; a buffet's only if something is above it."""
        for buffer in self.buffers.values():
            for binding, recorder in buffer.bound:
                if binding.tensor in buffer.sources or (buffer.sources and buffer.component.kind == "Cache"):
                    yield Attachment(binding.tensor, binding.rank, binding.kind, recorder, binding.root)

    def traffic(self) -> dict[str, dict[str, Traffic]]:
        """After the run: by component and tensor.

        All that a buffer takes of a tensor is charged to each component that is above it on one of the
        tensor's paths, as the public tool does.
        """
        charged: dict[str, dict[str, Traffic]] = {}
        for buffer in self.buffers.values():
            moved = buffer.traffic() if buffer.sources else {}
            for tensor, sources in buffer.sources.items():
                for source in sources:
                    at = charged.setdefault(source, {})
                    at[tensor] = at.get(tensor, Traffic()) + moved[tensor]
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
        component = self.components[binding.component]
        buffer = self.buffers.setdefault(component.name, Buffer(component))
        buffer.bound.append((binding, self._recorder(binding, buffer)))
        source = self._above(binding)
        if source is not None:
            sources = buffer.sources.setdefault(binding.tensor, [])
            sources += [source] if source not in sources else []

    def _above(self, binding: StorageBinding) -> str | None:
        """The component above this one on the path of what is bound."""
        what = (binding.tensor, binding.rank, binding.kind)
        binding_it = {
            other.component
            for other in self.prepared.einsum.bindings.storage
            if (other.tensor, other.rank, other.kind) == what
        }
        path = [name for name in self.components if name in binding_it]
        place = path.index(binding.component)
        return path[place - 1] if place else None

    def _recorder(self, binding: StorageBinding, buffer: Buffer) -> Recorder:
        elements = buffer.component.width // self._bits(binding)
        shape = self._shape(binding)
        if buffer.component.kind == "Cache":
            return CacheFeed(buffer.accesses, len(buffer.bound), elements, shape)
        level = self.prepared.levels[binding.evict_on or "root"]
        if binding.root is None or binding.tensor == self.prepared.einsum.output:
            return Buffet(elements, shape, level)
        tree = self.prepared.trees[binding.tensor]
        return EagerBuffet(lines_below(tree, binding.root, binding.rank, elements), level)

    def _shape(self, binding: StorageBinding) -> int:
        if binding.tensor == self.prepared.einsum.output:
            return next(rank.shape for rank in self.prepared.output if rank.name == binding.rank)
        tree = self.prepared.trees[binding.tensor]
        return tree.ranks[tree.level(binding.rank)].shape
