"""Recorder of component states: samples the cycle accounting of a running machine at intervals.

The engine keeps the cycle accounting in any case. Reading the accounting at the end of an interval gives
exact counts without overhead for unrecorded runs. Intervals start at one cycle. Before a sample beyond
``MAX_INTERVALS`` complete intervals, pairs of intervals are joined.
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

COMMON_STATES = ("busy", "idle")  # states of every component, in the order of their numbers
Peers = tuple[str, ...]
MAX_INTERVALS = 1024  # default maximum number of intervals
MAX_BYTES = 4_500_000  # maximum size of the document; longer intervals reduce the size
Counts = npt.NDArray[np.int64]
Window = tuple[int, int]


@dataclass
class Queue:
    """The channels at an input port or an array of ports.

    Args:
        capacity: sum of the capacities of all channels in tokens; None if a channel is unbounded.
    """

    capacity: int | None = 0
    channels: list[Channel] = field(default_factory=list)

    def add(self, channel: Channel) -> None:
        """Add a channel."""
        bounded = channel.bounded and self.capacity is not None
        self.capacity = (self.capacity or 0) + channel.capacity if bounded else None
        self.channels.append(channel)


@dataclass(frozen=True)
class TrackedComponent:
    """A recorded component with the names of its states.

    Args:
        labels: the names of the states in the order of their numbers: ``busy``, ``idle``, ``wait:port``,
            ``full:port``. An array of ports whose channels all lead to one component has one label.
        waits_for: the components at the other end, by label.
        writers: the components that write to each input port.
        queues: the queues in front of the component, by port.
    """

    component: Component
    labels: tuple[str, ...]
    waits_for: Mapping[str, Peers]
    writers: Mapping[str, Peers]
    queues: Mapping[str, Queue]


def track_components(kernel: Kernel) -> list[TrackedComponent]:
    """Return the components of a built kernel, in the order of their addition."""
    return [_track(component, kernel.wiring) for component in kernel.components]


def _track(component: Component, wiring: Wiring) -> TrackedComponent:
    stalls = wiring.stalls(component)
    peers = [wiring.peers(stall) for stall in stalls]
    peers_by_array: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for stall, names in zip(stalls, peers, strict=True):
        peers_by_array[stall.direction, _strip_index(stall)].update(names)
    single_peers = {key for key, names in peers_by_array.items() if len(names) == 1}
    labels = [
        _format_state_label(stall, (stall.direction, _strip_index(stall)) in single_peers) for stall in stalls
    ]
    waits_for = dict(zip(labels, peers, strict=True))
    inputs = {
        array: tuple(sorted(names))
        for (direction, array), names in peers_by_array.items()
        if direction == "input"
    }
    return TrackedComponent(
        component, (*COMMON_STATES, *labels), waits_for, inputs, _collect_queues(component, wiring)
    )


def _strip_index(stall: Stall) -> str:
    """Return the name of a port without its index."""
    return stall.label.partition("[")[0]


def _format_state_label(stall: Stall, has_one_peer: bool) -> str:
    port = _strip_index(stall) if has_one_peer else stall.label
    return f"{'wait' if stall.direction == 'input' else 'full'}:{port}"


def _collect_queues(component: Component, wiring: Wiring) -> dict[str, Queue]:
    queues: dict[str, Queue] = {}
    for stall in wiring.links(component):
        if stall.direction == "input":
            queues.setdefault(_strip_index(stall), Queue()).add(stall.channels[0])
    return queues


class StateWatch:
    """Recorder of a machine's states, an ``Observer`` for ``fiberscope.results.report.timeline.run``.

    Args:
        kernel: a built kernel; with ``samples_chains``, without lookahead models (``remove_lookahead``).
        window: cycles of the first clock, ``[start, end)``; the whole run by default.
        families: the families of the recorded components (``family_name``); all by default.
        max_intervals: the maximum number of complete intervals; the rest of a run or window is one more.
        max_bytes: the approximate maximum size of the document in bytes; a single interval may exceed it.
        samples_chains: whether to sample the chains of waits that lead to memory or through a network.
    """

    def __init__(
        self,
        kernel: Kernel,
        window: Window | None = None,
        *,
        families: Container[str] | None = None,
        max_intervals: int = MAX_INTERVALS,
        max_bytes: int = MAX_BYTES,
        samples_chains: bool = False,
    ) -> None:
        self._kernel = kernel
        self._start, self._end = window or (0, MAX_TIME)
        self._interval, self._max_intervals, self._max_bytes = 1, max_intervals, max_bytes
        self._tracked = [
            entry
            for entry in track_components(kernel)
            if families is None or family_name(entry.component.name) in families
        ]
        self._columns = _Columns(self._tracked)
        self._first_row: array[int] | None = None  # accounting at the start
        self._rows: list[array[int]] = []  # accounting at the end of each interval
        self._last_row: array[int] | None = None  # accounting at the end of the window
        components = [entry.component for entry in self._tracked]
        self._chains = ChainSamples(kernel, components, self._start) if samples_chains else None
        if self._start == 0:  # nothing is counted yet, so that no sample is needed
            self._first_row = self._columns.build_empty_row()

    def find_next_sample_cycle(self) -> int:
        """Return the cycle of the first clock of the next sample; ``MAX_TIME`` after the window."""
        if self._first_row is None:
            return self._start
        if self._last_row is not None:
            return MAX_TIME
        rows, interval = halve_samples(self._rows, self._interval, self._max_intervals)
        return min(self._start + interval * (len(rows) + 1), self._end)

    def take_sample(self, cycle: int) -> None:
        """Record the states at the cycle that ``find_next_sample_cycle`` returned."""
        row = self._columns.read(cycle * self._kernel.clocks[0].period)
        if self._chains is not None:
            self._chains.take_sample(cycle)
        if self._first_row is None:
            self._first_row = row
        elif cycle == self._end:
            self._last_row = row
        else:
            self._rows, self._interval = halve_samples(self._rows, self._interval, self._max_intervals)
            self._rows.append(row)

    def states(self) -> StateTimeline:
        """Return the recorded states of a finished run.

        Samples after the end of the machine are ignored; RTL is clocked beyond the end until it is empty. If
        the run ended before the window, there is no interval.
        """
        kernel = self._kernel
        end = max(self._start, min(self._end, kernel.length(kernel.clocks[0])))
        last = self._last_row if self._last_row is not None else self._columns.read(kernel.end)
        base = self._first_row if self._first_row is not None else last
        rows, interval = self._rows, self._interval
        if end - self._start > interval * (len(rows) + 1):  # the next sample had joined intervals
            rows, interval = halve_samples(rows, interval, self._max_intervals)
        complete_intervals = max(0, -(-(end - self._start) // interval) - 1)
        accounts = [base, *rows[:complete_intervals], last] if end > self._start else [base]
        cycles, tokens = self._columns.split_accounts(np.array(accounts))
        chains = self._chains.recorded() if self._chains is not None else None
        available_bytes = self._max_bytes - (len(chains.model_dump_json()) if chains is not None else 0)
        while self._columns.estimate_document_bytes(cycles, tokens) > available_bytes and len(cycles) > 1:
            cycles, tokens, interval = _sum_pairs(cycles), _select_last_of_pairs(tokens), 2 * interval
        components = dict(self._columns.iterate_component_states(cycles, tokens))
        return StateTimeline(
            start=self._start,
            end=end,
            interval=interval,
            clocks=_describe_clocks(kernel),
            components=components,
            chains=chains,
        )


class _Columns:
    """Columns of an accounting row: one for each state, then one for each queue."""

    def __init__(self, tracked: Sequence[TrackedComponent]) -> None:
        self._tracked = tracked
        keys = ((entry.component.name, label) for entry in tracked for label in entry.labels)
        self.states = list(dict.fromkeys(keys))
        self.queues = {
            (entry.component.name, port): queue for entry in tracked for port, queue in entry.queues.items()
        }
        columns = {key: column for column, key in enumerate(self.states)}
        accounts = [[columns[entry.component.name, label] for label in entry.labels] for entry in tracked]
        channels = [
            (len(columns) + column, channel)
            for column, queue in enumerate(self.queues.values())
            for channel in queue.channels
        ]
        self._ledger = Ledger(
            [entry.component for entry in tracked],
            accounts,
            [channel for _column, channel in channels],
            [column for column, _channel in channels],
        )

    def build_empty_row(self) -> array[int]:
        """Return an empty accounting row."""
        return array("q", [0]) * (len(self.states) + len(self.queues))

    def read(self, time: int) -> array[int]:
        """Return the accounting row at a base tick."""
        row = self.build_empty_row()
        self._ledger.read(row, time)
        return row

    def split_accounts(self, table: Counts) -> tuple[Counts, Counts]:
        """Return the cycles between consecutive accounting rows, and the tokens at each row but the first."""
        states = len(self.states)
        return np.diff(table[:, :states], axis=0), table[1:, states:]

    def estimate_document_bytes(self, cycles: Counts, tokens: Counts) -> int:
        """Estimate the size of the columns in a document, which omits cycles of states that never occur."""
        names = sum(len(name) + len(label) for name, label in (*self.states, *self.queues))
        return names + _count_characters(cycles[:, cycles.any(axis=0)]) + _count_characters(tokens)

    def iterate_component_states(
        self, cycles: Counts, tokens: Counts
    ) -> Iterator[tuple[str, ComponentStates]]:
        """Yield the recorded states of each component."""
        tokens_by_queue = dict(zip(self.queues, tokens.T.tolist(), strict=True))
        columns = zip(self.states, cycles.T.tolist(), strict=True)
        cycles_by_state = {key: column for key, column in columns if any(column)}
        for entry in self._tracked:
            name, clock = entry.component.name, entry.component.clock
            labels = [label for label in dict.fromkeys(entry.labels) if (name, label) in cycles_by_state]
            yield (
                name,
                ComponentStates(
                    clock=clock.name if clock else "",
                    states={label: cycles_by_state[name, label] for label in labels},
                    waits_for={label: entry.waits_for[label] for label in labels if label in entry.waits_for},
                    inputs=dict(entry.writers),
                    queues={
                        port: QueueFill(capacity=queue.capacity, tokens=tokens_by_queue[name, port])
                        for port, queue in entry.queues.items()
                    },
                ),
            )


def _count_characters(numbers: Counts) -> int:
    """Return the number of characters of all numbers with separators; numbers are not negative."""
    maximum = int(numbers.max(initial=0))
    return 2 * numbers.size + sum(int((numbers >= 10**power).sum()) for power in range(1, len(str(maximum))))


def _sum_pairs(cycles: Counts) -> Counts:
    """Add rows in pairs; a last row without a partner stays alone."""
    return np.add.reduceat(cycles, range(0, len(cycles), 2), axis=0)


def _select_last_of_pairs(tokens: Counts) -> Counts:
    """Return every second row, and the last row if their number is odd."""
    return np.concatenate([tokens[1::2], tokens[len(tokens) - len(tokens) % 2 :]])


def _describe_clocks(kernel: Kernel) -> dict[str, Domain]:
    return {clock.name: Domain(hertz=str(clock.hertz), base_ticks=clock.period) for clock in kernel.clocks}
