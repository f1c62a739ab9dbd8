"""Conditions on a running machine, such as ``pe07 input_stall > 100``, for waveforms and the debugger.

    condition   := conjunction ("or" conjunction)*
    conjunction := comparison ("and" comparison)*
    comparison  := quantity operator value | channel "has" field operator number
    quantity    := "cycle" | pattern name | pattern "." name
    operator    := "<" | "<=" | ">" | ">=" | "==" | "!="

The pattern is a shell pattern on instance names (``fiberscope.sim.scopes``). A comparison holds if it holds
for any matching component. Matching components without the name are ignored. Names are:

- ``busy``, ``idle``, ``input_stall``, ``output_stall``: cycles of its own clock that the component has spent
  in this state since the start of the run;
- ``state``: the current accounting state by name: ``busy``, ``idle``, ``wait:port``, ``full:port``;
- a counter, or a signal, by number or by the name of its state: ``pe03.merger.phase == merging``;
- a port: the number of tokens in its channel, ``pe03.merger.ways[2] >= 3``; for an array, the total.

A channel ``has`` a field if a token in the channel, visible or in flight, carries that number. The field is
``control``, ``coordinate``, ``reference`` or ``value``, or its name in the channel's protocol. A token that
comes and goes within one cycle of the first clock counts at the end of that cycle. ``cycle`` is the cycle of
the first clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, clock_of, signals_are_attributes
from fiberscope.sim.condition import SIGNS, Comparison, Conjunction, Disjunction, Predicate, TokenComparison
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE, MAX_TIME
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.gauge import (
    AccountGauge,
    AttributeGauge,
    CounterGauge,
    CycleGauge,
    Gauge,
    OccupancyGauge,
    SampleGauge,
    StateGauge,
)
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.names import nearest
from fiberscope.sim.protocol import WORDS
from fiberscope.sim.scopes import choose
from fiberscope.sim.wiring import Wiring

CYCLE = "cycle"
STATE = "state"
HAS = "has"
ACCOUNTS = ("busy", "idle", "input_stall", "output_stall")

# An operator, or a word: ``!`` belongs to a word unless ``=`` follows, as in the pattern ``pe[!0]``
_TOKEN = re.compile(r"\s*([<>]=?|[=!]=|(?:[^\s<>=!]|!(?!=))+)")


class Trigger:
    """A condition on a built machine.

    Args:
        text: the condition.
        kernel: the machine, built.
        subject: name of the condition in messages.
        first_cycle: number of the run's first cycle, in comparisons with ``cycle``.

    Raises:
        SimulationError: if the text is no condition, or names something that the machine does not have.
    """

    def __init__(self, text: str, kernel: Kernel, subject: str = "trigger", first_cycle: int = 0) -> None:
        self.text = text
        self._kernel, self._first_cycle = kernel, first_cycle
        self._subject = subject
        self.predicate = Disjunction(
            [
                Conjunction([self._comparison(tokens) for tokens in _split(alternative, "and")])
                for alternative in _split(self._tokens(), "or")
            ]
        )

    def holds(self, time: int) -> bool:
        """Return whether the condition holds at a base tick before which all components have ticked."""
        return self.predicate.holds(time)

    def _tokens(self) -> list[str]:
        """Split the text into words and operators."""
        tokens, offset = [], 0
        text = self.text.rstrip()
        while offset < len(text):
            match = _TOKEN.match(text, offset)
            if match is None:
                raise self._fault(f"{text[offset:].split()[0]} is not understood")
            tokens.append(match[1])
            offset = match.end()
        return tokens

    def _comparison(self, tokens: Sequence[str]) -> Predicate:
        """Return the predicate of one comparison, given its tokens."""
        if len(tokens) < 3 or tokens[-2] not in SIGNS:
            raise self._fault(f"{' '.join(tokens) or 'nothing'} is no comparison")
        *quantity, sign, bound = tokens
        if len(quantity) == 3 and quantity[1] == HAS:
            return self._token_comparison(quantity[0], quantity[2], sign, bound)
        if len(quantity) > 2:
            raise self._fault(f"{' '.join(tokens)} is no comparison")
        gauges = find_gauges(self._kernel, quantity, self._fault, self._first_cycle)
        # A state name stands for its number in the first component, also for the gauges of the others
        signed = any(gauge.signed for gauge in gauges)
        return Comparison(gauges, sign, self._bound(bound, sign, gauges[0].names, signed))

    def _bound(self, text: str, sign: str, names: Sequence[str] = (), signed: bool = True) -> int:
        """Parse a whole number, limited to ``MAX_TIME``, or the name of a state, for ``==`` and ``!=``."""
        if text in names and sign in {"==", "!="}:
            return names.index(text)
        number = r"-?\d[\d_]*" if signed else r"\d[\d_]*"
        if re.fullmatch(number, text, re.ASCII):
            return min(max(int(text.replace("_", "")), -MAX_TIME), MAX_TIME)
        if names:
            raise self._fault(
                f"{text} is no state that can be compared by == or !=; {nearest(text, names)}", False
            )
        raise self._fault(f"{text} is no whole number")

    def _token_comparison(self, name: str, field: str, sign: str, bound: str) -> Predicate:
        """Return the comparison of a token field with a bound."""
        channel = find_channel(self._kernel, name)
        word_indices = {word: index for index, word in enumerate(WORDS)}
        word_indices |= {field: word_indices[word] for word, field in channel.protocol.fields.items()}
        if field not in word_indices:
            raise self._fault(
                f"a token of {channel.name} has no {field}; {nearest(field, word_indices)}", False
            )
        link = self._kernel.wiring.link(channel)
        periods = [clock_of(end.component).period for end in (link.producer, link.consumer)]
        # With a faster clock at an end, a token can come and go between two cycles of the first clock
        momentary = min(periods) < self._kernel.clocks[0].period
        return TokenComparison(channel, word_indices[field], sign, self._bound(bound, sign), momentary)

    def _fault(self, fault: str, example: bool = True) -> SimulationError:
        right = "; write it as in pe07 input_stall > 100 and cycle >= 5000" if example else ""
        return SimulationError(f"the {self._subject} {self.text!r}: {fault}{right}")


def find_gauges(
    kernel: Kernel,
    quantity: Sequence[str],
    fault: Callable[[str, bool], SimulationError],
    first_cycle: int = 0,
) -> list[Gauge]:
    """Return the compared quantities: ``cycle``, or the gauges of a name in the matching components.

    Args:
        kernel: the machine, built.
        quantity: a name, or a pattern and a name.
        fault: makes the error of a message; its flag adds an example.
        first_cycle: number of the run's first cycle.

    Raises:
        SimulationError: if the words name nothing in the machine.
    """
    base_period = kernel.clocks[0].period
    *pattern, name = quantity
    if not pattern and name == CYCLE:
        return [CycleGauge(base_period, first_cycle)]
    if not pattern:
        scope, _, name = name.rpartition(".")
        if not scope:
            raise fault(f"{name} of which component?", True)
        pattern = [scope]
    try:
        components = choose(kernel.components, pattern)
    except SimulationError as error:
        raise fault(str(error), False) from None
    gauges = [_make_gauge(component, name, kernel.wiring, base_period) for component in components]
    if not any(gauges):
        names = dict.fromkeys(key for component in components for key in list_names(component, kernel.wiring))
        raise fault(f"{pattern[0]} has no {name}; {nearest(name, names)}", False)
    return [gauge for gauge in gauges if gauge]


def list_names(component: Component, wiring: Wiring) -> list[str]:
    """Return the names of a component's quantities."""
    signals = [signal.name for signal in component.signals()]
    ports = [stall.label for stall in wiring.stalls(component)]
    return [*ACCOUNTS, STATE, *component.counters(), *signals, *ports]


def state_names(component: Component, wiring: Wiring) -> tuple[str, ...]:
    """Return the names of a component's states, in the order of their numbers."""
    stalls = wiring.stalls(component)
    waits = [f"{'wait' if stall.direction == 'input' else 'full'}:{stall.label}" for stall in stalls]
    return ("busy", "idle", *waits)


def find_channel(kernel: Kernel, name: str) -> Channel:
    """Return the channel at a port of either end: ``pe00.merger.merged``, ``gamma.pe00.merger.ways[3]``.

    Raises:
        SimulationError: if no channel or several channels have this name.
    """
    scope, _, port = name.rpartition(".")
    exact = [
        component
        for component in kernel.components
        if scope in (component.name, component.name.partition(".")[2])
    ]
    components = exact or (choose(kernel.components, [scope]) if scope else [])
    channels = [
        link.channel
        for link in kernel.wiring.connections
        if any(end.label == port and end.component in components for end in (link.producer, link.consumer))
    ]
    if len(channels) == 1:
        return channels[0]
    if channels:
        raise SimulationError(
            f"{name} matches {len(channels)} channels, {channels[0].name} and {channels[1].name} among them; "
            "name one"
        )
    labels = [
        f"{component.name}.{stall.label}"
        for component in components
        for stall in kernel.wiring.links(component)
    ]
    raise SimulationError(f"there is no channel {name}; {nearest(name, labels)}")


def _split(tokens: Sequence[str], separator: str) -> list[list[str]]:
    """Split tokens at each occurrence of a word, which is dropped."""
    groups: list[list[str]] = [[]]
    for token in tokens:
        if token == separator:
            groups.append([])
        else:
            groups[-1].append(token)
    return groups


def _make_gauge(component: Component, name: str, wiring: Wiring, base_period: int) -> Gauge | None:
    """Return the gauge of a quantity; None if the component has no quantity of this name."""
    if name in ACCOUNTS:
        return AccountGauge(component, _list_states(component, name, wiring), base_period)
    if name == STATE:
        return StateGauge(component, state_names(component, wiring))
    if name in component.counters():
        declared = name in component.COUNTERS and type(component).counters is Component.counters
        return AttributeGauge(component, name) if declared else CounterGauge(component, name)
    for position, signal in enumerate(component.signals()):
        if signal.name == name:
            if signals_are_attributes(type(component)):
                return AttributeGauge(component, name, signal.states, signed=True)
            return SampleGauge(component, position, signal.states)
    for stall in wiring.stalls(component):
        if stall.label == name:
            return OccupancyGauge(stall.channels)
    return None


def _list_states(component: Component, account: str, wiring: Wiring) -> list[int]:
    """Return the accounting states that an account adds up."""
    if account in ("busy", "idle"):
        return [BUSY if account == "busy" else IDLE]
    stalls = enumerate(wiring.stalls(component), FIRST_STALL)
    return [state for state, stall in stalls if account == f"{stall.direction}_stall"]
