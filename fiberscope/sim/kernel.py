"""The event kernel: schedule the ticks of components in their clock domains and end the run."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.component import Component, clock_of
from fiberscope.sim.constants import DRAINED, IDLE, INTERRUPTED, LIMIT, MAX_TIME, NEVER, SLICE_END, STOPPED
from fiberscope.sim.deadlock import Standstill
from fiberscope.sim.deferral import Deferring, let_defer, settle
from fiberscope.sim.errors import SimulationError, add_location, wake_error
from fiberscope.sim.interrupt import give_way, on_interrupt
from fiberscope.sim.overrides import refuse_overrides
from fiberscope.sim.statistics import ComponentStatistics, Run, collect_statistics
from fiberscope.sim.wiring import Wiring, check_attributes

if TYPE_CHECKING:
    from fiberscope.sim.trace import Tracer

AnyComponent = TypeVar("AnyComponent", bound=Component)

SLICE_STEPS = 1 << 14  # largest number of time steps between two progress reports and checks for Ctrl-C
SLICE_CYCLES = 1 << 18  # the same limit in cycles of the first clock: a time step may skip many cycles
LONGEST_PERIOD = 1 << 28  # base ticks; leaves 2**32 cycles of the slowest clock before MAX_TIME


class Kernel:
    """Build and run one machine; a kernel holds the whole state of its simulation.

    Args:
        order_seed: shuffles the order in which components tick within a cycle. Results do not change.
        sleep: whether components may sleep, which changes only the speed. Without sleep, every component
            ticks in every cycle, as in an HDL simulator.
    """

    def __init__(self, *, order_seed: int | None = None, sleep: bool = True) -> None:
        self.order_seed = order_seed
        self.sleeps = sleep
        self.clocks: list[Clock] = []
        self.components: list[Component] = []  # in the order of their addition
        self.wiring = Wiring()
        self.tracer: Tracer | None = None
        self.built = False
        self.time = -1
        self._worked = 0  # last base tick at which a component was not idle
        self._limit = -1  # base tick of the cycle limit that ended the run; else -1
        self.ticks = 0  # component ticks executed
        self.steps = 0  # time steps executed
        self.base_hertz = Fraction(1)
        self._standstill = Standstill(self.components, self.wiring)
        self._ordered: list[Component] = []  # components by index
        self._deferring: list[Deferring] = []
        self._domains: list[Clock] = []  # clocks in the order of their ticks
        self._ticked: list[Component] = []
        self._ticking = -1  # index of the component whose tick is executing; else -1
        self._state_before = IDLE  # state of that component before its tick
        self._tracing = False
        self._trace_switch = self._trace_end = MAX_TIME  # base ticks at which tracing starts and ends
        self._stop = False
        self._interrupted = False

    def clock(self, name: str, hertz: Fraction | int) -> Clock:
        """Create a clock domain with an exact frequency above 0 hertz, before the machine is built."""
        self._require_unbuilt()
        if hertz <= 0:
            raise SimulationError(f"clock {name}: its frequency must be above 0 Hz, not {hertz}")
        clock = Clock(name, Fraction(hertz))
        self.clocks.append(clock)
        return clock

    def add(self, component: AnyComponent, clock: Clock | None = None) -> AnyComponent:
        """Add a component to a clock domain (by default the first) and return the component.

        Raises:
            SimulationError: if the machine is built, the object is no component or has a clock, the clock is
                missing or of another kernel, or the class overrides a C method (``refuse_overrides``).
        """
        self._require_clock()
        if not isinstance(component, Component):
            raise SimulationError(f"a machine consists of components, and {component!r} is not a component")
        if component._clock is not None:
            raise SimulationError(f"{component.name} is in a kernel already: a component runs once")
        if clock is not None and clock not in self.clocks:
            raise SimulationError(f"{component.name}: the clock {clock.name} belongs to another kernel")
        refuse_overrides(component.name, component)
        component._clock = clock or self.clocks[0]
        self.components.append(component)
        return component

    def connect(
        self,
        producer: Component,
        output: str,
        consumer: Component,
        input: str,
        *,
        capacity: int | None,
        latency: int = 1,
    ) -> Channel:
        """Connect two ports, each named ``port`` or ``port[i]``, by a channel; capacity None is no bound.

        Raises:
            SimulationError: if built, a port is unknown or connected, protocols differ, or a number is < 1.
        """
        self._require_unbuilt()
        return self.wiring.connect(producer, output, consumer, input, capacity, latency)

    def _require_unbuilt(self) -> None:
        if self.built:
            raise SimulationError("the machine is built already: add and connect before build()")

    def _require_clock(self) -> None:
        self._require_unbuilt()
        if not self.clocks:
            raise SimulationError("a clock is needed before the first component: kernel.clock(name, hertz)")

    def build(self) -> None:
        """Check the whole machine, compute the base tick and wake every component at cycle 0.

        Raises:
            BuildError: listing every fault. SimulationError: if it is built already, or a period is too long.
        """
        self._require_clock()
        self.wiring.check(self.components)
        self._choose_base_tick()
        self._index_components()
        self.wiring.attach()
        for component in self.components:
            try:
                component.elaborate()
            except Exception as error:
                error.add_note(f"while building {component.name}")
                raise
        check_attributes(self.components)
        self.built = True
        for component in self._ordered:
            clock_of(component).wake(component._index, 0)
        let_defer(self._deferring, defers=self.tracer is None, time=self.time)

    def _choose_base_tick(self) -> None:
        # The least common multiple of reduced fractions, so that each period is a whole number of base ticks.
        numerators = math.lcm(*(clock.hertz.numerator for clock in self.clocks))
        denominators = math.gcd(*(clock.hertz.denominator for clock in self.clocks))
        self.base_hertz = Fraction(numerators, denominators)
        for clock in self.clocks:
            clock.period = int(self.base_hertz / clock.hertz)
            if clock.period > LONGEST_PERIOD:
                raise SimulationError(
                    f"clock {clock.name}: {clock.hertz} Hz needs {clock.period} base ticks a cycle to "
                    f"fit the other clocks exactly, above {LONGEST_PERIOD}: choose rounder frequencies"
                )

    def _index_components(self) -> None:
        self._ordered = list(self.components)
        self._domains = list(self.clocks)
        if self.order_seed is not None:
            generator = random.Random(self.order_seed)
            generator.shuffle(self._ordered)
            generator.shuffle(self._domains)
        for index, component in enumerate(self._ordered):
            component._index = index
        self._deferring = [component for component in self._ordered if isinstance(component, Deferring)]
        for clock in self.clocks:
            clock.size_for(len(self._ordered))

    def run(self, *, cycle_limit: int | None = None, progress: Callable[[int], None] | None = None) -> Run:
        """Build if needed; run until the machine is done and drained, the limit, ``stop()`` or Ctrl-C.

        Args:
            cycle_limit: stop cleanly at this cycle of the first clock.
            progress: called after each slice of the run with the current cycle of the first clock.

        Raises:
            DeadlockError: if no component can wake although work or tokens remain, or if a component waits
                and no token has moved for a long time.
        """
        if not self.built:
            self.build()
        until = MAX_TIME if cycle_limit is None else min(MAX_TIME, cycle_limit * self.clocks[0].period)
        reason = self._run_in_slices(until, progress)
        if reason == INTERRUPTED:
            return self._finished("interrupted", complete=False)
        if reason == LIMIT:
            self._limit = until if until > self.time else -1
            return self._finished("cycle limit", complete=False)
        if reason == DRAINED:
            self._standstill.require_drained(self.cycle)
        return self._finished("done", complete=True)

    def _run_in_slices(self, until: int, progress: Callable[[int], None] | None) -> int:
        with on_interrupt(self.interrupt):
            reason = SLICE_END
            while reason == SLICE_END:
                reason = self._run_slice(until)
                if reason in (SLICE_END, LIMIT):
                    self._standstill.require_moving(self.cycle, self.steps)
                give_way()
                if progress is not None:
                    progress(self.cycle)
        interrupted, self._interrupted = self._interrupted, False
        return INTERRUPTED if interrupted else reason

    def _run_slice(self, until: int) -> int:
        """Run at most ``SLICE_STEPS`` time steps, and ``SLICE_CYCLES`` cycles from the next time step."""
        slice_end = self._next_time() + SLICE_CYCLES * self.clocks[0].period
        reason = self._advance(min(slice_end, until), SLICE_STEPS)
        return SLICE_END if reason == LIMIT and slice_end < until else reason

    def interrupt(self) -> None:
        """End this run, or else the next run, as incomplete before its next time step, as Ctrl-C does.

        A run that ends by itself in the same slice also counts as interrupted.
        """
        self._interrupted = True

    def step(self) -> bool:
        """Advance to the next base tick at which a component wakes. Build the machine first if needed.

        Return False if no component will wake, or after ``stop()`` or ``interrupt()``. Checks no deadlock.
        """
        if not self.built:
            self.build()
        return self._advance(MAX_TIME, 1) == SLICE_END

    def stop(self) -> None:
        """End this and each later run as complete after the time step, for components that never sleep."""
        self._stop = True

    @property
    def cycle(self) -> int:
        """The current cycle of the first clock."""
        return max(self.time, 0) // self.clocks[0].period

    def _finished(self, reason: str, *, complete: bool) -> Run:
        end = self.end
        return Run(complete, reason, self.length(self.clocks[0]), end, float(Fraction(end) / self.base_hertz))

    @property
    def end(self) -> int:
        """Length of the run so far in base ticks: up to the cycle limit, or until all components are idle.

        A component that is not idle extends the run to the end of its current cycle, even while asleep.
        """
        if self._limit >= 0:
            return self._limit
        end = self._worked
        for component in self.components:
            if component._state != IDLE:
                period = clock_of(component).period
                end = max(end, (self.time // period + 1) * period)
        return end

    def length(self, clock: Clock) -> int:
        """Return the length of the run so far in cycles of a clock, rounded up."""
        return -(-self.end // clock.period)

    def _advance(self, until: int, steps: int) -> int:
        """Run at most ``steps`` time steps before base tick ``until``; return the reason of the end."""
        self._limit = -1
        try:
            reason = self._run_time_steps(until, steps)
        except Exception as error:
            if self._ticking >= 0:
                self._end_at(error, self._ordered[self._ticking])
            raise
        settle(self._deferring, until if reason == LIMIT else self.time + 1)
        return reason

    def _run_time_steps(self, until: int, steps: int) -> int:
        while steps > 0:
            if self._stop:
                return STOPPED
            if self._interrupted:
                return INTERRUPTED
            time = self._next_time()
            if time >= MAX_TIME:
                return DRAINED
            if time >= until:
                return LIMIT
            self._run_time_step(time)
            steps -= 1
        return SLICE_END

    def _end_at(self, error: Exception, component: Component) -> None:
        """Add the component and the cycle of its tick to an error; account for the cycles before it."""
        cycle = clock_of(component).cycle
        component._account(self._state_before, cycle)
        add_location(error, component.name, cycle)

    def _next_time(self) -> int:
        """Return the base tick of the next time step, else ``MAX_TIME``; set ``due`` of each clock."""
        best = MAX_TIME
        for listed in self._domains:
            best = min(best, inline.clock(listed).next_wake())
        # Without sleep, every component ticks in each cycle until no component would wake.
        if not self.sleeps and best < MAX_TIME:
            for listed in self._domains:
                best = min(best, inline.clock(listed).next_edge())
        return best

    def _run_time_step(self, time: int) -> None:
        """Tick the components that wake at this base tick, in every clock domain with an edge there."""
        if time >= self._trace_switch:
            self._switch_tracing(time)
        self.time = time
        self.steps += 1
        for listed in self._domains:
            clock = inline.clock(listed)
            if clock.due == time:
                self._tick_domain(clock)
        if self._tracing:
            self._sample(time)

    def _tick_domain(self, clock: Clock) -> None:
        """Advance a clock to its next cycle and tick the components that wake in it."""
        cycle = clock.due_cycle
        if not self.sleeps:
            self._wake_all(clock, cycle)
        clock.advance(cycle)
        ticks = 0
        index = clock.pop()
        while index >= 0:
            component = inline.component(self._ordered[index])
            before = component._state
            self._ticking, self._state_before = index, before
            if before != IDLE:
                self._worked = clock.time  # the component was not idle up to this tick
            component._state = IDLE  # if the tick returns a plain number, IDLE remains and is refused below
            wake = component.tick(cycle)
            if component._state != before:
                component._account(before, cycle)
            if wake > cycle and component._state != IDLE:
                clock.wake(index, wake)
            elif wake != NEVER:
                raise wake_error(component.name, cycle, wake)
            if self._tracing:
                self._ticked.append(component)
            ticks += 1
            index = clock.pop()
        self._ticking = -1
        self.ticks += ticks

    def _wake_all(self, clock: Clock, cycle: int) -> None:
        for component in self._ordered:
            if component._clock is clock:
                clock.wake(component._index, cycle)

    def _sample(self, time: int) -> None:
        if self.tracer is not None:
            self.tracer.sample(time, self._ticked)
        self._ticked.clear()

    def trace(self, tracer: Tracer | None, start: int = 0) -> None:
        """Attach a tracer, or detach the current tracer with None.

        Args:
            tracer: the kernel calls ``begin`` before the first time step from ``start`` on. ``begin`` returns
                the base tick of its next call, or a base tick that is not in the future to start tracing.
                Then ``sample`` gets the components that ticked, after each time step before ``tracer.end``.
            start: base tick of the first call of ``begin``.
        """
        self.tracer = tracer
        self._tracing = False
        self._ticked.clear()
        self._trace_switch = MAX_TIME if tracer is None else start
        self._trace_end = MAX_TIME
        let_defer(self._deferring, defers=tracer is None, time=self.time)

    def _switch_tracing(self, time: int) -> None:
        """Start or stop tracing before this time step, which may lie beyond the whole window."""
        if not self._tracing and self.tracer is not None:
            self._trace_switch = self.tracer.begin(time)
            if self._trace_switch <= time:
                self._tracing = True
                self._trace_switch = self._trace_end = self.tracer.end
        if time >= self._trace_end:
            self._tracing = False
            self._trace_switch = MAX_TIME

    def statistics(self) -> dict[str, ComponentStatistics]:
        """Return the cycle accounting and counters of every component, by name, in order of addition."""
        lengths = {clock: self.length(clock) for clock in self.clocks}
        return {
            component.name: collect_statistics(component, self.wiring, lengths[clock_of(component)])
            for component in self.components
        }

    def channels(self) -> list[Channel]:
        """Return all channels in the order of connection."""
        return self.wiring.channels
