# cython: infer_types=True
"""Counters in the banks of a scratchpad, with pipelined increments and with exclusive prefix sums."""

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
    """Counters of indices in several banks, each of which reads and writes one counter a cycle.

    Interface: the unit executes the tokens on ``commands`` one after another.

    - ``COUNT``: ``updates`` receives an array row by row, see ``fiberscope.hw.lanes.rows``; lanes can be
      empty. The coordinate of an item is the index of a counter. Its reference is the rank of the item in
      its cluster, as of a ``fiberscope.hw.lanes.cluster_counter.ClusterCounter``, or 0. Each counter is
      increased by the number of items with its index.
    - ``FETCH``: as ``COUNT``, for an array on ``fetches`` with ``fetch_lanes`` lanes, or on ``updates`` if
      ``fetches`` is not connected. Each row is also sent on ``slots``: the coordinate of an item is the
      counter before the item, the reference is the index, and the value is not changed. Items with the same
      index therefore get consecutive slots, also within a row.
    - ``SCAN``: the first n counters, where n is the coordinate of the command, are sent on ``counts`` as an
      array, with their indices as references. ``starts`` receives their inclusive sums. The unit stores each
      sum in the next counter, and 0 in the first one, which results in exclusive sums.
    - ``READ``: the first n counters are sent on ``stored`` in the same way, and reset to 0.

    Timing: counter i is in bank i modulo ``banks``. A row takes as many cycles as its fullest bank has
    clusters, at least one. The counters are written two cycles after the last of these cycles, and the slots
    of the row are seen then if the channels at ``slots`` have a latency of 1. Sums in flight are forwarded
    to later rows. The next command begins when all counters are written. ``SCAN`` and ``READ`` read and
    write ``sweep_lanes`` counters a cycle; the width of a bank is chosen for that.

    Accounting: busy while rows move; within a command, waiting for the lane without a token or the output
    without a free slot that blocks it; idle without a command.

    Counts: ``reads`` and ``writes``, the counters read and written; ``conflicts``, the cycles in which a row
    waited for one of its banks.

    Source: MINT (Section V-A, Figure 8): counters in the scratchpad, an adder for the sizes of clusters, and
    the prefix sum over the counters. Banks, conflicts, the two cycles and the commands are choices of this
    model.

    Args:
        counters: number of counters, at least 1.
        lanes: lanes of ``updates``, 1 to 256.
        sweep_lanes: counters that ``SCAN`` and ``READ`` read and write in a cycle, 1 to 256.
        fetch_lanes: lanes of ``fetches`` and ``slots``, 0 to 256; 0 for ``lanes``. Without ``fetches``,
            ``slots`` has ``lanes`` lanes, because ``FETCH`` then reads ``updates``.
        banks: number of banks, 0 to 256; 0 for ``lanes``.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: when built, if a port array has another number of connected ports than lanes, or none
            although it is not optional; during the run, if a command is unknown, or needs unconnected ports
            or more counters than exist, if an index has no counter, or if a rank is not consecutive.
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
        for parameter, count, minimum in (
            ("lanes", lanes, 1),
            ("sweep_lanes", sweep_lanes, 1),
            ("fetch_lanes", fetch_lanes, 0),
            ("banks", banks, 0),
        ):
            if not minimum <= count <= MAXIMUM_LANES:
                raise ValueError(
                    f"{name}: {parameter} must be from {minimum} to {MAXIMUM_LANES}, not {count}"
                )
        if counters < 1:
            raise ValueError(f"{name}: counters must be at least 1, not {counters}")
        self.contents = array("q", bytes(8 * counters))
        self.counter_count = counters
        self.lanes = lanes
        self.sweep_lanes = sweep_lanes
        self.fetch_lanes = fetch_lanes or lanes
        self.banks = banks or lanes
        self.command = WAITING
        self.free_at = 0  # cycle from which a row or a command can be accepted
        self.row_end = -1  # last cycle of the row at the inputs; -1 before its first cycle
        self.holds_slots = False  # whether a row of slots waits to be sent
        self.has_moved = False  # whether a token moved in this cycle
        max_lanes = max(lanes, fetch_lanes)
        self.kinds = array("q", bytes(8 * max_lanes))
        self.indices = array("q", bytes(8 * max_lanes))
        self.old_values = array("q", bytes(8 * max_lanes))  # by lane: the slot
        self.values = array("d", bytes(8 * max_lanes))
        self.clusters = array("q", bytes(8 * self.banks))  # by bank: clusters of the row
        self.swept = self.length = 0  # counters that the command has sent, and all counters of the command
        self.has_sent_all = False  # whether the last row of the command is sent
        self.written_sums = 0  # counters that the command has written
        self.sum = 0  # value to write to the next counter
        self.reads = self.writes = self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check their number."""
        super().elaborate()
        check_connected(self, "updates", self.lanes)
        check_connected(self, "fetches", self.fetch_lanes, optional=True)
        check_connected(self, "slots", len(self.fetches) or self.lanes, optional=True)
        for port in ("counts", "starts", "stored"):
            check_connected(self, port, self.sweep_lanes, optional=True)

    def tick(self, now: int) -> int:
        """Send a row of slots, and execute a cycle of the command."""
        self.has_moved = self.holds_slots
        if self.holds_slots:
            full_lane = lanes.first_full(self.slots)
            if full_lane >= 0:
                return self.wait_output(self.slots[full_lane])
            self._send_slots()
        if now < self.free_at:
            return self.busy(self.free_at)
        if self.command == WAITING and not self._begin_command():
            return self.busy(now + 1) if self.has_moved else self.idle()
        if self.command <= FETCH:
            return self._update(now)
        return self._sweep(now)

    def _begin_command(self) -> bool:
        """Start the next command; return whether there is one."""
        if not self.commands.can_pop():
            return False
        self.command = self.commands.control()
        self.length = self.commands.coordinate()
        self._check_command()
        self.commands.pop()
        self.swept = self.written_sums = self.sum = 0
        self.has_sent_all = False
        self.has_moved = True
        return True

    def _check_command(self) -> None:
        """Raise ``SimulationError`` if the command is unknown, or lacks ports or counters."""
        if self.command < 0 or self.command >= WAITING:
            raise SimulationError(f"{self.name}: there is no command {self.command}")
        required_ports = ((), ("slots",), ("counts", "starts"), ("stored",))[self.command]
        for port in required_ports:
            if not self.channels(port):
                raise SimulationError(f"{self.name}: {COMMANDS[self.command]} needs {port}, not connected")
        if self.command >= SCAN and not 0 <= self.length <= self.counter_count:
            raise SimulationError(
                f"{self.name}: {COMMANDS[self.command]} of {self.length} counters; "
                f"there are {self.counter_count}"
            )

    def _update(self, now: int) -> int:
        """Accept a row of indices in the last of its cycles."""
        sources = self.fetches if self.command == FETCH and self.fetches else self.updates
        missing = lanes.first_missing(sources)
        if missing >= 0:
            return self.busy(now + 1) if self.has_moved else self.wait_input(sources[missing])
        if self.row_end < 0:
            self.row_end = now + self._row_cycles(sources) - 1
        if now < self.row_end:
            return self.busy(self.row_end)
        self.row_end = -1
        self.free_at = now + 1
        self.holds_slots = self.command == FETCH
        if self._count_row(sources):
            self.free_at += 1
            self.command = WAITING
        return self.busy(now + 1)

    def _row_cycles(self, sources: list[Channel]) -> int:
        """Return the cycles of the row at the inputs, which are the clusters of its fullest bank."""
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
        """Raise ``SimulationError`` if an index has no counter, or a rank is not consecutive."""
        if index < 0 or index >= self.counter_count:
            raise SimulationError(
                f"{self.name}: there is no counter {index}; they are from 0 to {self.counter_count - 1}"
            )
        if rank != 0 and (rank != next_rank or index != previous):
            raise SimulationError(
                f"{self.name}: an item of counter {index} has rank {rank}, behind one of counter {previous}"
            )

    def _count_row(self, sources: list[Channel]) -> bool:
        """Count the row at the inputs and store its slots; return whether the row ends the array."""
        is_last_row = False
        for lane in range(len(sources)):
            source = sources[lane]  # C: Channel
            self.kinds[lane] = source.control()
            if source.control() == DATA:
                index = source.coordinate()  # C: long
                self.indices[lane] = index
                self.values[lane] = source.value()
                self.old_values[lane] = self.contents[index]
                self.contents[index] += 1
            elif source.control() != EMPTY:
                is_last_row = True
            source.pop()
        return is_last_row

    def _send_slots(self) -> None:
        """Send the stored row of slots."""
        for lane in range(len(self.slots)):
            sink = self.slots[lane]
            if self.kinds[lane] == DATA:
                sink.push(DATA, self.old_values[lane], self.indices[lane], self.values[lane])
            else:
                sink.push(self.kinds[lane])
        self.holds_slots = False

    def _sweep(self, now: int) -> int:
        """Send a row of counters, and accept a row of sums."""
        sinks = self.counts if self.command == SCAN else self.stored
        full_lane = -1 if self.has_sent_all else lanes.first_full(sinks)
        sends = not self.has_sent_all and full_lane < 0
        if sends:
            self._send_counters(sinks)
        missing = lanes.first_missing(self.starts) if self.command == SCAN else 0  # READ stores no sums
        if missing < 0:
            self._store()
        if not (sends or missing < 0 or self.has_moved):
            return (
                self.wait_output(sinks[full_lane])
                if full_lane >= 0
                else self.wait_input(self.starts[missing])
            )
        return self.busy(now + 1)

    def _send_counters(self, sinks: list[Channel]) -> None:
        """Send a row of counters, which ``READ`` also resets; stops fill the row after the last counter."""
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
                self.has_sent_all = True
        if self.has_sent_all and clears:
            self.command = WAITING

    def _store(self) -> None:
        """Write each sum of a row to the counter after its own."""
        for lane in range(self.sweep_lanes):
            source = self.starts[lane]
            if source.control() != DATA:
                self.command = WAITING
            elif self.written_sums < self.length:
                self.contents[self.written_sums] = self.sum
                self.sum = source.coordinate()
                self.written_sums += 1
                self.writes += 1
            source.pop()
