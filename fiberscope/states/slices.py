"""A component's states over time as slices: from when to when it was in which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fiberscope.states.document import ComponentStates

__all__ = ["Slice", "slices_of"]


class Slice(NamedTuple):
    """A component in a state, in cycles of its own clock from the start of the timeline.

    ``within`` is the length of the interval that it lies somewhere in; 0 where its place is known.
    """

    state: str
    begin: int
    end: int
    within: int


def slices_of(component: ComponentStates) -> Iterator[Slice]:
    """A component's states one after the other, each as long as it lasted.

    An interval with several states tells how long each was, and not in which order: the one that the interval
    before ended in comes first.
    """
    last = Slice("", 0, 0, 0)
    for spent in zip(*component.states.values(), strict=True):
        taken = [(state, cycles) for state, cycles in zip(component.states, spent, strict=True) if cycles]
        taken.sort(key=lambda one: one[0] != last.state)
        within = sum(spent) if len(taken) > 1 else 0
        for state, cycles in taken:
            if state == last.state and within == last.within == 0:
                last = last._replace(end=last.end + cycles)
            else:
                if last.state:
                    yield last
                last = Slice(state, last.end, last.end + cycles, within)
    if last.state:
        yield last
