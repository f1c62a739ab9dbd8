# cython: infer_types=True
"""Components that put off what nobody notices yet, so that they tick less often."""

from __future__ import annotations

from collections.abc import Iterable

from fiberscope.sim.clock import Clock  # noqa: F401  (a C type)
from fiberscope.sim.component import Component, clock_of


class Deferring(Component):
    """A component that sleeps while all it does is known to itself alone, and does it when it ticks next.

    So it lags behind the clock. When it comes to a run's end, or to a look at the machine, its kernel has it
    ``settle``. ``defers`` is whether it may: not where a tracer is to see it cycle by cycle.

    Args:
        name: instance name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.defers = True  # C: public

    def settle(self, cycle: int) -> None:  # C: return=void
        """Do what was put off of the cycles before this one, of its own clock."""
        raise NotImplementedError(f"{type(self).__name__} does not define settle")


def let_defer(components: Iterable[Deferring], *, defers: bool, time: int) -> None:  # C: def
    """Allow or forbid it to components, all of it done up to a base tick, from their next cycle on."""
    for component in components:
        component.defers = defers
        component.wake_at(time // clock_of(component).period + 1)


def settle(components: list[Deferring], time: int) -> None:  # C: cpdef
    """Have all done that these components put off of the cycles that begin before a base tick."""
    for component in components:  # C: Deferring
        clock = component._clock  # C: Clock
        if clock is not None:
            component.settle((time + clock.period - 1) // clock.period)
