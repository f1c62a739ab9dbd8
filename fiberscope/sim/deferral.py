# cython: infer_types=True
"""Components that defer work that no other component observes, so that they tick less often."""

from __future__ import annotations

from collections.abc import Iterable

from fiberscope.sim.clock import Clock  # noqa: F401  (a C type)
from fiberscope.sim.component import Component, clock_of


class Deferring(Component):
    """A component that sleeps while it works on its own, and catches up at its next tick.

    The component lags behind the clock. Its kernel calls ``settle`` at the end of a run and before an
    observer reads the machine. ``defers`` is whether the component may lag; a tracer needs every cycle.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.defers = True  # C: public

    def settle(self, cycle: int) -> None:  # C: return=void
        """Do the deferred work of all cycles of the component's clock before ``cycle``."""
        raise NotImplementedError(f"{type(self).__name__} does not define settle")


def let_defer(components: Iterable[Deferring], *, defers: bool, time: int) -> None:  # C: def
    """Allow or forbid deferral, and wake each component in its first cycle after base tick ``time``.

    Args:
        defers: whether they may defer work.
        time: the current base tick. The caller has settled all work up to and including it.
    """
    for component in components:
        component.defers = defers
        component.wake_at(time // clock_of(component).period + 1)


def settle(components: list[Deferring], time: int) -> None:  # C: cpdef
    """Do the deferred work of all cycles that begin before base tick ``time``."""
    for component in components:  # C: Deferring
        clock = component._clock  # C: Clock
        if clock is not None:
            component.settle((time + clock.period - 1) // clock.period)
