"""Attribution of the cycles in which a machine's busiest worker waits: to components, fill and drain.

Of a run that was watched. In order, each group of kinds takes those cycles in which one of its components
is busy, of those that no group before it has taken. Where the worker waits at a port, a component counts that
it shares with others or has for itself; not one within another of several alike, as another PE has. Where it
has nothing to do at all, every one counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from fiberscope.results.recording.document import StateTimeline
from fiberscope.sim.names import family_name

__all__ = ["Group", "attribute_stalls", "cut_window", "describe_idle"]

Cycles = npt.NDArray[np.int64]  # by interval


class Group(BaseModel):
    """Kinds of components, and what takes time while they work."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: str
    kinds: tuple[str, ...]


def attribute_stalls(seen: StateTimeline, workers: Sequence[str], groups: Sequence[Group]) -> dict[str, int]:
    """Cycles by what works in them while none of the workers does; of waits those in which nothing does, too.

    Within an interval of several cycles nothing is said to have been at the same time as long as it may have
    been one after the other.

    Args:
        seen: the states over time of the workers and of all components in the groups.
        workers: the busiest component of each of a machine's phases.
        groups: in order.
    """
    rest = _lengths(seen)
    for worker in workers:
        rest = np.maximum(rest - _spent(seen, worker, "busy"), 0)
    others = [name for name in seen.components if name not in workers]
    used = {group.part: np.zeros_like(rest) for group in groups}
    cycles_by_cause: dict[str, int] = {}

    def share_out(cycles: Cycles, names: Sequence[str], when: str) -> Cycles:
        for group in groups:
            now = np.minimum(cycles, np.maximum(_busiest(seen, names, group) - used[group.part], 0))
            used[group.part] += now
            cycles = cycles - now
            if now.any():
                cycles_by_cause[f"{when}: {group.part}"] = int(now.sum())
        return cycles

    for worker in workers:
        waits = np.minimum(_stalled(seen, worker), rest)
        rest -= waits
        near = [name for name in others if not _elsewhere(name, worker)]
        when = f"while the busiest {family_name(worker)} waits"
        cycles_by_cause[f"{when}: unexplained"] = int(share_out(waits, near, when).sum())
    share_out(rest, others, describe_idle(workers))
    return cycles_by_cause


def describe_idle(workers: Sequence[str]) -> str:
    """Return the label of the cycles in which the busiest component of each phase is idle."""
    kinds = list(dict.fromkeys(family_name(worker) for worker in workers))
    return f"while the busiest {' and '.join(kinds)} {'is' if len(kinds) == 1 else 'are'} idle"


def cut_window(seen: StateTimeline, begin: int, end: int) -> StateTimeline:
    """Return the part of a timeline whose intervals lie whole between two cycles of the first clock."""
    first = -(-(begin - seen.start) // seen.interval)
    last = max(first, (end - seen.start) // seen.interval if end < seen.end else seen.intervals)
    components = {
        name: component.model_copy(
            update={"states": {state: spent[first:last] for state, spent in component.states.items()}}
        )
        for name, component in seen.components.items()
    }
    start = seen.start + first * seen.interval
    end = min(seen.end, seen.start + last * seen.interval)
    return seen.model_copy(update={"start": start, "end": end, "components": components})


def _busiest(seen: StateTimeline, names: Sequence[str], group: Group) -> Cycles:
    """The cycles in which the busiest of these components that are in the group is busy, by interval."""
    busy = [_spent(seen, name, "busy") for name in names if family_name(name) in group.kinds]
    busiest: Cycles = np.max([np.zeros_like(_lengths(seen)), *busy], axis=0)
    return busiest


def _elsewhere(name: str, worker: str) -> bool:
    """Return whether a component belongs to another of several equal parts than the worker does."""
    for part, other in zip(name.split("."), worker.split("."), strict=False):
        if part != other:
            return family_name(part) == family_name(other)
    return False


def _lengths(seen: StateTimeline) -> Cycles:
    """The cycles of each interval."""
    ends = np.arange(1, seen.intervals + 1, dtype=np.int64) * seen.interval
    return np.diff(np.minimum(ends, seen.end - seen.start), prepend=0)


def _stalled(seen: StateTimeline, name: str) -> Cycles:
    """The cycles that a component waits at a port, by interval."""
    ports = [state for state in seen.components[name].states if state not in ("busy", "idle")]
    return sum((_spent(seen, name, port) for port in ports), np.zeros(seen.intervals, dtype=np.int64))


def _spent(seen: StateTimeline, name: str, state: str) -> Cycles:
    """Cycles of the first clock in which, or in part of which, a component is in a state, by interval."""
    component = seen.components[name]
    first = next(iter(seen.clocks.values())).base_ticks
    ticks = (
        np.array(component.states.get(state, [0] * seen.intervals), dtype=np.int64)
        * seen.clocks[component.clock].base_ticks
    )
    return -(-ticks // first)
