"""When a machine stands still before it is done, and which components it is that wait, for what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, FIRST_STALL
from fiberscope.sim.errors import DeadlockError
from fiberscope.sim.wiring import Wiring

STEPS_A_LOOK = 1 << 18  # time steps: far more than any part works on a token
CYCLES_A_LOOK = 1 << 18  # of the first clock, where no part works
FEW_STEPS = 8  # time steps in which parts wake, and wait again: more than end a wait for a time


class Standstill:
    """Finds deadlocks: nothing can wake, or parts that never sleep go on in a machine stuck around them.

    Such parts poll, as RTL in the loop, which may be work; or they wait, and wake now and then to refresh
    themselves, as DRAM does while it holds replies: then nobody works, and it shows sooner.
    """

    def __init__(self, components: Sequence[Component], wiring: Wiring) -> None:
        self._components = components
        self._wiring = wiring
        self._moves = -1  # of tokens, up to the last look
        self._looked = self._since = (0, 0)  # cycle and time step of that look, and of the last move it saw

    def require_drained(self, cycle: int) -> None:
        """Refuse an end, nothing being able to wake, with work left.

        Raises:
            DeadlockError: if a component is in the midst of work or a channel holds a token.
        """
        blocked = [line for component in self._components for line in blocked_by(component, self._wiring)]
        if blocked:
            raise DeadlockError(cycle, blocked, "nothing can wake")

    def require_moving(self, cycle: int, steps: int) -> None:
        """Refuse to go on, in this cycle and after so many time steps, if no token has moved for long.

        Raises:
            DeadlockError: if a component waits meanwhile.
        """
        if cycle - self._looked[0] < CYCLES_A_LOOK and steps - self._looked[1] < STEPS_A_LOOK:
            return
        self._looked = (cycle, steps)
        moves = sum(channel.pushes + channel.pops for channel in self._wiring.channels)
        if moves != self._moves:
            self._moves, self._since = moves, self._looked
            return
        stood = steps - self._since[1]
        if stood >= STEPS_A_LOOK or (stood >= FEW_STEPS and not self._works()):
            self._refuse_stalls(cycle, stood)

    def _works(self) -> bool:
        return any(component.state == BUSY for component in self._components)

    def _refuse_stalls(self, cycle: int, stood: int) -> None:
        waiting = [component for component in self._components if component.state >= FIRST_STALL]
        blocked = [line for component in waiting for line in blocked_by(component, self._wiring)]
        if blocked:
            raise DeadlockError(cycle, blocked, f"no token has moved for {stood:,} time steps")


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
    """Describe the contents of a channel: the number of tokens, and the first token."""
    token = _oldest(channel) if channel.occupancy else ""
    first = f", the first: {token}" if token else ""
    room = f" of {channel.capacity}" if channel.bounded else ""
    return f"channel {channel.name} holds {channel.occupancy}{room} tokens{first}"


def _oldest(channel: Channel) -> str:
    """Return the oldest token of a channel, by the names of its fields, as in ``a 17, b 4``."""
    fields = channel.protocol.fields
    return ", ".join(f"{field} {getattr(channel, word)():g}" for word, field in fields.items())
