"""The document of a machine's states over time; ``--timeline FILE`` writes it as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.results.report.schema import Document

__all__ = ["ComponentStates", "Domain", "QueueFill", "RecordedChains", "Slice", "StateTimeline", "slices_of"]

SCHEMA: Final = "fiberscope-timeline-1"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Domain(_Part):
    """A clock: its frequency in Hz as an exact fraction, and the base ticks of the kernel in its cycle."""

    hertz: str
    base_ticks: int


class QueueFill(_Part):
    """Tokens in the channels at an input port at the end of each interval; a capacity of null is no bound."""

    capacity: int | None
    tokens: list[int]


class ComponentStates(_Part):
    """One component: in each interval, how many cycles of its own clock it spent in each state.

    The states are ``busy``, ``idle``, ``wait:port`` (a token is missing there) and ``full:port`` (there is no
    space); one in which it never was is left out. ``waits_for`` has the components at the other end, and
    ``inputs`` those that write to each input port.
    """

    clock: str
    states: dict[str, list[int]]
    waits_for: dict[str, tuple[str, ...]] = {}
    inputs: dict[str, tuple[str, ...]] = {}
    queues: dict[str, QueueFill] = {}


class RecordedChains(_Part):
    """Chains of waits of the components that wait for memory or for a network, as the debugger shows them.

    Args:
        interval: cycles between two samples; the first sample is one interval behind the start.
        links: component and text of each link of a chain.
        components: for each component and each sample its chain as places in ``links``; empty if the
            component does not wait for memory or a network then.
    """

    interval: int
    links: tuple[tuple[str, str], ...]
    components: dict[str, tuple[tuple[int, ...], ...]]


class StateTimeline(_Part, Document):
    """States of every component over time, from cycle ``start`` of the first clock up to ``end``.

    It is told by intervals of ``interval`` cycles, the last of which may be shorter. Cycles within an
    interval are counted exactly; in which order a component spent them is not known, so that with an interval
    of 1 everything is. The cycles of a component add up to the report's, if it is of the whole run.
    """

    called = "timeline"

    schema_name: Literal["fiberscope-timeline-1"] = Field(
        default=SCHEMA, validation_alias="schema", serialization_alias="schema"
    )
    start: int
    end: int
    interval: int
    clocks: dict[str, Domain]
    components: dict[str, ComponentStates]
    chains: RecordedChains | None = Field(default=None, exclude_if=lambda chains: chains is None)

    @property
    def intervals(self) -> int:
        """Return the number of intervals."""
        return -(-(self.end - self.start) // self.interval)


class Slice(NamedTuple):
    """A component in a state, in cycles of its own clock from the start of the timeline.

    ``interval`` is the length of the interval that it lies somewhere in; 0 where its place is known.
    """

    state: str
    begin: int
    end: int
    interval: int


def slices_of(component: ComponentStates) -> Iterator[Slice]:
    """A component's states one after the other, each as long as it lasted.

    An interval with several states tells how long each was, and not in which order: the one that the interval
    before ended in comes first.
    """
    last = Slice("", 0, 0, 0)
    for spent in zip(*component.states.values(), strict=True):
        taken = [(state, cycles) for state, cycles in zip(component.states, spent, strict=True) if cycles]
        taken.sort(key=lambda slice_: slice_[0] != last.state)
        within = sum(spent) if len(taken) > 1 else 0
        for state, cycles in taken:
            if state == last.state and within == last.interval == 0:
                last = last._replace(end=last.end + cycles)
            else:
                if last.state:
                    yield last
                last = Slice(state, last.end, last.end + cycles, within)
    if last.state:
        yield last
