# cython: infer_types=True
"""The clocking of a pipeline whose stages move in step: who is in it, and when the oldest is at its end."""

from __future__ import annotations

from array import array


class Pipeline:  # C: final
    """Stages with a register behind each; all move in every cycle, or, when the oldest cannot leave, none.

    What enters in cycle t may leave from t + ``depth`` on. While what is in the last stage cannot leave,
    nothing moves and nothing enters; empty stages between do not close up. In hardware that is one enable for
    all registers: the last stage is empty, or what is in it leaves.

    The model keeps no stages. It counts the cycles in which the pipeline stood still, its ``lag``: by a clock
    that is stopped in those, everything leaves exactly ``depth`` cycles after it entered.

    Who uses it keeps what flows through in arrays of ``depth`` slots. In a cycle it first lets the oldest
    leave, if that is at the end, then enter what is new.

    Args:
        depth: stages, at least 1; cycles from entering to leaving.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.filled = 0  # slots in use
        self.lag = 0
        self.oldest = 0  # its slot
        self._due = array("q", bytes(8 * depth))  # by slot: when it may leave, by the pipeline's own clock

    def due(self) -> int:  # C: noexcept
        """The cycle from which the oldest may leave; only when not empty."""
        return self._due[self.oldest] + self.lag

    def stands(self, now: int) -> bool:  # C: noexcept
        """Return whether the oldest is in the last stage, so that nothing moves unless it leaves."""
        return self.filled > 0 and now >= self._due[self.oldest] + self.lag

    def leave(self, now: int) -> int:  # C: noexcept
        """Take out the oldest, which is due; gives its slot."""
        slot = self.oldest
        self.lag = now - self._due[slot]
        self.oldest += 1
        if self.oldest == self.depth:
            self.oldest = 0
        self.filled -= 1
        return slot

    def enter(self, now: int) -> int:  # C: noexcept
        """Give a slot to what enters in this cycle; only when the stages move."""
        slot = self.oldest + self.filled
        if slot >= self.depth:
            slot -= self.depth
        self._due[slot] = now - self.lag + self.depth
        self.filled += 1
        return slot
