"""A component that defers work settles at limits and looks, and ticks at once when a tracer attaches."""

from fractions import Fraction

import pytest

from fiberscope.sim import NEVER, Component, Kernel
from fiberscope.sim.deferral import Deferring


class LazyCounter(Deferring):
    """Counts its cycles; while it may defer, it ticks every 100 cycles alone."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.counted = 0
        self.ticks: list[int] = []
        self.settled: list[int] = []

    def tick(self, now: int) -> int:
        self.ticks.append(now)
        self.counted = now + 1
        return self.busy(now + 100 if self.defers else now + 1)

    def settle(self, cycle: int) -> None:
        self.settled.append(cycle)
        self.counted = max(self.counted, cycle)


class Metronome(Component):
    """Keeps the run going: busy in every cycle."""

    def tick(self, now: int) -> int:
        return self.busy(now + 1)


class Recorder:
    """A tracer that wants every time step."""

    end = 1 << 60

    def begin(self, time: int) -> int:
        return time

    def sample(self, time: int, ticked: object) -> None: ...


def machine(ratio: Fraction = Fraction(1)) -> tuple[Kernel, LazyCounter]:
    kernel = Kernel()
    core = kernel.clock("core", 1_000_000_000)
    other = kernel.clock("other", 1_000_000_000 * ratio)
    kernel.add(Metronome("metronome"), core)
    lazy = kernel.add(LazyCounter("lazy"), other)
    kernel.build()
    return kernel, lazy


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(1, 2), Fraction(3, 2), Fraction(2)])
@pytest.mark.parametrize("limit", [1, 7, 50, 99, 150])
def test_a_component_that_may_defer_no_more_ticks_in_its_next_cycle(limit: int, ratio: Fraction) -> None:
    kernel, lazy = machine(ratio)
    kernel.run(cycle_limit=limit)
    kernel.trace(Recorder())  # type: ignore[arg-type]
    assert not lazy.defers
    ticked = len(lazy.ticks)
    kernel.run(cycle_limit=limit + 20)
    first, *later = lazy.ticks[ticked:]
    assert first == (limit - 1) * _period(kernel, "core") // _period(kernel, "other") + 1
    assert later == list(range(first + 1, first + 1 + len(later))), "from then on it ticks in every cycle"


def _period(kernel: Kernel, name: str) -> int:
    """The length of a clock's cycle, in base ticks."""
    return next(clock.period for clock in kernel.clocks if clock.name == name)


def test_it_may_defer_again_when_the_tracer_is_gone() -> None:
    kernel, lazy = machine()
    kernel.trace(Recorder())  # type: ignore[arg-type]
    kernel.run(cycle_limit=10)
    kernel.trace(None)
    assert lazy.defers
    ticked = len(lazy.ticks)
    kernel.run(cycle_limit=300)
    assert len(lazy.ticks) - ticked <= 4
    assert lazy.counted == 300, "a limit settles what was put off"


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(1, 2), Fraction(3, 2)])
def test_a_limit_settles_the_cycles_that_begin_before_it(ratio: Fraction) -> None:
    kernel, lazy = machine(ratio)
    for limit in (1, 2, 3, 50, 101):
        kernel.run(cycle_limit=limit)
        assert lazy.counted == -(-limit * _period(kernel, "core") // _period(kernel, "other"))
    assert NEVER not in lazy.settled
