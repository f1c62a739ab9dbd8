# cython: infer_types=True
"""Lookahead models: one component computes, ahead of the clock, the behaviour of several components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.sim.component import Component
from fiberscope.sim.constants import LIMIT, LOOKAHEAD_CYCLES, MAX_TIME, SLICE_END
from fiberscope.sim.deferral import settle
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.kernel import Kernel

if TYPE_CHECKING:
    from fiberscope.sim.channel import Channel
    from fiberscope.sim.trace import Tracer

__all__ = ["Consumer", "LookaheadKernel", "LookaheadModel", "remove_lookahead"]


class LookaheadModel(Component):
    """A component that replaces determinate components joined by channels, with the same outcome.

    One tick computes all that is certain to happen before the cycle ``horizon``. Tokens move at the outer
    channels in the same cycles as without the model. The inner channels stay empty. A tick always ends with
    ``idle``, and the model wakes itself by ``wake_at``.

    Args:
        name: name in messages.
        components: the components that the model replaces, all in the kernel's first clock domain.
    """

    def __init__(self, name: str, components: Sequence[Component]) -> None:
        super().__init__(name)
        self.components = list(components)
        self.engaged = False  # whether the model has replaced the components
        self.horizon = 0
        self.worked = 0  # of the settled cycles, the end of the last cycle in which a component was not idle

    def engage(self) -> None:
        """Replace the components. The kernel calls this method at the start of the first run, after build."""
        raise NotImplementedError(f"{type(self).__name__} does not define engage")

    def last_event_cycle(self) -> int:
        """Return the last cycle with an event that the model has computed."""
        raise NotImplementedError(f"{type(self).__name__} does not define last_event_cycle")

    def settle(self, cycle: int) -> None:
        """Update the components' accounts up to ``cycle``. All events before ``cycle`` are known."""
        raise NotImplementedError(f"{type(self).__name__} does not define settle")

    def reveal_tokens(self) -> list[Channel]:  # C: def
        """Put the tokens that the model holds into the inner channels, for the report of a deadlock.

        Returns:
            The inner channels that stay empty although they may hold tokens.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define reveal_tokens")


class Consumer(Component):
    """A component that can promise to pop the next tokens at an input in the cycles of their arrival."""

    def promised_pops(self) -> int:
        """Return the number of next elements that it certainly pops: one a cycle, each once it is visible.

        Stops do not count; the model never assumes when a stop is popped.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define promised_pops")


class LookaheadKernel(Kernel):
    """A kernel that runs lookahead models in place of some components.

    The kernel runs the components themselves if a tracer is attached before the first run, or if the first
    cycles are simulated by ``step``.

    Args:
        order_seed: see ``Kernel``.
    """

    def __init__(self, *, order_seed: int | None = None) -> None:
        super().__init__(order_seed=order_seed)
        self.lookahead_models: list[LookaheadModel] = []
        self._standstill.lookahead_models = self.lookahead_models
        self.engaged = False

    def add_lookahead(self, model: LookaheadModel) -> None:  # C: def
        """Register a model, which replaces its components from the start of the first run on."""
        self.lookahead_models.append(model)

    def trace(self, tracer: Tracer | None, start: int = 0) -> None:  # C: def
        """Attach a tracer, or detach the current tracer with None.

        Raises:
            SimulationError: if lookahead models are engaged, since their components do not tick.
        """
        if self.engaged and tracer is not None:
            raise SimulationError(
                "the machine has run ahead of its clock: attach a tracer before its first run"
            )
        super().trace(tracer, start)

    def _advance(self, until: int, steps: int) -> int:
        """Run to a limit, at most ``LOOKAHEAD_CYCLES``; at an earlier end, run to the models' last event."""
        # ``step`` asks for one time step, ``run`` for more.
        if self.time < 0 and steps > 1 and self.tracer is None and not self.engaged:
            self._engage()
        start = self._next_time()
        if not self.engaged or start >= MAX_TIME or self._stop or self._interrupted:
            return Kernel._advance(self, until, steps)
        end = min(until, start + (LOOKAHEAD_CYCLES * self.clocks[0].period if steps > 1 else 1))
        self._begin(start, end)
        reason = Kernel._advance(self, end, MAX_TIME)
        if reason != LIMIT:
            self._catch_up(start)
            return reason
        self._settle(end)
        return LIMIT if end == until else SLICE_END

    def _engage(self) -> None:  # C: def
        """Replace the components by the models in the order of ticks."""
        for model in self.lookahead_models:
            model._index = model.components[0]._index
            model._clock = model.components[0]._clock
            model.engage()
            for component in model.components:
                self._ordered[component._index] = model
        self.engaged = bool(self.lookahead_models)

    def _cycle(self, time: int) -> int:
        """Return the first cycle that is not before a base tick."""
        return -(-time // self.clocks[0].period)

    def _begin(self, start: int, end: int) -> None:
        """Update all accounts up to base tick ``start``, and set the models' horizon to base tick ``end``."""
        for model in self.lookahead_models:
            model.horizon = self._cycle(end)
            model.settle(self._cycle(min(start, end)))

    def _settle(self, time: int) -> None:
        """Update all accounts up to a base tick."""
        for model in self.lookahead_models:
            model.settle(self._cycle(time))
            self._worked = max(self._worked, model.worked * self.clocks[0].period)

    def _catch_up(self, start: int) -> None:
        """Run to the last base tick that a model has reached."""
        last = max([model.last_event_cycle() for model in self.lookahead_models])
        time = last * self.clocks[0].period
        if time > self.time:
            self._begin(start, time + 1)
            self.lookahead_models[0].wake_at(last)
            while self._next_time() <= time:
                self._run_time_step(self._next_time())
            settle(self._deferring, self.time + 1)
        self._settle(self.time + 1)


def remove_lookahead(kernel: Kernel) -> None:  # C: def
    """Run the components of a machine themselves, so that the channels between them hold tokens.

    Call this function before the first run. Lookahead models leave these channels empty. Cycles and results
    do not change.
    """
    if isinstance(kernel, LookaheadKernel):
        kernel.lookahead_models.clear()
