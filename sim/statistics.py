"""What a run reports: how it ended, where every component's cycles went, and what it waits for now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sim.channel import Channel
from sim.component import Component
from sim.connect import Wiring
from sim.constants import BUSY, FIRST_STALL, IDLE


@dataclass(frozen=True)
class Run:
    """How a run ended.

    ``reason`` is ``"done"``, ``"cycle limit"``, ``"interrupted"``; ``cycles`` its length in cycles of
    the first clock, ``time`` in base ticks, ``seconds`` in simulated time.
    """

    complete: bool
    reason: str
    cycles: int
    time: int
    seconds: float


@dataclass(frozen=True)
class ComponentStatistics:
    """The cycles of one component, each counted once, and its event counters.

    ``busy + idle + sum(input_stall) + sum(output_stall) == cycles``, the run's length in the component's own
    clock. The stalls are by port; an array's ports are told apart as ``name[i]``, ``name`` is any of them.
    """

    cycles: int
    busy: int
    idle: int
    input_stall: dict[str, int] = field(default_factory=dict)
    output_stall: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


def statistics_of(component: Component, wiring: Wiring, length: int) -> ComponentStatistics:
    """The statistics of one component after so many cycles of its clock."""
    cycles = list(component.cycles)
    cycles[component.state] += length - component.since
    stalls: dict[str, dict[str, int]] = {"input": {}, "output": {}}
    for stall, count in zip(wiring.stalls(component), cycles[FIRST_STALL:], strict=True):
        if count:
            stalls[stall.direction][stall.label] = count
    return ComponentStatistics(
        length, cycles[BUSY], cycles[IDLE], stalls["input"], stalls["output"], component.counters()
    )


def blocked_by(component: Component, wiring: Wiring) -> Iterator[str]:
    """The lines of a deadlock report about one component; none if it is idle and has nothing left to do."""
    if component.state >= FIRST_STALL:
        stall = wiring.stalls(component)[component.state - FIRST_STALL]
        need = "a token" if stall.direction == "input" else "space"
        any_of = "" if len(stall.channels) == 1 else "any of "
        held = "; ".join(map(_held, stall.channels))
        yield f"{component.name} waits for {need} at {any_of}{stall.label}: {held}"
    elif component.state == BUSY:
        yield f"{component.name} says that it is busy, yet asked for no further tick"
    else:
        for stall in wiring.links(component):
            for channel in stall.channels:
                if stall.direction == "input" and channel.occupancy:
                    yield f"{component.name} is idle, yet leaves tokens at {stall.label}: {_held(channel)}"


def _held(channel: Channel) -> str:
    """What a channel holds: how many tokens, and what the first of them says."""
    token = channel.protocol.read(channel) if channel.occupancy else ""
    first = f", the first: {token}" if token else ""
    return f"channel {channel.name} holds {channel.occupancy} of {channel.capacity} tokens{first}"
