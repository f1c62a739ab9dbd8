"""Conditions on a running machine, as in ``pe07 input_stall > 100``; the start of a waveform waits for one.

    condition   := conjunction ("or" conjunction)*
    conjunction := comparison ("and" comparison)*
    comparison  := [pattern] quantity operator number
    operator    := "<" | "<=" | ">" | ">=" | "==" | "!="

The pattern is a shell pattern on instance names (``fiberscope.sim.scopes``); a comparison holds if it does
for any component of those meant. Quantities are ``busy``, ``idle``, ``input_stall`` and ``output_stall``, the
cycles that the component has spent so since the run's start, and the component's counters. ``cycle``, without
a pattern, is the cycle of the first clock.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from fiberscope.sim.component import Component
from fiberscope.sim.connect import Wiring
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.names import nearest
from fiberscope.sim.scopes import choose

OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
CYCLE = "cycle"
ACCOUNTS = ("busy", "idle", "input_stall", "output_stall")

_TOKEN = re.compile(r"\s*([<>]=?|[=!]=|(?:[^\s<>=!]|!(?!=))+)")

# What gives a quantity at a base tick before which everything has ticked and at which nothing has.
Quantity = Callable[[int], int]


class Trigger:
    """A condition on a built machine.

    Args:
        text: the condition.
        kernel: the machine, built.

    Raises:
        SimulationError: if it is no condition, or names what the machine does not have.
    """

    def __init__(self, text: str, kernel: Kernel) -> None:
        self.text = text
        self._kernel = kernel
        self._alternatives = [
            [self._comparison(words) for words in _split(alternative, "and")]
            for alternative in _split(self._tokens(), "or")
        ]

    def holds(self, time: int) -> bool:
        """Whether it holds at this base tick, given that nothing has ticked at it nor will before."""
        return any(all(holds(time) for holds in conjunction) for conjunction in self._alternatives)

    def _tokens(self) -> list[str]:
        tokens, place = [], 0
        text = self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._fault(f"{text[place:].split()[0]} is not understood")
            tokens.append(match[1])
            place = match.end()
        return tokens

    def _comparison(self, words: Sequence[str]) -> Callable[[int], bool]:
        if not 3 <= len(words) <= 4 or words[-2] not in OPERATORS:
            raise self._fault(f"{' '.join(words) or 'nothing'} is no comparison")
        *pattern, name, sign, bound = words
        if not re.fullmatch(r"\d[\d_]*", bound, re.ASCII):
            raise self._fault(f"{bound} is no whole number")
        quantities = self._quantities(pattern, name)
        compare, limit = OPERATORS[sign], int(bound.replace("_", ""))
        return lambda time: any(compare(quantity(time), limit) for quantity in quantities)

    def _quantities(self, pattern: Sequence[str], name: str) -> list[Quantity]:
        """What is compared: of each component that the pattern means and that has such a quantity."""
        if not pattern:
            return [self._cycle(name)]
        try:
            components = choose(self._kernel.components, pattern)
        except SimulationError as error:
            raise SimulationError(f"the trigger {self.text!r}: {error}") from None
        quantities = [_quantity(component, name, self._kernel.wiring) for component in components]
        if not any(quantities):
            known = [*ACCOUNTS, *(key for component in components for key in component.counters())]
            raise self._fault(f"{pattern[0]} has no {name}; {nearest(name, known)}", example=False)
        return [quantity for quantity in quantities if quantity]

    def _cycle(self, name: str) -> Quantity:
        if name != CYCLE:
            raise self._fault(f"{name} of which component?")
        period = self._kernel.clocks[0].period
        return lambda time: -(-time // period)

    def _fault(self, what: str, *, example: bool = True) -> SimulationError:
        right = "; write it as in pe07 input_stall > 100 and cycle >= 5000" if example else ""
        return SimulationError(f"the trigger {self.text!r}: {what}{right}")


def _split(tokens: Sequence[str], word: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == word:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _quantity(component: Component, name: str, wiring: Wiring) -> Quantity | None:
    """The quantity of this name, if the component has it."""
    if name in ACCOUNTS:
        return _account(component, _states(component, name, wiring))
    if name in component.counters():
        return lambda time: component.counters()[name]
    return None


def _states(component: Component, account: str, wiring: Wiring) -> list[int]:
    """The accounting states that an account adds up."""
    if account in ("busy", "idle"):
        return [BUSY if account == "busy" else IDLE]
    stalls = enumerate(wiring.stalls(component), FIRST_STALL)
    return [state for state, stall in stalls if account == f"{stall.direction}_stall"]


def _account(component: Component, states: Sequence[int]) -> Quantity:
    period = component.clock.period if component.clock else 1

    def cycles(time: int) -> int:
        count = sum(component.cycles[state] for state in states)
        if component.state in states:  # since its last tick
            count += -(-time // period) - component.since
        return count

    return cycles
