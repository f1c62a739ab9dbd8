"""What can go wrong in a simulation, each with a message that names the thing."""

from __future__ import annotations

from collections.abc import Sequence


class SimulationError(Exception):
    """The simulation cannot be built or cannot go on."""


class BuildError(SimulationError):
    """The machine is wired wrongly; lists every fault found, not the first."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "the machine cannot be built:\n" + "\n".join(f"  - {fault}" for fault in self.faults)
        )


class ChannelError(SimulationError):
    """A component pushed into a full channel, or popped a channel with no visible token."""


class DeadlockError(SimulationError):
    """Nothing can wake, and the machine is not done; names what is blocked on what."""

    def __init__(self, cycle: int, blocked: Sequence[str]) -> None:
        self.cycle = cycle
        self.blocked = tuple(blocked)
        lines = "\n".join(f"  - {line}" for line in self.blocked)
        super().__init__(f"deadlock at cycle {cycle}: nothing can wake, yet\n{lines}")
