"""A buffer in one Einsum: what it binds, who is told of it, and what goes between it and what is above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fiberscope.models.trace.attach import Attachment
from fiberscope.models.trace.belady import AccessList, BeladyCache
from fiberscope.models.trace.instances import Instances, Multicast, Served
from fiberscope.models.trace.recorder import Buffet, Recorder, Room
from fiberscope.models.trace.set_associative import SetAssociativeCache
from fiberscope.models.trace.specification import Component, StorageBinding
from fiberscope.workloads.canonical import Integers

__all__ = ["Bound", "Buffer", "Space", "Traffic", "told_of"]

WAYS = 16  # of a cache whose specification does not say


@dataclass(frozen=True)
class Traffic:
    """Bits that a component gave and took, of one tensor."""

    read: int = 0
    write: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        """What both are together."""
        return Traffic(self.read + other.read, self.write + other.write)


@dataclass(frozen=True)
class Space:
    """Which instance works: the loop in space by its level in the nest's serials."""

    serials: Integers
    level: int


@dataclass(frozen=True)
class Bound:
    """One binding of a buffer.

    Args:
        binding: of the specification.
        bits: of an element.
        recorders: who counts it, one an instance.
        told: who is told of it: the only recorder, or one that hands on to the instances.
        headers: who counts headers of fibers; None where they are not counted.
        header_bits: of a fiber.
        served: who counts what is served to compute; None where that is not counted.
    """

    binding: StorageBinding
    bits: int
    recorders: Sequence[Recorder]
    told: Recorder
    headers: Buffet | None = None
    header_bits: int = 0
    served: Served | None = None

    def attachments(self) -> Iterator[Attachment]:
        """The recorders, with what they are to be told of."""
        yield self._attached(self.told, self.binding.root)
        if self.headers is not None:
            yield self._attached(self.headers, self.binding.root)
        if self.served is not None:
            yield self._attached(self.served, None)

    def _attached(self, recorder: Recorder, root: str | None) -> Attachment:
        return Attachment(self.binding.tensor, self.binding.rank, self.binding.kind, recorder, root)

    def header_traffic(self) -> Traffic:
        """What the headers take."""
        if self.headers is None:
            return Traffic()
        headers, bits = self.headers, self.header_bits
        return Traffic(headers.lines_read * bits, headers.lines_written * bits)

    def lines(self) -> tuple[int, int]:
        """Of a buffet: lines read and written."""
        buffets = [each for each in self.recorders if isinstance(each, Buffet)]
        shared = self.told.lines_shared if isinstance(self.told, Multicast) else 0
        read = sum(each.lines_read for each in buffets) - shared
        return int(read), int(sum(each.lines_written for each in buffets))

    def served_traffic(self) -> Traffic:
        """What compute reads and writes."""
        if self.served is None:
            return Traffic()
        return Traffic(self.served.reads * self.bits, self.served.writes * self.bits)


def told_of(recorders: Sequence[Recorder], space: Space | None, multicast: bool) -> Recorder:
    """Who is told of a binding that each instance counts for itself."""
    if space is None or len(recorders) == 1:
        return recorders[0]
    kind = Multicast if multicast and isinstance(recorders[0], Buffet) else Instances
    return kind(list(recorders), space.serials, space.level)


@dataclass
class Buffer:
    """A buffer in one Einsum.

    Args:
        component: of the architecture.
        copies: of a cache, the accesses to each of its instances.
        rooms: of a buffet, that of each of its instances; empty where capacity is not counted.
        replaces: whether a cache has sets and ways, and does not know the future.
        sources: by tensor, the components above it on the paths of what it binds.
        bound: what it binds, in the order of the file.
    """

    component: Component
    copies: Sequence[AccessList]
    rooms: Sequence[Room] = ()
    replaces: bool = False
    sources: dict[str, list[str]] = field(default_factory=dict)
    bound: list[Bound] = field(default_factory=list)

    def traffic(self) -> dict[str, Traffic]:
        """What went between it and what is above it, by tensor; once: caches let go what they were asked."""
        width, total = self.component.width, dict.fromkeys(self.tensors, Traffic())
        for bound, (read, written) in zip(self.bound, self._lines(), strict=True):
            total[bound.binding.tensor] += Traffic(read * width, written * width) + bound.header_traffic()
        return total

    def served(self) -> dict[str, Traffic]:
        """What it served to compute, by tensor."""
        total: dict[str, Traffic] = {}
        for bound in self.bound:
            if bound.served is not None:
                tensor = bound.binding.tensor
                total[tensor] = total.get(tensor, Traffic()) + bound.served_traffic()
        return total

    @property
    def tensors(self) -> list[str]:
        """What it holds of, each once."""
        return list(dict.fromkeys(bound.binding.tensor for bound in self.bound))

    def _lines(self) -> list[tuple[int, int]]:
        """Lines read and written by binding."""
        if self.component.kind == "Buffet":
            return [bound.lines() for bound in self.bound]
        caches = [self._replayed(accesses) for accesses in self.copies]
        return [
            (
                sum(cache.lines_read[owner] for cache in caches),
                sum(cache.lines_written[owner] for cache in caches),
            )
            for owner in range(len(self.bound))
        ]

    def _replayed(self, accesses: AccessList) -> BeladyCache | SetAssociativeCache:
        lines = max(accesses.lines, 1) if self.component.depth is None else self.component.depth
        cache = (
            SetAssociativeCache(lines, self.component.ways or WAYS) if self.replaces else BeladyCache(lines)
        )
        cache.replay(accesses)
        accesses.clear()
        return cache
