# cython: infer_types=True
"""Gauges: single numbers of a machine that compiled code reads during a run.

A time is a base tick. All components have ticked before it, and none at it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component


class Gauge:
    """One number of a machine.

    Args:
        growth: the maximum growth in a cycle of the first clock, if the number never falls and may grow while
            its component sleeps; else 0.
        names: names of the values from 0.
        signed: whether the number may be negative.
    """

    def __init__(self, growth: int = 0, names: Sequence[str] = (), signed: bool = False) -> None:
        self.growth = growth  # C: long
        self.names = tuple(names)
        self.signed = signed  # C: bint

    def read(self, time: int) -> int:
        """Return the number at this time."""
        raise NotImplementedError(f"{type(self).__name__} does not define read")


class CycleGauge(Gauge):
    """The current cycle of a clock.

    Args:
        period: base ticks in a cycle of the clock.
        first_cycle: number of the run's first cycle.
    """

    def __init__(self, period: int, first_cycle: int = 0) -> None:
        super().__init__(1)
        self.period = period  # C: long
        self.first_cycle = first_cycle  # C: long

    def read(self, time: int) -> int:
        """Return the cycle at this time, rounded up."""
        return self.first_cycle + (time + self.period - 1) // self.period


class AccountGauge(Gauge):
    """The cycles that a component has spent in a set of accounting states since the start of the run.

    Args:
        states: numbers of the accounting states.
        base_period: period of the first clock in base ticks.
    """

    def __init__(self, component: Component, states: Sequence[int], base_period: int) -> None:
        clock = component.clock
        self.period = clock.period if clock else 1  # C: long
        super().__init__((base_period + self.period - 1) // self.period)
        self.component = component
        self.is_counted = array("q", [state in states for state in range(len(component.cycles))])

    def read(self, time: int) -> int:
        """Return the cycles before this time. Cycles since the last tick count as the current state."""
        component = self.component
        cycles = 0  # C: long
        for state in range(len(self.is_counted)):
            if self.is_counted[state]:
                cycles += component._cycles[state]
        if self.is_counted[component._state]:
            cycles += (time + self.period - 1) // self.period - component._since
        return cycles


class StateGauge(Gauge):
    """The number of a component's current accounting state.

    Args:
        names: names of all states of the component, by number.
    """

    def __init__(self, component: Component, names: Sequence[str]) -> None:
        super().__init__(0, names)
        self.component = component

    def read(self, time: int) -> int:
        """Return the number of the state."""
        return self.component._state


class AttributeGauge(Gauge):
    """An integer attribute of a component: a counter or a signal.

    Args:
        attribute: name of the attribute.
        names: names of the values from 0.
        signed: whether the number may be negative.
    """

    def __init__(
        self, component: Component, attribute: str, names: Sequence[str] = (), signed: bool = False
    ) -> None:
        super().__init__(0, names, signed)
        self.component = component
        self.attribute = attribute

    def read(self, time: int) -> int:
        """Return the value of the attribute."""
        number: int = getattr(self.component, self.attribute)
        return number


class CounterGauge(Gauge):
    """A counter that the component computes in ``counters``.

    Args:
        counter: key of the count in ``counters()``.
    """

    def __init__(self, component: Component, counter: str) -> None:
        super().__init__()
        self.component = component
        self.counter = counter

    def read(self, time: int) -> int:
        """Return the count."""
        return self.component.counters()[self.counter]


class SampleGauge(Gauge):
    """A signal that the component computes in ``sample``; it may be negative.

    Args:
        position: position of the signal in ``sample()``.
        names: names of the values from 0.
    """

    def __init__(self, component: Component, position: int, names: Sequence[str]) -> None:
        super().__init__(0, names, True)
        self.component = component
        self.position = position  # C: long

    def read(self, time: int) -> int:
        """Return the value of the signal."""
        return self.component.sample()[self.position]


class OccupancyGauge(Gauge):
    """The total number of tokens in several channels, visible or in flight."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        super().__init__()
        self.channels = list(channels)

    def read(self, time: int) -> int:
        """Return the number of tokens."""
        tokens = 0  # C: long
        for i in range(len(self.channels)):
            tokens += inline.channel(self.channels[i]).occupancy
        return tokens
