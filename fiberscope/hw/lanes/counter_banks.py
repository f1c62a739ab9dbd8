# cython: infer_types=True
"""Counters in banks of a scratchpad: read, add and write in one flow, and sums of all put back."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes import channels as lanes
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.counter_protocol import COMMAND, COMMANDS, FETCH, READ, SCAN, WAITING
from fiberscope.hw.lanes.rows import MAXIMUM_LANES
from fiberscope.hw.stream import DATA, EMPTY, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class CounterBanks(Component):
    """Counts indices, several a cycle, in banks of which each reads one counter and writes one in a cycle.

    Interface: tokens on ``commands`` are done one behind the other.

    - ``COUNT``: an array comes in on ``updates``, row by row, see ``fiberscope.hw.lanes.rows``; lanes may be
      empty. The coordinate is a counter's index, the reference the rank of the item in its cluster, as an
      ``fiberscope.hw.lanes.cluster_counter.ClusterCounter`` gives it; 0 where there is none. Each counter
      grows by the items that have its index.
    - ``FETCH``: the same of an array on ``fetches``, of ``fetch_lanes``, or where there are none again on
      ``updates``; and every row leaves on ``slots``, with what a counter was before an item as coordinate,
      and its index as reference; the value stays. So items of one index get slots one behind another, those
      of one row among them.
    - ``SCAN``: as many counters as the command says, from 0 on, leave on ``counts`` as an array, with their
      index as reference. On ``starts`` come their inclusive sums, and each is stored as the next counter, 0
      as the first: exclusive sums.
    - ``READ``: the same counters leave on ``stored``, and are 0 then.

    Timing: a counter is in the bank of its index modulo ``banks``. A row takes as many cycles as a bank has
    clusters in it at the most, at least one. What a row adds is written, and its slots can be seen, two
    cycles behind its last one, where the channels at ``slots`` have a latency of 1; sums in flight are
    forwarded to the rows behind. The next command begins when all is written. ``SCAN`` and ``READ`` read
    ``sweep_lanes`` counters a cycle and write as many: a bank is as wide as that takes.

    Accounting: busy while rows move; in the midst of a command waiting for the lane or output that it lacks.

    Counts: ``reads`` and ``writes`` of counters, in a sweep of each of them; ``conflicts``, the cycles in
    which a row waited for one of its banks.

    Source: MINT (Section V-A, Figure 8): counters in the scratchpad, an adder for the clusters' sizes, and
    the prefix sum over them. Banks, conflicts, two cycles and the commands are choices of this model.

    Args:
        name: instance name.
        counters: how many.
        lanes: items of a row, 1 to 256.
        sweep_lanes: counters that are read and written in a cycle, 1 to 256.
        fetch_lanes: items of a row on ``fetches``, 0 to 256.
        banks: 0 to 256; 0 for as many as lanes.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: when built, unless as many ports are connected as there are lanes, or none of those
            that no command needs; in the run, for an unknown command, one whose ports are not connected, more
            counters than there are, an index without one, or a rank that does not follow on.
    """

    PORTS = (
        Input("commands", COMMAND),
        Input("updates", STREAM, array=True),
        Input("fetches", STREAM, array=True, optional=True),
        Output("slots", STREAM, array=True, optional=True),
        Output("counts", STREAM, array=True, optional=True),
        Input("starts", STREAM, array=True, optional=True),
        Output("stored", STREAM, array=True, optional=True),
    )
    COUNTERS = ("reads", "writes", "conflicts")
    SIGNALS = (
        Signal("command", 3, "state", (*COMMANDS, "waiting")),
        Signal("reads", 48),
        Signal("conflicts", 48),
    )

    commands: Channel
    updates: list[Channel]
    fetches: list[Channel]
    slots: list[Channel]
    counts: list[Channel]
    starts: list[Channel]
    stored: list[Channel]

    def __init__(
        self,
        name: str,
        counters: int,
        lanes: int = 16,
        sweep_lanes: int = 32,
        fetch_lanes: int = 0,
        banks: int = 0,
    ) -> None:
        super().__init__(name)
        for what, count, least in (
            ("lanes", lanes, 1),
            ("sweep_lanes", sweep_lanes, 1),
            ("fetch_lanes", fetch_lanes, 0),
            ("banks", banks, 0),
        ):
            if not least <= count <= MAXIMUM_LANES:
                raise ValueError(f"{name}: {what} must be from {least} to {MAXIMUM_LANES}, not {count}")
        if counters < 1:
            raise ValueError(f"{name}: counters must be at least 1, not {counters}")
        self.contents = array("q", bytes(8 * counters))
        self.counter_count = counters
        self.lanes = lanes
        self.sweep_lanes = sweep_lanes
        self.fetch_lanes = fetch_lanes or lanes
        self.banks = banks or lanes
        self.command = WAITING
        self.free = 0  # the cycle from which on a row, or a command, may be taken
        self.ends = -1  # the last cycle of the row that shows; -1 before its first
        self.holding = False  # a row of slots
        self.moved = False  # anything in this cycle
        most = max(lanes, fetch_lanes)
        self.kinds = array("q", bytes(8 * most))
        self.indices = array("q", bytes(8 * most))
        self.before = array("q", bytes(8 * most))  # the slots
        self.values = array("d", bytes(8 * most))
        self.clusters = array("q", bytes(8 * self.banks))  # of the row
        self.swept = self.length = 0  # counters of the command that have left, and all of them
        self.sent = False  # its last row has left
        self.summed = 0  # counters that have been written
        self.sum = 0  # of them
        self.reads = self.writes = self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "updates", self.lanes)
        check_connected(self, "fetches", self.fetch_lanes, optional=True)
        check_connected(self, "slots", self.fetch_lanes, optional=True)
        for port in ("counts", "starts", "stored"):
            check_connected(self, port, self.sweep_lanes, optional=True)

    def tick(self, now: int) -> int:
        """Let slots out, and do a cycle of the command."""
        self.moved = self.holding
        if self.holding:
            full = lanes.first_full(self.slots)
            if full >= 0:
                return self.wait_output(self.slots[full])
            self._send_slots()
        if now < self.free:
            return self.busy(self.free)
        if self.command == WAITING and not self._begin():
            return self.busy(now + 1) if self.moved else self.idle()
        if self.command <= FETCH:
            return self._update(now)
        return self._sweep(now)

    def _begin(self) -> bool:
        """Take up the next command, if there is one."""
        if not self.commands.can_pop():
            return False
        self.command = self.commands.control()
        self.length = self.commands.coordinate()
        self._check_command()
        self.commands.pop()
        self.swept = self.summed = self.sum = 0
        self.sent = False
        self.moved = True
        return True

    def _check_command(self) -> None:
        if self.command < 0 or self.command >= WAITING:
            raise SimulationError(f"{self.name}: there is no command {self.command}")
        needs = ((), ("slots",), ("counts", "starts"), ("stored",))[self.command]
        for port in needs:
            if not self.channels(port):
                raise SimulationError(f"{self.name}: {COMMANDS[self.command]} needs {port}, not connected")
        if self.command >= SCAN and not 0 <= self.length <= self.counter_count:
            raise SimulationError(
                f"{self.name}: {COMMANDS[self.command]} of {self.length} counters; "
                f"there are {self.counter_count}"
            )

    def _update(self, now: int) -> int:
        """Take a row of indices, in the last of its cycles."""
        sources = self.fetches if self.command == FETCH and self.fetches else self.updates
        missing = lanes.first_missing(sources)
        if missing >= 0:
            return self.busy(now + 1) if self.moved else self.wait_input(sources[missing])
        if self.ends < 0:
            self.ends = now + self._row_cycles(sources) - 1
        if now < self.ends:
            return self.busy(self.ends)
        self.ends = -1
        self.free = now + 1
        self.holding = self.command == FETCH
        if self._take(sources):
            self.free += 1
            self.command = WAITING
        return self.busy(now + 1)

    def _row_cycles(self, sources: list[Channel]) -> int:
        """Cycles that the row which shows takes: the clusters of its fullest bank."""
        cycles = 1  # C: long
        previous = -1  # C: long; index of the item before
        rank = 0  # C: long; that an item of the same index has next
        for bank in range(self.banks):  # C: long
            self.clusters[bank] = 0
        for lane in range(len(sources)):
            source = sources[lane]  # C: Channel
            if source.control() == DATA:
                self._check(source.coordinate(), source.reference(), previous, rank)
                previous = source.coordinate()
                rank = source.reference() + 1
                if rank == 1:
                    bank = previous % self.banks
                    self.clusters[bank] += 1
                    cycles = max(cycles, self.clusters[bank])
                    self.reads += 1
                    self.writes += 1
        self.conflicts += cycles - 1
        return cycles

    def _check(self, index: int, rank: int, previous: int, next_rank: int) -> None:
        """Refuse an index without a counter, and a rank that does not follow on."""
        if index < 0 or index >= self.counter_count:
            raise SimulationError(
                f"{self.name}: there is no counter {index}; they are from 0 to {self.counter_count - 1}"
            )
        if rank != 0 and (rank != next_rank or index != previous):
            raise SimulationError(
                f"{self.name}: an item of counter {index} has rank {rank}, behind one of counter {previous}"
            )

    def _take(self, sources: list[Channel]) -> bool:
        """Count the row that shows, and note its slots; whether the array ends with it."""
        ended = False
        for lane in range(len(sources)):
            source = sources[lane]  # C: Channel
            self.kinds[lane] = source.control()
            if source.control() == DATA:
                index = source.coordinate()  # C: long
                self.indices[lane] = index
                self.values[lane] = source.value()
                self.before[lane] = self.contents[index]
                self.contents[index] += 1
            elif source.control() != EMPTY:
                ended = True
            source.pop()
        return ended

    def _send_slots(self) -> None:
        for lane in range(self.fetch_lanes):
            sink = self.slots[lane]
            if self.kinds[lane] == DATA:
                sink.push(DATA, self.before[lane], self.indices[lane], self.values[lane])
            else:
                sink.push(self.kinds[lane])
        self.holding = False

    def _sweep(self, now: int) -> int:
        """Let a row of counters out, and take a row of sums."""
        sinks = self.counts if self.command == SCAN else self.stored
        full = -1 if self.sent else lanes.first_full(sinks)
        sends = not self.sent and full < 0
        if sends:
            self._send_counters(sinks)
        missing = lanes.first_missing(self.starts) if self.command == SCAN else 0
        if missing < 0:
            self._store()
        if not (sends or missing < 0 or self.moved):
            return self.wait_output(sinks[full]) if full >= 0 else self.wait_input(self.starts[missing])
        return self.busy(now + 1)

    def _send_counters(self, sinks: list[Channel]) -> None:
        clears = self.command == READ
        for lane in range(self.sweep_lanes):
            sink = sinks[lane]  # C: Channel
            if self.swept < self.length:
                sink.push(DATA, self.contents[self.swept], self.swept)
                if clears:
                    self.contents[self.swept] = 0
                self.swept += 1
                self.reads += 1
                self.writes += clears
            else:
                sink.push(STOP)
                self.sent = True
        if self.sent and clears:
            self.command = WAITING

    def _store(self) -> None:
        """Write the row of sums that shows, a counter on."""
        for lane in range(self.sweep_lanes):
            source = self.starts[lane]
            if source.control() != DATA:
                self.command = WAITING
            elif self.summed < self.length:
                self.contents[self.summed] = self.sum
                self.sum = source.coordinate()
                self.summed += 1
                self.writes += 1
            source.pop()
