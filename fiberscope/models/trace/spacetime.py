"""Where and when each body of a loop nest runs, by its mapping to space and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fiberscope.models.trace.attach import Attachment
from fiberscope.models.trace.evaluate import Prepared
from fiberscope.models.trace.recorder import Recorder
from fiberscope.workloads.canonical import Integers

__all__ = ["Stamps", "Watcher"]

MOST_BODIES = 100_000  # of an Einsum; what comes later is left out


@dataclass(frozen=True)
class Stamps:
    """The bodies of one Einsum, in the order in which they ran.

    Args:
        einsum: its name.
        places: of each body, counted from 0 in the order of the ranks in space.
        times: of each body: steps, counted from 0.
        cut: whether there were more bodies than are kept.
    """

    einsum: str
    places: Integers
    times: Integers
    cut: bool

    @property
    def busy(self) -> float:
        """The share of places and steps in which a body runs."""
        if len(self.places) == 0:
            return 0.0
        return len(self.places) / ((1 + int(self.places.max())) * (1 + int(self.times.max())))


class _Serials(Recorder):
    """Keeps of each access which iteration of one loop it is in."""

    def __init__(self, evict_level: int) -> None:
        super().__init__(1, 1, evict_level)
        self.groups: list[int] = []

    def touch(  # type: ignore[override]  # compiled, it gives a number
        self, fiber: int, position: int, write: bool, group: int
    ) -> int:
        """Keep the iteration."""
        if len(self.groups) <= MOST_BODIES:
            self.groups.append(group)
        return 0


@dataclass
class Watcher:
    """Sees every body of the Einsums that are placed in space and time; an observer of ``run``."""

    seen: list[tuple[Prepared, list[_Serials]]] = field(default_factory=list)

    def observe(self, prepared: Prepared) -> Sequence[Attachment]:
        """Ask to be told of the innermost loop."""
        einsum = prepared.einsum
        innermost = einsum.loop_order[-1]
        tensor = next((name for name, tree in prepared.trees.items() if innermost in tree.names), None)
        if einsum.spacetime is None or tensor is None:
            return ()
        serials = [_Serials(prepared.levels[rank]) for rank in einsum.loop_order]
        self.seen.append((prepared, serials))
        return [Attachment(tensor, innermost, "payload", one) for one in serials]

    def stamps(self) -> list[Stamps]:
        """What was seen, Einsum by Einsum."""
        return [_stamps(prepared, serials) for prepared, serials in self.seen]


def _stamps(prepared: Prepared, serials: Sequence[_Serials]) -> Stamps:
    einsum, spacetime = prepared.einsum, prepared.einsum.spacetime
    assert spacetime is not None
    groups = np.array([one.groups[:MOST_BODIES] for one in serials], np.int64)
    positions = dict(zip(einsum.loop_order, _positions(groups), strict=True))
    places = _ordinals([positions[stamp.rank] for stamp in spacetime.space], groups.shape[1])
    times = _ordinals([positions[stamp.rank] for stamp in spacetime.time], groups.shape[1])
    if spacetime.slip:
        times = _as_soon_as_can_be(places)
    return Stamps(einsum.name, places, times, len(serials[0].groups) > MOST_BODIES)


def _positions(groups: Integers) -> list[Integers]:
    """Of each body its position in each loop: iterations since that of the loop around it began."""
    positions, begun = [], np.zeros(groups.shape[1], bool)
    for iterations in groups:
        if groups.shape[1]:
            begun[0] = True
        firsts = np.where(begun, iterations, 0)
        positions.append(iterations - np.maximum.accumulate(firsts))
        begun = begun | np.concatenate([[True], np.diff(iterations) != 0])[: groups.shape[1]]
    return positions


def _ordinals(columns: Sequence[Integers], count: int) -> Integers:
    """Tuples as their rank among all that there are."""
    if not columns or count == 0:
        return np.zeros(count, np.int64)
    _unique, places = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.asarray(places, np.int64).reshape(-1)


def _as_soon_as_can_be(places: Integers) -> Integers:
    """How many bodies ran at the same place before."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    firsts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(ordered))])
    lengths = np.diff([*firsts, len(ordered)])
    times = np.empty(len(places), np.int64)
    times[order] = np.arange(len(ordered)) - np.repeat(firsts, lengths)
    return times
