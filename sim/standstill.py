"""When a machine stands still before it is done, and which components it is that wait, for what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sim.channel import Channel
from sim.component import Component
from sim.connect import Wiring
from sim.constants import BUSY, FIRST_STALL
from sim.errors import DeadlockError

STEPS_A_LOOK = 1 << 18  # time steps: far more than any part works on a token


class Standstill:
    """Finds deadlocks: nothing can wake, or parts that never sleep go on in a machine stuck around them.

    Such parts refresh themselves, as DRAM does while it holds requests, or poll, as RTL in the loop.
    """

    def __init__(self, components: Sequence[Component], wiring: Wiring) -> None:
        self._components = components
        self._wiring = wiring
        self._steps = 0  # since the last look
        self._moves = -1  # of tokens, up to the last look

    def require_drained(self, cycle: int) -> None:
        """Refuse an end, nothing being able to wake, with work left.

        Raises:
            DeadlockError: if a component is in the midst of work or a channel holds a token.
        """
        blocked = [line for component in self._components for line in blocked_by(component, self._wiring)]
        if blocked:
            raise DeadlockError(cycle, blocked, "nothing can wake")

    def require_moving(self, cycle: int, steps: int) -> None:
        """Refuse to go on, after so many more time steps, without a token moved for ``STEPS_A_LOOK``.

        Raises:
            DeadlockError: if a component waits meanwhile.
        """
        self._steps += steps
        if self._steps < STEPS_A_LOOK:
            return
        moves = sum(channel.pushes + channel.pops for channel in self._wiring.channels)
        if moves == self._moves:
            self._refuse_stalls(cycle)
        self._steps, self._moves = 0, moves

    def _refuse_stalls(self, cycle: int) -> None:
        waiting = [component for component in self._components if component.state >= FIRST_STALL]
        blocked = [line for component in waiting for line in blocked_by(component, self._wiring)]
        if blocked:
            raise DeadlockError(cycle, blocked, f"no token has moved for {self._steps:,} time steps")


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
    room = f" of {channel.capacity}" if channel.bounded else ""
    return f"channel {channel.name} holds {channel.occupancy}{room} tokens{first}"
