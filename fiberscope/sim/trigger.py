"""Conditions on a running machine, as in ``pe07 input_stall > 100``: for waveforms and for the debugger.

    condition   := conjunction ("or" conjunction)*
    conjunction := comparison ("and" comparison)*
    comparison  := quantity operator value | channel "has" field operator number
    quantity    := "cycle" | pattern name | pattern "." name
    operator    := "<" | "<=" | ">" | ">=" | "==" | "!="

The pattern is a shell pattern on instance names (``fiberscope.sim.scopes``); a comparison holds if it does
for any component of those meant. Names are:

- ``busy``, ``idle``, ``input_stall``, ``output_stall``: the cycles that the component has spent so since the
  run's start;
- ``state``: what its present cycle counts as, by name: ``busy``, ``idle``, ``wait:port``, ``full:port``;
- a counter, or a signal, by number or by the name of its state: ``pe03.merger.phase == merging``;
- a port: the tokens that its channel holds, ``pe03.merger.ways[2] >= 3``; of an array all together.

A channel ``has`` a field if a token that it holds, visible or not, carries that number: the field is
``control``, ``coordinate``, ``reference`` or ``value``, or what the channel's protocol calls it. ``cycle`` is
the cycle of the first clock.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.names import nearest
from fiberscope.sim.protocol import WORDS
from fiberscope.sim.scopes import choose
from fiberscope.sim.wiring import Wiring

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
CYCLE = "cycle"
STATE = "state"
HAS = "has"
ACCOUNTS = ("busy", "idle", "input_stall", "output_stall")

_TOKEN = re.compile(r"\s*([<>]=?|[=!]=|(?:[^\s<>=!]|!(?!=))+)")


class Quantity(NamedTuple):
    """Quantity that is compared.

    Args:
        values: its numbers at a base tick before which everything has ticked and at which nothing has.
        names: what stands for its numbers from 0.
        growth: by how much it grows in a cycle of the first clock at the most, if it never falls; else 0.
        signed: whether it may be negative.
    """

    values: Callable[[int], Sequence[float]]
    names: tuple[str, ...] = ()
    growth: int = 0
    signed: bool = False


class Comparison(NamedTuple):
    """Quantities against a bound: it holds if it does for any of their numbers."""

    quantities: Sequence[Quantity]
    sign: str
    bound: int

    def holds(self, time: int) -> bool:
        """Whether it holds at a base tick."""
        compare, bound = OPERATORS[self.sign], self.bound
        return any(compare(value, bound) for quantity in self.quantities for value in quantity.values(time))

    def pause(self, time: int) -> int:
        """Cycles of the first clock for which it surely does not hold yet; 0 if it holds."""
        if self.holds(time):
            return 0
        if self.sign not in {">", ">=", "=="} or not all(quantity.growth for quantity in self.quantities):
            return 1
        least = self.bound + (self.sign == ">")
        missing = min(
            (least - value) / quantity.growth
            for quantity in self.quantities
            for value in quantity.values(time)
        )
        return max(1, int(missing) - (max(quantity.growth for quantity in self.quantities) > 1))


class Trigger:
    """A condition on a built machine.

    Args:
        text: the condition.
        kernel: the machine, built.
        called: what it is in a message.

    Raises:
        SimulationError: if it is no condition, or names what the machine does not have.
    """

    def __init__(self, text: str, kernel: Kernel, called: str = "trigger") -> None:
        self.text = text
        self._kernel = kernel
        self._called = called
        self._alternatives = [
            [self._comparison(words) for words in _split(alternative, "and")]
            for alternative in _split(self._tokens(), "or")
        ]

    def holds(self, time: int) -> bool:
        """Whether it holds at this base tick, given that nothing has ticked at it nor will before."""
        return any(
            all(comparison.holds(time) for comparison in conjunction) for conjunction in self._alternatives
        )

    def pause(self, time: int) -> int:
        """Cycles of the first clock, from a base tick on, in which it surely does not hold; 0 if it does."""
        return min(
            max(comparison.pause(time) for comparison in conjunction) for conjunction in self._alternatives
        )

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

    def _comparison(self, words: Sequence[str]) -> Comparison:
        if len(words) < 3 or words[-2] not in OPERATORS:
            raise self._fault(f"{' '.join(words) or 'nothing'} is no comparison")
        *what, sign, bound = words
        if len(what) == 3 and what[1] == HAS:
            quantities = [self._tokens_of(what[0], what[2])]
        elif len(what) <= 2:
            quantities = quantities_of(self._kernel, what, self._fault)
        else:
            raise self._fault(f"{' '.join(words)} is no comparison")
        return Comparison(quantities, sign, self._bound(bound, sign, quantities))

    def _bound(self, text: str, sign: str, quantities: Sequence[Quantity]) -> int:
        """A whole number, or the name of one."""
        names = quantities[0].names
        if text in names and sign in {"==", "!="}:
            return names.index(text)
        number = r"-?\d[\d_]*" if any(quantity.signed for quantity in quantities) else r"\d[\d_]*"
        if re.fullmatch(number, text, re.ASCII):
            return int(text.replace("_", ""))
        if names:
            raise self._fault(f"{text} is no state that == or != could be asked of; {nearest(text, names)}")
        raise self._fault(f"{text} is no whole number")

    def _tokens_of(self, name: str, field: str) -> Quantity:
        """A field of the tokens in a channel."""
        channel = find_channel(self._kernel, name)
        places = {word: place for place, word in enumerate(WORDS)}
        places |= {field: places[word] for word, field in channel.protocol.fields.items()}
        if field not in places:
            raise self._fault(f"a token of {channel.name} has no {field}; {nearest(field, places)}")
        word = places[field]
        return Quantity(
            lambda _time: [channel.token(place)[word] for place in range(channel.occupancy)], signed=True
        )

    def _fault(self, what: str, example: bool = True) -> SimulationError:
        right = "; write it as in pe07 input_stall > 100 and cycle >= 5000" if example else ""
        return SimulationError(f"the {self._called} {self.text!r}: {what}{right}")


def quantities_of(
    kernel: Kernel, words: Sequence[str], fault: Callable[[str, bool], SimulationError]
) -> list[Quantity]:
    """Return the quantities that are compared: ``cycle``, or those of a name in the matching components.

    Raises:
        SimulationError: as ``fault`` words it.
    """
    first = kernel.clocks[0].period
    *pattern, name = words
    if not pattern and name == CYCLE:
        return [Quantity(lambda time: [-(-time // first)], growth=1)]
    if not pattern:
        scope, _, name = name.rpartition(".")
        if not scope:
            raise fault(f"{name} of which component?", True)
        pattern = [scope]
    try:
        components = choose(kernel.components, pattern)
    except SimulationError as error:
        raise fault(str(error), False) from None
    quantities = [_quantity(component, name, kernel.wiring, first) for component in components]
    if not any(quantities):
        names = dict.fromkeys(key for component in components for key in names_of(component, kernel.wiring))
        raise fault(f"{pattern[0]} has no {name}; {nearest(name, names)}", False)
    return [quantity for quantity in quantities if quantity]


def names_of(component: Component, wiring: Wiring) -> list[str]:
    """The names of a component's quantities."""
    signals = [signal.name for signal in component.signals()]
    ports = [stall.label for stall in wiring.stalls(component)]
    return [*ACCOUNTS, STATE, *component.counters(), *signals, *ports]


def state_names(component: Component, wiring: Wiring) -> tuple[str, ...]:
    """Return the names of a component's states, in the order of their numbers."""
    stalls = wiring.stalls(component)
    waits = [f"{'wait' if stall.direction == 'input' else 'full'}:{stall.label}" for stall in stalls]
    return ("busy", "idle", *waits)


def find_channel(kernel: Kernel, name: str) -> Channel:
    """The channel at a port, at either end: ``pe00.merger.merged``, ``gamma.pe00.merger.ways[3]``.

    Raises:
        SimulationError: there is none, or the name means several.
    """
    scope, _, port = name.rpartition(".")
    exact = [
        component
        for component in kernel.components
        if scope in (component.name, component.name.partition(".")[2])
    ]
    components = exact or (choose(kernel.components, [scope]) if scope else [])
    ends = [
        link.channel
        for link in kernel.wiring.connections
        for end in (link.producer, link.consumer)
        if end.label == port and end.component in components
    ]
    if len({id(channel) for channel in ends}) == 1:
        return ends[0]
    if ends:
        raise SimulationError(
            f"{name} means {len(ends)} channels, {ends[0].name} and {ends[1].name} among them; name one"
        )
    labels = [
        f"{component.name}.{stall.label}"
        for component in components
        for stall in kernel.wiring.links(component)
    ]
    raise SimulationError(f"there is no channel {name}; {nearest(name, labels)}")


def _split(tokens: Sequence[str], word: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == word:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _quantity(component: Component, name: str, wiring: Wiring, first: int) -> Quantity | None:
    """The quantity of this name, if the component has it."""
    if name in ACCOUNTS:
        period = component.clock.period if component.clock else 1
        account = _account(component, _states(component, name, wiring))
        return Quantity(lambda time: [account(time)], growth=-(-first // period))
    if name == STATE:
        return Quantity(lambda _time: [component.state], state_names(component, wiring))
    if name in component.counters():
        return Quantity(lambda _time: [component.counters()[name]])
    for place, signal in enumerate(component.signals()):
        if signal.name == name:
            return Quantity(partial(_sample, component, place), signal.states, signed=True)
    for stall in wiring.stalls(component):
        if stall.label == name:
            return Quantity(partial(_occupancy, stall.channels))
    return None


def _sample(component: Component, place: int, _time: int) -> list[int]:
    return [component.sample()[place]]


def _occupancy(channels: Sequence[Channel], _time: int) -> list[int]:
    return [sum(channel.occupancy for channel in channels)]


def _states(component: Component, account: str, wiring: Wiring) -> list[int]:
    """The accounting states that an account adds up."""
    if account in ("busy", "idle"):
        return [BUSY if account == "busy" else IDLE]
    stalls = enumerate(wiring.stalls(component), FIRST_STALL)
    return [state for state, stall in stalls if account == f"{stall.direction}_stall"]


def _account(component: Component, states: Sequence[int]) -> Callable[[int], int]:
    period = component.clock.period if component.clock else 1

    def cycles(time: int) -> int:
        count = sum(component.cycles[state] for state in states)
        if component.state in states:  # since its last tick
            count += -(-time // period) - component.since
        return count

    return cycles
