"""Errors of a simulation. Each message names the component or channel."""

from __future__ import annotations

from collections.abc import Sequence


class SimulationError(Exception):
    """The simulation cannot be built or cannot continue."""


class BuildError(SimulationError):
    """The wiring of the machine has faults. The message lists every fault.

    Args:
        faults: a line for each fault.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "the machine cannot be built:\n" + "\n".join(f"  - {fault}" for fault in self.faults)
        )


class ChannelError(SimulationError):
    """A component pushed into a full channel, or popped a channel with no visible token."""


class DeadlockError(SimulationError):
    """The machine is not done and makes no progress; names each blocked component and its channel.

    Args:
        cycle: cycle of the first clock in which the deadlock was found.
        blocked: a line for each blocked component.
        state: what shows that there is no progress.
    """

    def __init__(self, cycle: int, blocked: Sequence[str], state: str) -> None:
        self.cycle = cycle
        self.blocked = tuple(blocked)
        lines = "\n".join(f"  - {line}" for line in self.blocked)
        super().__init__(f"deadlock at cycle {cycle}: {state}, but:\n{lines}")


def wake_error(name: str, cycle: int, wake: int) -> SimulationError:
    """Return the error for a tick that returned an invalid cycle.

    Args:
        name: name of the component.
        cycle: cycle of the tick.
        wake: the returned cycle.
    """
    message = f"{name}: tick at cycle {cycle} asked for cycle {wake}, "
    if wake <= cycle:
        return SimulationError(message + "which is not in the future")
    return SimulationError(
        message + "but does not say what the cycles until then count as: return self.busy(cycle), or call "
        "wake_at and idle"
    )


def add_location(error: Exception, name: str, cycle: int) -> None:
    """Add the component and the cycle of a tick to an error.

    Raises:
        SimulationError: in place of the engine's error, if the tick returned no cycle.
    """
    if _is_invalid_return(error):
        raise SimulationError(
            f"{name}: tick at cycle {cycle} gave no cycle; end it by return self.busy(cycle), "
            "wait_input(channel), wait_output(channel) or idle()"
        ) from error
    error.add_note(f"at cycle {cycle} in {name}")


def _is_invalid_return(error: Exception) -> bool:
    """Return whether the value that a tick returned caused the error, and not the body of the tick."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None or not isinstance(error, TypeError):
        return False
    code = frame.tb_frame.f_code
    if code.co_filename.endswith(("sim/component.py", "sim/kernel.py")):
        return True
    # a compiled block that calls the tick of its base class: only compiled frames have names with dots
    return code.co_name.endswith(".tick") and str(error) == "an integer is required"
