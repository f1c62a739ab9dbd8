"""Attribution of the cycles in which a machine's busiest worker stalls: to components, fill and drain.

A *worker* is a component that does the work of the machine, such as a multiplier or a PE. The input is a run
with recorded states. In order, each group of families takes the unattributed cycles in which one of its
components is busy. For stalls at a port, only shared components and the worker's own components count, not
components of a sibling of the worker such as another PE. For idle cycles, all components count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from fiberscope.results.recording.document import StateTimeline
from fiberscope.sim.names import family_name

Cycles = npt.NDArray[np.int64]  # by interval


class Group(BaseModel):
    """Families of components to which stalls are attributed together.

    Args:
        part: name of the group in the result.
        kinds: names of the families.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: str
    kinds: tuple[str, ...]


def attribute_stalls(
    timeline: StateTimeline, workers: Sequence[str], groups: Sequence[Group]
) -> dict[str, int]:
    """Attribute the cycles in which no worker is busy to busy groups; further stalls are unexplained.

    The result has no entry for idle cycles of the workers in which no group is busy.

    An interval has the cycles of each state but not their order. States of several components are assumed to
    be at different times within an interval wherever possible.

    Args:
        timeline: the recorded states of the workers and of all components in the groups.
        workers: the busiest component of each phase, of different families, as causes are named by family.
        groups: the groups in order.

    Returns:
        The cycles of the first clock by cause, such as ``while the busiest pe waits: PART``.
    """
    # By interval, the cycles in which no worker is busy, if no two workers are busy at the same time
    remaining = _list_interval_lengths(timeline)
    for worker in workers:
        remaining = np.maximum(remaining - _list_cycles_in_state(timeline, worker, "busy"), 0)
    other_components = [name for name in timeline.components if name not in workers]
    # A busy cycle of a group explains one stalled cycle only, of whichever worker comes first.
    used = {group.part: np.zeros_like(remaining) for group in groups}
    cycles_by_cause: dict[str, int] = {}

    def attribute(cycles: Cycles, components: Sequence[str], label: str) -> Cycles:
        for group in groups:
            unused = np.maximum(_list_busiest_cycles(timeline, components, group) - used[group.part], 0)
            attributed = np.minimum(cycles, unused)
            used[group.part] += attributed
            cycles = cycles - attributed
            if attributed.any():
                cycles_by_cause[f"{label}: {group.part}"] = int(attributed.sum())
        return cycles

    for worker in workers:
        # Stalls of one worker while another is busy are not lost cycles, so the minimum
        waits = np.minimum(_list_stalled_cycles(timeline, worker), remaining)
        remaining -= waits
        related = [name for name in other_components if not _is_of_sibling(name, worker)]
        label = f"while the busiest {family_name(worker)} waits"
        cycles_by_cause[f"{label}: unexplained"] = int(attribute(waits, related, label).sum())
    attribute(remaining, other_components, describe_idle(workers))
    return cycles_by_cause


def describe_idle(workers: Sequence[str]) -> str:
    """Return the label of the cycles in which the busiest component of each phase is idle."""
    kinds = list(dict.fromkeys(family_name(worker) for worker in workers))
    return f"while the busiest {' and '.join(kinds)} {'is' if len(kinds) == 1 else 'are'} idle"


def cut_window(timeline: StateTimeline, start: int, end: int) -> StateTimeline:
    """Return the part of a timeline whose intervals lie completely between two cycles of the first clock.

    Args:
        timeline: the recorded states.
        start, end: the first cycle, not before the start of the timeline, and the cycle after the last.
    """
    # Rounded up, so that an interval which begins before ``start`` is left out. The last interval of a
    # timeline may be shorter than the others; it is inside if ``end`` is not before the timeline's end.
    first_interval = -(-(start - timeline.start) // timeline.interval)
    end_interval = max(
        first_interval,
        (end - timeline.start) // timeline.interval if end < timeline.end else timeline.intervals,
    )
    components = {
        name: component.model_copy(
            update={
                "states": {
                    state: counts[first_interval:end_interval] for state, counts in component.states.items()
                }
            }
        )
        for name, component in timeline.components.items()
    }
    start = timeline.start + first_interval * timeline.interval
    end = min(timeline.end, timeline.start + end_interval * timeline.interval)
    return timeline.model_copy(update={"start": start, "end": end, "components": components})


def _list_busiest_cycles(timeline: StateTimeline, components: Sequence[str], group: Group) -> Cycles:
    """Return the busy cycles of the busiest component of a group, by interval."""
    busy = [
        _list_cycles_in_state(timeline, name, "busy")
        for name in components
        if family_name(name) in group.kinds
    ]
    busiest: Cycles = np.max([np.zeros_like(_list_interval_lengths(timeline)), *busy], axis=0)
    return busiest


def _is_of_sibling(name: str, worker: str) -> bool:
    """Return whether a component belongs to a sibling of the worker or of a component around it."""
    for element, worker_element in zip(name.split("."), worker.split("."), strict=False):
        if element != worker_element:
            return family_name(element) == family_name(worker_element)
    return False


def _list_interval_lengths(timeline: StateTimeline) -> Cycles:
    """Return the cycles of each interval."""
    ends = np.arange(1, timeline.intervals + 1, dtype=np.int64) * timeline.interval
    return np.diff(np.minimum(ends, timeline.end - timeline.start), prepend=0)


def _list_stalled_cycles(timeline: StateTimeline, name: str) -> Cycles:
    """Return the cycles in which a component waits at a port, by interval."""
    ports = [state for state in timeline.components[name].states if state not in ("busy", "idle")]
    return sum(
        (_list_cycles_in_state(timeline, name, port) for port in ports),
        np.zeros(timeline.intervals, dtype=np.int64),
    )


def _list_cycles_in_state(timeline: StateTimeline, name: str, state: str) -> Cycles:
    """Return the cycles of the first clock that a component spends in a state, rounded up, by interval."""
    component = timeline.components[name]
    # A cycle of each clock has a whole number of base ticks, the common unit of time
    first_clock_ticks = next(iter(timeline.clocks.values())).base_ticks
    ticks = (
        np.array(component.states.get(state, [0] * timeline.intervals), dtype=np.int64)
        * timeline.clocks[component.clock].base_ticks
    )
    return -(-ticks // first_clock_ticks)
