"""Errors of a simulation, each with a message that names the component or channel."""

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
    """The machine stands still and is not done; names what is blocked on what, and how that was known."""

    def __init__(self, cycle: int, blocked: Sequence[str], state: str) -> None:
        self.cycle = cycle
        self.blocked = tuple(blocked)
        lines = "\n".join(f"  - {line}" for line in self.blocked)
        super().__init__(f"deadlock at cycle {cycle}: {state}, but:\n{lines}")


def refused_wake(name: str, cycle: int, wake: int) -> SimulationError:
    """The error of a tick that asked for a cycle that it cannot have."""
    asked = f"{name}: tick at cycle {cycle} asked for cycle {wake}, "
    if wake <= cycle:
        return SimulationError(asked + "which is not in the future")
    return SimulationError(
        asked + "but does not say what the cycles until then count as: return self.busy(cycle), or call "
        "wake_at and idle"
    )


def name_place(error: Exception, name: str, cycle: int) -> None:
    """Say in whose tick an error came up, and when.

    Raises:
        SimulationError: in the place of what the engine had to say if the tick returned no cycle.
    """
    if _no_cycle_returned(error):
        raise SimulationError(
            f"{name}: tick at cycle {cycle} gave no cycle; end it by return self.busy(cycle), "
            "wait_input(channel), wait_output(channel) or idle()"
        ) from error
    error.add_note(f"at cycle {cycle} in {name}")


def _no_cycle_returned(error: Exception) -> bool:
    """Return whether the error came from the value that a tick returned, and not from within it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None or not isinstance(error, TypeError):
        return False
    code = frame.tb_frame.f_code
    if code.co_filename.endswith(("sim/component.py", "sim/kernel.py")):
        return True
    # a compiled block that calls the tick over its own: only compiled frames have names with dots
    return code.co_name.endswith(".tick") and str(error) == "an integer is required"
