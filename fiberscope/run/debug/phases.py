"""Phases of a graph in the debugger.

The phases of a graph are machines that run one after another. Cycles of a session count over all phases; each
kernel counts from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fiberscope.accelerators.machine import Machine
from fiberscope.base.errors import InputError
from fiberscope.results.recording.waits import Wait, find_wait_chain
from fiberscope.run.debug.views import ComponentView, QueueView, build_component_view, queue_view
from fiberscope.sim import SimulationError
from fiberscope.sim.condition import SIGNS, Predicate
from fiberscope.sim.scopes import choose, choose_one, matches_any_name
from fiberscope.sim.trigger import Trigger, find_channel, find_gauges

_WORD = re.compile(r"[^\s<>=!]+")


@dataclass(frozen=True)
class Phase:
    """Phase of a run; a machine that is no graph has one phase.

    Args:
        machine: the machine of the phase.
        start: the session cycle at the start of the phase.
    """

    machine: Machine
    start: int

    @property
    def number(self) -> int:
        """Return the number of the phase, from 1."""
        return getattr(self.machine, "phase", 1)

    @property
    def blocks(self) -> Mapping[int, Sequence[str]]:
        """Return the names of blocks by phase; empty for a machine that is no graph."""
        return getattr(self.machine, "blocks_by_phase", {})

    @property
    def is_last(self) -> bool:
        """Return whether no phase follows; true for a machine that is no graph."""
        return not any(number > self.number for number in self.blocks)

    def __str__(self) -> str:
        """Return the phase in words; empty for a run with one phase."""
        return f"phase {self.number} of {len(self.blocks)}" if len(self.blocks) > 1 else ""

    def condition(self, text: str, *, later: bool = False) -> Predicate | None:
        """Parse a condition on the machine of this phase; None if its blocks belong to another phase.

        Args:
            text: the condition.
            later: refuse conditions on blocks of earlier phases, which can no longer hold.

        Raises:
            SimulationError: the text is no condition, or names nothing in any (later) phase.
        """
        try:
            return Trigger(text, self.machine.kernel, "condition", self.start).predicate
        except SimulationError:
            if not self._names_other_phase(text, later):
                raise
            return None

    def _names_other_phase(self, text: str, later: bool = False) -> bool:
        """Return whether a text names a block of another phase.

        Args:
            text: a condition or quantity, perhaps invalid.
            later: ignore blocks of earlier phases.
        """
        first = self.number + 1 if later else 0
        blocks = [
            name
            for number, names in self.blocks.items()
            for name in names
            if number >= first and number != self.number
        ]
        machine = self.machine.kernel.components[0].name.partition(".")[0]
        words = [word.removeprefix(f"{machine}.").split(".") for word in _WORD.findall(text)]
        # A word may end in a port or a quantity: each of its beginnings may be the block.
        scopes = [".".join(word[:depth]) for word in words for depth in range(1, len(word) + 1)]
        return any(matches_any_name(scope, blocks) for scope in scopes)

    def value(self, expression: str, time: int) -> str:
        """Return a quantity or condition as text: ``yes`` or ``no`` for a condition.

        A text of one or two words without a sign of a comparison is a quantity.

        Args:
            expression: the quantity or condition.
            time: base tick; all components have executed all earlier ticks.

        Raises:
            InputError: the expression is neither.
        """
        kernel, words = self.machine.kernel, expression.split()
        try:
            if len(words) <= 2 and not any(sign in expression for sign in SIGNS):  # a pattern and a name
                gauges = find_gauges(kernel, words, _choose_error_factory(expression), self.start)
                values = [(gauge.names, gauge.read(time)) for gauge in gauges]
                return ", ".join(names[value] if names else f"{value:,}" for names, value in values)
            return "yes" if Trigger(expression, kernel, "expression", self.start).holds(time) else "no"
        except SimulationError as error:
            if self._names_other_phase(expression):
                return f"not in phase {self.number}"
            raise InputError(str(error)) from error

    def components(self, pattern: str, time: int) -> list[ComponentView]:
        """Return views of the components that match a pattern, in cycles of the session.

        Args:
            pattern: see ``fiberscope.sim.scopes.choose``.
            time: base tick; all components have executed all earlier ticks.

        Raises:
            SimulationError: no component matches.
        """
        views = [
            build_component_view(self.machine.kernel, component, time)
            for component in choose(self.machine.kernel.components, [pattern])
        ]
        return [replace(view, cycle=view.cycle + self.start, since=view.since + self.start) for view in views]

    def queue(self, name: str) -> QueueView:
        """Return the tokens in a channel, with their arrivals in cycles of the session.

        Raises:
            SimulationError: no channel or several channels have this name.
        """
        view = queue_view(self.machine.kernel, find_channel(self.machine.kernel, name))
        return replace(view, tokens=[(arrival + self.start, words) for arrival, words in view.tokens])

    def chain(self, name: str, time: int) -> list[Wait]:
        """Return the wait chain of a component at a base tick, in cycles of the session.

        Raises:
            SimulationError: no component or several components match the name.
        """
        component = choose_one(self.machine.kernel.components, name)
        chain = find_wait_chain(self.machine.kernel, component, time)
        return [replace(wait, since=wait.since + self.start) for wait in chain]


def _choose_error_factory(expression: str) -> Callable[[str, bool], SimulationError]:
    """Return the function that makes the errors of ``find_gauges``; its flag, for an example, is ignored."""
    return lambda reason, _example: SimulationError(f"the expression {expression!r}: {reason}")
