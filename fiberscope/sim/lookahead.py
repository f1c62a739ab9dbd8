# cython: infer_types=True
"""Lookahead models: one component computes ahead of the clock what several components would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.sim.component import Component
from fiberscope.sim.constants import LIMIT, LOOKAHEAD_CYCLES, MAX_TIME, SLICE_END
from fiberscope.sim.deferral import settle
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.kernel import Kernel

if TYPE_CHECKING:
    from fiberscope.sim.trace import Tracer

__all__ = ["Consumer", "LookaheadKernel", "LookaheadModel", "remove_lookahead"]


class LookaheadModel(Component):
    """Ticks in the place of determinate components that are joined by channels, with the same outcome.

    One tick computes all that is certain to happen before the cycle ``horizon``. Tokens move at the outer
    channels in the cycles in which they would move; the inner channels are not used. A tick always ends with
    ``idle``, and the model wakes itself by ``wake_at``.

    Args:
        name: in messages.
        components: those that it replaces, all of the kernel's first clock.
    """

    def __init__(self, name: str, components: Sequence[Component]) -> None:
        super().__init__(name)
        self.components = list(components)
        self.engaged = False  # whether it does so: who pushes and pops at its inner channels turns to it
        self.horizon = 0
        self.worked = 0  # as far as accounts are settled, the last cycle that ended one of theirs not idle

    def engage(self) -> None:
        """Take over from the components; before the first cycle, when the machine is built."""
        raise NotImplementedError(f"{type(self).__name__} does not define engage")

    def last(self) -> int:
        """The last cycle in which anything is known to have happened."""
        raise NotImplementedError(f"{type(self).__name__} does not define last")

    def settle(self, cycle: int) -> None:
        """Bring the components' accounts up to this cycle, before which all has happened that will."""
        raise NotImplementedError(f"{type(self).__name__} does not define settle")


class Consumer(Component):
    """A component that can promise to take the next tokens at an input in the cycles in which they arrive."""

    def takes(self) -> int:
        """Number of tokens, stops excluded, that it takes as soon as they are seen, one a cycle."""
        raise NotImplementedError(f"{type(self).__name__} does not define takes")


class LookaheadKernel(Kernel):
    """Runs a machine with lookahead models in the place of some components.

    As any kernel it runs in step where a tracer is attached before the first run, and where the first cycles
    are gone by ``step``.

    Args:
        order_seed: as of any kernel.
    """

    def __init__(self, *, order_seed: int | None = None) -> None:
        super().__init__(order_seed=order_seed)
        self.lookahead_models: list[LookaheadModel] = []
        self.engaged = False

    def add_lookahead(self, model: LookaheadModel) -> None:  # C: def
        """Replace the components of a model by that model."""
        self.lookahead_models.append(model)

    def trace(self, tracer: Tracer | None, start: int = 0) -> None:  # C: def
        """Attach a tracer, or detach it with None, as to any kernel.

        Raises:
            SimulationError: if models run ahead: the components that they replace do not tick.
        """
        if self.engaged and tracer is not None:
            raise SimulationError(
                "the machine has run ahead of its clock: attach a tracer before its first run"
            )
        super().trace(tracer, start)

    def _advance(self, until: int, steps: int) -> int:
        """Run to a limit, but not too far; where it ends sooner, to the cycle that models have reached."""
        if self.time < 0 and steps > 1 and self.tracer is None:
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
        """Put the models in the place of their components in the order of ticks."""
        for model in self.lookahead_models:
            model._index = model.components[0]._index
            model._clock = model.components[0]._clock
            model.engage()
            for component in model.components:
                self._ordered[component._index] = model
        self.engaged = bool(self.lookahead_models)

    def _cycle(self, time: int) -> int:
        """The first cycle that is not before a base tick."""
        return -(-time // self.clocks[0].period)

    def _begin(self, start: int, end: int) -> None:
        """Account for all up to one base tick, and let models go as far as another."""
        for model in self.lookahead_models:
            model.horizon = self._cycle(end)
            model.settle(self._cycle(min(start, end)))

    def _settle(self, time: int) -> None:
        """Bring all accounts up to a base tick."""
        for model in self.lookahead_models:
            model.settle(self._cycle(time))
            self._worked = max(self._worked, model.worked * self.clocks[0].period)

    def _catch_up(self, start: int) -> None:
        """Run on to the last base tick that a model has reached."""
        last = max([model.last() for model in self.lookahead_models])
        time = last * self.clocks[0].period
        if time > self.time:
            self._begin(start, time + 1)
            self.lookahead_models[0].wake_at(last)
            while self._next_time() <= time:
                self._run_time_step(self._next_time())
            settle(self._deferring, self.time + 1)
        self._settle(self.time + 1)


def remove_lookahead(kernel: Kernel) -> None:  # C: def
    """Have the components of a built machine tick themselves, so that the channels between them hold tokens.

    Lookahead models leave these channels empty. Cycles and results are the same without the models.
    """
    if isinstance(kernel, LookaheadKernel):
        kernel.lookahead_models.clear()
