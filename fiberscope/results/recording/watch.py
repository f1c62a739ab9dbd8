"""Looks at all components of a running machine now and then, and tells what they did in between.

Nothing is asked of the components while they run: the engine keeps the account of their cycles anyway, and it
is read at the end of each interval. So what is told of an interval is exact, and a run that is not watched
costs nothing. The first intervals are of one cycle; whenever there are ``MOST_INTERVALS``, every two
become one, twice as long.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fiberscope.results.recording.chain_samples import ChainSamples
from fiberscope.results.recording.document import ComponentStates, Domain, QueueFill, StateTimeline
from fiberscope.results.report.timeline import halve_samples
from fiberscope.sim import Channel, Component, Kernel
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.cycle_counts import Ledger
from fiberscope.sim.names import family_name
from fiberscope.sim.wiring import Stall, Wiring

__all__ = ["LARGEST_BYTES", "MOST_INTERVALS", "Queue", "Seat", "StateWatch", "seats_of"]

FIXED = ("busy", "idle")  # the states that every component has, in the order of their numbers
Peers = tuple[str, ...]
MOST_INTERVALS = 1024
LARGEST_BYTES = 4_500_000  # of the document: intervals are made longer until it is no larger
Counts = npt.NDArray[np.int64]
Window = tuple[int, int]


@dataclass
class Queue:
    """The channels at one input port; those of an array of ports are one queue. None is no bound."""

    capacity: int | None = 0
    channels: list[Channel] = field(default_factory=list)

    def add(self, channel: Channel) -> None:
        """One more of them."""
        bounded = channel.bounded and self.capacity is not None
        self.capacity = (self.capacity or 0) + channel.capacity if bounded else None
        self.channels.append(channel)


@dataclass(frozen=True)
class Seat:
    """One component.

    Args:
        component: the component.
        labels: what each of its states is called, in the order of their numbers: ``busy``, ``idle``,
            ``wait:port``, ``full:port``. States of one array of ports whose channels all lead to one
            component have one label.
        waits_for: the components at the other end, by label.
        inputs: the components that write to each input port.
        queues: those in front of it, by port.
    """

    component: Component
    labels: tuple[str, ...]
    waits_for: Mapping[str, Peers]
    inputs: Mapping[str, Peers]
    queues: Mapping[str, Queue]


def seats_of(kernel: Kernel) -> list[Seat]:
    """Return the components of a built kernel, in the order of their addition."""
    return [_seat(component, kernel.wiring) for component in kernel.components]


def _seat(component: Component, wiring: Wiring) -> Seat:
    stalls = wiring.stalls(component)
    peers = [wiring.peers(stall) for stall in stalls]
    beyond: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # by direction and array of ports
    for stall, names in zip(stalls, peers, strict=True):
        beyond[stall.direction, _array(stall)].update(names)
    alone = {key for key, names in beyond.items() if len(names) == 1}
    labels = [_label(stall, (stall.direction, _array(stall)) in alone) for stall in stalls]
    waits_for = dict(zip(labels, peers, strict=True))
    inputs = {
        array: tuple(sorted(names)) for (direction, array), names in beyond.items() if direction == "input"
    }
    return Seat(component, (*FIXED, *labels), waits_for, inputs, _queues(component, wiring))


def _array(stall: Stall) -> str:
    """The name of its port, that of the array if it is one of an array."""
    return stall.label.partition("[")[0]


def _label(stall: Stall, one_peer: bool) -> str:
    port = _array(stall) if one_peer else stall.label
    return f"{'wait' if stall.direction == 'input' else 'full'}:{port}"


def _queues(component: Component, wiring: Wiring) -> dict[str, Queue]:
    queues: dict[str, Queue] = {}
    for stall in wiring.links(component):
        if stall.direction == "input":
            queues.setdefault(_array(stall), Queue()).add(stall.channels[0])
    return queues


class StateWatch:
    """Recorder of a machine's states.

    Args:
        kernel: built.
        window: cycles of the first clock, ``[start, end)``; all by default.
        families: the families of the components that are looked at; all by default.
        intervals: as many at the most.
        largest: bytes of the document at the most; longer intervals make it smaller.
        chains: also sample the chains of waits that lead to memory or through a network.
    """

    def __init__(
        self,
        kernel: Kernel,
        window: Window | None = None,
        *,
        families: Container[str] | None = None,
        intervals: int = MOST_INTERVALS,
        largest: int = LARGEST_BYTES,
        chains: bool = False,
    ) -> None:
        self._kernel = kernel
        self._start, self._end = window or (0, MAX_TIME)
        self._interval, self._most, self._largest = 1, intervals, largest
        self._seats = [
            seat
            for seat in seats_of(kernel)
            if families is None or family_name(seat.component.name) in families
        ]
        self._columns = _Columns(self._seats)
        self._base: array[int] | None = None  # the account at the start
        self._rows: list[array[int]] = []  # the account at the end of each interval
        self._last: array[int] | None = None  # the account at the end of the window
        components = [seat.component for seat in self._seats]
        self._chains = ChainSamples(kernel, components, self._start) if chains else None
        if self._start == 0:
            self._base = self._columns.row()

    def next_look(self) -> int:
        """The cycle of the first clock in which to look next."""
        if self._base is None:
            return self._start
        if self._last is not None:
            return MAX_TIME
        rows, interval = halve_samples(self._rows, self._interval, self._most)
        return min(self._start + interval * (len(rows) + 1), self._end)

    def look(self, cycle: int) -> None:
        """Record the states; the run has come to this cycle."""
        row = self._columns.read(cycle * self._kernel.clocks[0].period)
        if self._chains is not None:
            self._chains.look(cycle)
        if self._base is None:
            self._base = row
        elif cycle == self._end:
            self._last = row
        else:
            self._rows, self._interval = halve_samples(self._rows, self._interval, self._most)
            self._rows.append(row)

    def states(self) -> StateTimeline:
        """Return the recorded states, of a run that has ended.

        A machine may be looked at beyond its end, while RTL in it is clocked on until it is surely empty.
        """
        kernel = self._kernel
        end = max(self._start, min(self._end, kernel.length(kernel.clocks[0])))
        last = self._last if self._last is not None else self._columns.read(kernel.end)
        base = self._base if self._base is not None else last
        whole = max(0, -(-(end - self._start) // self._interval) - 1)
        accounts = [base, *self._rows[:whole], last] if end > self._start else [base]
        cycles, tokens = self._columns.divided(np.array(accounts))
        interval = self._interval
        chains = self._chains.recorded() if self._chains is not None else None
        room = self._largest - (len(chains.model_dump_json()) if chains is not None else 0)
        while self._columns.bytes(cycles, tokens) > room and len(cycles) > 1:
            cycles, tokens, interval = _paired(cycles), _every_second(tokens), 2 * interval
        components = dict(self._columns.component_states(cycles, tokens))
        return StateTimeline(
            start=self._start,
            end=end,
            interval=interval,
            clocks=_clocks(kernel),
            components=components,
            chains=chains,
        )


class _Columns:
    """Columns of an account: one for each state, then one for each queue."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        self._seats = seats
        named = ((seat.component.name, label) for seat in seats for label in seat.labels)
        self.states = list(dict.fromkeys(named))
        self.queues = {
            (seat.component.name, port): queue for seat in seats for port, queue in seat.queues.items()
        }
        place = {key: column for column, key in enumerate(self.states)}
        accounts = [[place[seat.component.name, label] for label in seat.labels] for seat in seats]
        channels = [
            (len(place) + column, channel)
            for column, queue in enumerate(self.queues.values())
            for channel in queue.channels
        ]
        self._ledger = Ledger(
            [seat.component for seat in seats],
            accounts,
            [channel for _column, channel in channels],
            [column for column, _channel in channels],
        )

    def row(self) -> array[int]:
        """An empty account."""
        return array("q", [0]) * (len(self.states) + len(self.queues))

    def read(self, time: int) -> array[int]:
        """The account at this base tick."""
        row = self.row()
        self._ledger.read(row, time)
        return row

    def divided(self, table: Counts) -> tuple[Counts, Counts]:
        """Accounts one after the other as the cycles between them, and the tokens at each but the first."""
        states = len(self.states)
        return np.diff(table[:, :states], axis=0), table[1:, states:]

    def bytes(self, cycles: Counts, tokens: Counts) -> int:
        """Return the size of the columns in a document; a state that never occurs is left out."""
        names = sum(len(name) + len(label) for name, label in (*self.states, *self.queues))
        return names + _digits(cycles[:, cycles.any(axis=0)]) + _digits(tokens)

    def component_states(self, cycles: Counts, tokens: Counts) -> Iterator[tuple[str, ComponentStates]]:
        """The components with what they did."""
        held = dict(zip(self.queues, tokens.T.tolist(), strict=True))
        columns = zip(self.states, cycles.T.tolist(), strict=True)
        spent = {key: column for key, column in columns if any(column)}
        for seat in self._seats:
            name, clock = seat.component.name, seat.component.clock
            labels = [label for label in dict.fromkeys(seat.labels) if (name, label) in spent]
            yield (
                name,
                ComponentStates(
                    clock=clock.name if clock else "",
                    states={label: spent[name, label] for label in labels},
                    waits_for={label: seat.waits_for[label] for label in labels if label in seat.waits_for},
                    inputs=dict(seat.inputs),
                    queues={
                        port: QueueFill(capacity=queue.capacity, tokens=held[name, port])
                        for port, queue in seat.queues.items()
                    },
                ),
            )


def _digits(numbers: Counts) -> int:
    """Letters of all numbers with a comma behind each; none is below 0."""
    most = int(numbers.max(initial=0))
    return 2 * numbers.size + sum(int((numbers >= 10**power).sum()) for power in range(1, len(str(most))))


def _paired(cycles: Counts) -> Counts:
    """Add rows in pairs; the last row stays alone if their number is odd."""
    return np.add.reduceat(cycles, range(0, len(cycles), 2), axis=0)


def _every_second(tokens: Counts) -> Counts:
    """Return every second row, and the last row if their number is odd."""
    return np.concatenate([tokens[1::2], tokens[len(tokens) - len(tokens) % 2 :]])


def _clocks(kernel: Kernel) -> dict[str, Domain]:
    return {clock.name: Domain(hertz=str(clock.hertz), base_ticks=clock.period) for clock in kernel.clocks}
