"""Contents of a waveform: the signals of components and the occupancies of their channels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.probe import Probe, Probes
from fiberscope.sim.scopes import choose
from fiberscope.sim.wiring import Wiring

STATE = "state"  # the signal of every component's accounting state
OCCUPANCY_BITS = 32
WIDEST = 64  # bits; values are signed 64-bit integers, so a 64-bit signal is signed

_INDEXED = re.compile(r"(?P<array>.+)\[(?P<index>\d+)\]")

Kind = Literal["wire", "integer", "text", "mark", "occupancy"]
KINDS: dict[str, Kind] = {"wire": "wire", "integer": "integer", "state": "text", "mark": "mark"}
COLOURS = {"busy": "DarkGreen", "idle": "black", "wait": "firebrick", "full": "DarkOrchid4"}  # X11's names
COLOURED = "_coloured"  # suffix of a state's second signal, whose numbers are rows of a table
ROW_BITS = 16  # width of a row number


@dataclass(frozen=True)
class Variable:
    """One variable of a waveform.

    Args:
        scope: instance name of the component, or a scope inside it.
        name: unique within the scope.
        kind: ``"wire"`` (bits), ``"integer"`` (a signed number), ``"text"``, ``"mark"`` (a bit) or
            ``"occupancy"`` (tokens).
        width: bits; without meaning for kind ``"text"``.
        texts: for kind ``"text"``, the text of each number from 0.
        capacity: for kind ``"occupancy"``, the capacity of the channel in tokens.
        array: name of the array of ports to which the channel belongs; empty for a single port.
        rows: for kind ``"text"``, the row of each text in the waveform's table; empty without a table.
        is_number: for kind ``"text"``, whether the file has the row in place of the text.
    """

    scope: str
    name: str
    kind: Kind
    width: int
    texts: tuple[str, ...] = ()
    capacity: int = 0
    array: str = ""
    rows: tuple[int, ...] = ()
    is_number: bool = False


class Waveform:
    """The variables of a built machine, and the probes that read them.

    Variables are in the order in which components were added, independent of the tick order. The
    occupancy of a channel belongs to the component that reads it: channels to components outside of
    ``scopes`` are left out.

    With ``colours``, ``table`` has each state once, with its colour: ``?firebrick?wait:in``. With ``plain``,
    ``table`` has each text once. Otherwise it is empty. Do not set both.

    Args:
        components: all components of the machine.
        wiring: the machine's channels.
        scopes: shell patterns on instance names, see ``fiberscope.sim.scopes.choose``. Empty for all.
        colours: whether GTKWave shows states in colour. Each state then has a row in the table too.
        plain: whether rows replace the texts, which IEEE 1364 does not have.

    Raises:
        SimulationError: if a pattern matches nothing, or a signal is invalid.
    """

    def __init__(
        self,
        components: Sequence[Component],
        wiring: Wiring,
        scopes: Sequence[str],
        *,
        colours: bool = False,
        plain: bool = False,
    ) -> None:
        self._colours, self._plain = colours, plain
        self.variables: list[Variable] = []
        self.table: dict[str, int] = {}  # row number by text
        self._wiring = wiring
        channels: dict[int, Channel] = {}  # by position in the waveform
        probes: list[Probe | None] = [None] * len(components)
        for component in choose(components, scopes):
            probes[component.index] = self._add(component, channels)
        self.probes = Probes(len(self.variables), probes, channels)

    def _add(self, component: Component, channels: dict[int, Channel]) -> Probe:
        """Add the variables of a component's scope, with the channels that it reads; return its probe."""
        first = len(self.variables)
        state = Variable(component.name, STATE, "text", 1, tuple(self._states(component)))
        if self._colours:
            state = replace(state, rows=tuple(map(self._row, map(_add_colour, state.texts))))
        signals = [state, *(_make_variable(component, signal) for signal in component.signals())]
        self.variables.extend(map(self._with_rows, signals) if self._plain else signals)
        own_positions = range(first, len(self.variables))
        for label, (channel,), direction in self._wiring.links(component):
            if direction == "input":
                channels[len(self.variables)] = channel
                self.variables.append(_make_occupancy_variable(component, label, channel))
        _check_names(component, self.variables[first:])
        return Probe(component, own_positions)

    def _states(self, component: Component) -> Iterator[str]:
        """Yield the texts of the accounting states. A stall names its port as the occupancy signal does."""
        yield from ("busy", "idle")
        for stall in self._wiring.stalls(component):
            kind = "wait" if stall.direction == "input" else "full"
            yield f"{kind}:{_name_port_signal(component, stall.label)}"

    def _with_rows(self, variable: Variable) -> Variable:
        """Return the variable with rows of the table in place of its texts, if it has texts."""
        if not variable.texts:
            return variable
        return replace(variable, rows=tuple(map(self._row, variable.texts)), is_number=True)

    def _row(self, text: str) -> int:
        return self.table.setdefault(text, len(self.table))


def _add_colour(state: str) -> str:
    """Return a state with the prefix of its colour."""
    return f"?{COLOURS[state.partition(':')[0]]}?{state}"


def _make_variable(component: Component, signal: Signal) -> Variable:
    """Return the variable of a component's signal, after a check of its declaration."""
    name = f"{component.name}.{signal.name}"
    if signal.kind not in KINDS:
        raise SimulationError(f"{name}: a signal's kind is one of {', '.join(KINDS)}, not {signal.kind}")
    if not 1 <= signal.width <= WIDEST:
        raise SimulationError(f"{name}: a signal has 1 to {WIDEST} bits, not {signal.width}")
    if (signal.kind == "state") != bool(signal.states):
        raise SimulationError(f"{name}: a signal of kind state, and no other, names its states")
    scope = f"{component.name}.{signal.within}" if signal.within else component.name
    return Variable(scope, signal.name, KINDS[signal.kind], signal.width, signal.states)


def _make_occupancy_variable(component: Component, label: str, channel: Channel) -> Variable:
    """Return the variable of the occupancy of the channel at an input port."""
    match = _INDEXED.fullmatch(label)
    return Variable(
        component.name,
        _name_port_signal(component, label),
        "occupancy",
        OCCUPANCY_BITS,
        capacity=channel.capacity,
        array=match["array"] if match else "",
    )


def _name_port_signal(component: Component, label: str) -> str:
    """Return the signal name of a port: ``ways_03`` for ``ways[3]`` of 64, as brackets would select a bit."""
    match = _INDEXED.fullmatch(label)
    if match is None:
        return label
    digits = len(str(len(component.connected[match["array"]]) - 1))
    return f"{match['array']}_{int(match['index']):0{digits}}"


def _check_names(component: Component, variables: Sequence[Variable]) -> None:
    """Check that variables have distinct names, and names that waveform files can hold."""
    names = Counter((variable.scope, variable.name) for variable in variables)
    for (scope, name), count in names.items():
        if count > 1:
            raise SimulationError(f"{scope}: {count} signals of the waveform are named {name}")
    for name_part in dict.fromkeys(
        name_part for scope, name in names for name_part in (*scope.split("."), name)
    ):
        if not re.fullmatch(r"[!-~]+", name_part):
            raise SimulationError(
                f"{component.name}: {name_part!r} cannot name a scope or a signal of a waveform; "
                "printable ASCII without spaces can"
            )
