"""Document of a machine's states over time, written as JSON by ``--timeline FILE``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.results.report.schema import Document

SCHEMA: Final = "fiberscope-timeline-1"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Domain(_Part):
    """A clock: its frequency in Hz as an exact fraction, and its period in base ticks of the kernel."""

    hertz: str
    base_ticks: int


class QueueFill(_Part):
    """Tokens in the channels at an input port at the end of each interval; capacity null means unbounded."""

    capacity: int | None
    tokens: list[int]


class ComponentStates(_Part):
    """Cycles that a component spent in each state in each interval, in its own clock.

    The states are ``busy``, ``idle``, ``wait:port`` (no token at the port) and ``full:port`` (no space at the
    port).

    Args:
        clock: name of the component's clock.
        states: cycles in each interval, by state; states that never occur are omitted.
        waits_for: for each ``wait`` and ``full`` state in ``states``, the components at the other end of the
            port.
        inputs: for each input port, the components that write to the port.
        queues: for each input port, the tokens in its channels.
    """

    clock: str
    states: dict[str, list[int]]
    waits_for: dict[str, tuple[str, ...]] = {}
    inputs: dict[str, tuple[str, ...]] = {}
    queues: dict[str, QueueFill] = {}


class RecordedChains(_Part):
    """Wait chains of the components that wait for memory or a network, as in the debugger.

    Args:
        interval: cycles between two samples; the first sample is one interval after the start.
        links: component and text of each link of a chain.
        components: for each component and sample, the chain as indices into ``links``; empty if the component
            does not wait for memory or a network.
    """

    interval: int
    links: tuple[tuple[str, str], ...]
    components: dict[str, tuple[tuple[int, ...], ...]]


class StateTimeline(_Part, Document):
    """States of every component over time.

    Cycles within an interval are counted exactly, but their order is unknown unless ``interval`` is 1. The
    cycles of a component on the first clock sum to the cycles of the report if the timeline covers the whole
    run.

    Args:
        start, end: the first cycle of the first clock, and the cycle after the last.
        interval: cycles of the first clock in an interval; the last interval may be shorter.
        clocks: the clocks of the machine, by name.
        components: the recorded components, by instance name.
        chains: samples of wait chains; None without samples, or if no component waited for memory or a
            network.
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
        """Return the number of intervals, with a shorter last interval."""
        return -(-(self.end - self.start) // self.interval)


class Slice(NamedTuple):
    """A period in which a component is in one state.

    Args:
        state: name of the state, see ``ComponentStates``.
        begin, end: the first cycle, and the cycle after the last, of the component's clock, counted from the
            start of the timeline.
        interval: length of the enclosing interval, in cycles of the component's clock, if the exact position
            is unknown; else 0.
    """

    state: str
    begin: int
    end: int
    interval: int


def iterate_slices(component: ComponentStates) -> Iterator[Slice]:
    """Yield the consecutive states of a component, each with its first cycle and its end.

    The order of states within an interval is unknown. The state that ended the previous interval is put
    first, and the others follow in the order of ``states``. A state that continues in the next interval is
    joined to one slice only if it is the only state of both intervals.

    Args:
        component: the states of a component; without states, nothing is yielded.
    """
    last = Slice("", 0, 0, 0)
    # ``counts`` has the cycles of each state in one interval
    for counts in zip(*component.states.values(), strict=True):
        present = [(state, cycles) for state, cycles in zip(component.states, counts, strict=True) if cycles]
        # False sorts first, and the sort is stable: only the state of the last slice moves
        present.sort(key=lambda slice_: slice_[0] != last.state)
        # the states of an interval cover all its cycles of this clock
        uncertainty = sum(counts) if len(present) > 1 else 0
        for state, cycles in present:
            if state == last.state and uncertainty == last.interval == 0:
                last = last._replace(end=last.end + cycles)
            else:
                if last.state:
                    yield last
                last = Slice(state, last.end, last.end + cycles, uncertainty)
    if last.state:
        yield last
