"""Deadlock detection: find machines without progress, and the components that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, FIRST_STALL
from fiberscope.sim.errors import DeadlockError
from fiberscope.sim.wiring import Wiring

STEPS_A_LOOK = 1 << 18  # time steps between two checks; far more than any component works on a token
CYCLES_A_LOOK = 1 << 18  # the same in cycles of the first clock
FEW_STEPS = 8  # time steps without a move that show a deadlock if all components wait


class Standstill:
    """Detect deadlocks: no component can wake, or components wake but no token moves.

    Two kinds of components wake in a machine without progress. Components that poll, such as RTL in the loop,
    may be working. Components that wait and wake regularly, such as DRAM that refreshes while it holds
    replies, do no work; the deadlock is then detected sooner.

    Args:
        components: the components of the machine; the list may grow until the first check.
        wiring: the channels of the machine.
    """

    def __init__(self, components: Sequence[Component], wiring: Wiring) -> None:
        self._components = components
        self._wiring = wiring
        self.lookahead_models: Sequence[Any] = ()  # each a ``fiberscope.sim.lookahead.LookaheadModel``
        self._move_count = -1  # pushes and pops up to the last check
        self._last_check = self._last_move = (0, 0)  # (cycle, time step)

    def require_drained(self, cycle: int) -> None:
        """Check that no work is left when no component can wake.

        Raises:
            DeadlockError: if a component is not idle or a channel holds a token.
        """
        blocked = self._blocked(self._components)
        if blocked:
            raise DeadlockError(cycle, blocked, "nothing can wake")

    def require_moving(self, cycle: int, steps: int) -> None:
        """Check that a token has moved recently, at this cycle after ``steps`` time steps.

        Raises:
            DeadlockError: if no token has moved for a long time and a component waits.
        """
        if cycle - self._last_check[0] < CYCLES_A_LOOK and steps - self._last_check[1] < STEPS_A_LOOK:
            return
        self._last_check = (cycle, steps)
        move_count = sum(channel.pushes + channel.pops for channel in self._wiring.channels)
        if move_count != self._move_count:
            self._move_count, self._last_move = move_count, self._last_check
            return
        stalled_steps = steps - self._last_move[1]
        if stalled_steps >= STEPS_A_LOOK or (stalled_steps >= FEW_STEPS and not self._has_busy_component()):
            self._refuse_stalls(cycle, stalled_steps)

    def _has_busy_component(self) -> bool:
        return any(component.state == BUSY for component in self._components)

    def _refuse_stalls(self, cycle: int, stalled_steps: int) -> None:
        waiting = [component for component in self._components if component.state >= FIRST_STALL]
        blocked = self._blocked(waiting)
        if blocked:
            raise DeadlockError(cycle, blocked, f"no token has moved for {stalled_steps:,} time steps")

    def _blocked(self, components: Sequence[Component]) -> list[str]:
        """Return the lines of a deadlock report about components.

        Lookahead models put the tokens that they hold into the channels for this report.
        """
        if not components:
            return []
        models = [model for model in self.lookahead_models if model.engaged]
        hidden = {channel.name: model.name for model in models for channel in model.reveal_tokens()}
        return [
            line for component in components for line in describe_blocked(component, self._wiring, hidden)
        ]


def describe_blocked(
    component: Component, wiring: Wiring, hidden: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield the lines of a deadlock report about one component; none if it is idle without input tokens.

    Args:
        wiring: the channels of the machine.
        hidden: by name of a channel, the name of the lookahead model that hides its tokens.
    """
    if component.state >= FIRST_STALL:
        stall = wiring.stalls(component)[component.state - FIRST_STALL]
        need = "a token" if stall.direction == "input" else "space"
        any_of = "" if len(stall.channels) == 1 else "any of "
        contents = "; ".join(_describe_contents(stall.channels, hidden))
        yield f"{component.name} waits for {need} at {any_of}{stall.label}: {contents}"
    elif component.state == BUSY:
        yield f"{component.name} says that it is busy, yet asked for no further tick"
    else:
        for stall in wiring.links(component):
            for channel in stall.channels:
                if stall.direction == "input" and channel.occupancy:
                    content = _describe_content(channel)
                    yield f"{component.name} is idle, yet leaves tokens at {stall.label}: {content}"


def _describe_contents(channels: Sequence[Channel], hidden: Mapping[str, str]) -> Iterator[str]:
    """Yield descriptions of the contents of channels; one for all whose tokens a lookahead model hides."""
    yield from (_describe_content(channel) for channel in channels if channel.name not in hidden)
    for model in dict.fromkeys(hidden[channel.name] for channel in channels if channel.name in hidden):
        yield f"simulated ahead by {model}, whose tokens are not shown here (a run with --vcd shows them)"


def _describe_content(channel: Channel) -> str:
    """Describe the content of a channel: the number of tokens, and the oldest token."""
    token = _read_oldest_token(channel) if channel.occupancy else ""
    token_text = f", the first: {token}" if token else ""
    capacity = f" of {channel.capacity}" if channel.bounded else ""
    return f"channel {channel.name} holds {channel.occupancy}{capacity} tokens{token_text}"


def _read_oldest_token(channel: Channel) -> str:
    """Return the oldest token of a channel by field name, such as ``a 17, b 4``."""
    fields = channel.protocol.fields
    return ", ".join(f"{field} {getattr(channel, word)():g}" for word, field in fields.items())
