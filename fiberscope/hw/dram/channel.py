# cython: infer_types=True
"""A DRAM channel as a component, which consists of a controller and a device."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from fiberscope.hw.dram.address import Decoder
from fiberscope.hw.dram.commands import (
    ACTIVATE,
    COMMANDS,
    OPENED,
    PRECHARGE,
    PRECHARGE_ALL,
    READS,
    REFRESH,
    REFRESH_BANK,
    WRITES,
    Command,
)
from fiberscope.hw.dram.controller import Controller
from fiberscope.hw.dram.returns import Returns
from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.hw.memory.protocol import (
    READ,
    READ_BURST,
    REPLY,
    REQUEST,
    TENSOR_SHIFT,
    TENSORS,
    WRITE,
    WRITE_BURST,
    WRITE_THROUGH,
    HeldRequest,
    operation_name,
)
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.constants import MAX_TIME, NEVER
from fiberscope.sim.deferral import Deferring
from fiberscope.sim.errors import SimulationError


class DramChannel(Deferring):
    """One DRAM channel, for a clock domain of the frequency ``specification.clock_hertz``.

    Interface: ``requests`` receives reads, writes and write-throughs of ``request_bytes`` each, and reads and
    writes of a single burst. ``replies`` sends a reply to each read, with the tag and the address of the
    request.

    Timing: the first command of a request can be issued in the cycle in which the request is seen. A reply is
    sent in the cycle in which the last burst of the read arrives, ``cl + burst`` cycles after its RD, or
    later if ``replies`` is full. Replies keep the order in which their last bursts arrive. A burst that the
    write queue holds is forwarded from there without a RD, behind the bursts in flight, and a write of such a
    burst is coalesced. A write whose row was opened has left the write queue: it is neither forwarded nor
    coalesced with. A request is accepted only if all its bursts find free entries; else it blocks later
    requests. The latency of a read is counted from the cycle before it was accepted, in which a channel with
    a latency of one cycle received it. An unloaded read of one burst from an open row has a latency of 1 + cl
    + burst cycles.

    Args:
        specification: device, address map and controller.
        log: whether to keep all issued commands, for ``commands``.

    Raises:
        ValueError: if the address map does not fit the organisation of the device, as for ``layout``.
        SimulationError: in the run, if memory has no such operation, or an address names no tensor.
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))
    # Occupancies in bursts; the mode of the controller; the commands of the cycle with their bank. ``row`` is
    # the row that an ACT opened or a PRE closed, else -1. In a cycle without a command, bank and row are
    # those of the last command. ``column_row`` is the row that ``column_bank`` has open now (-1: it is
    # closed, as after an automatic precharge). An idle channel executes its refreshes when it wakes, and the
    # signals do not show these refreshes.
    SIGNALS = (
        Signal("read_queue", 16, "integer"),
        Signal("write_queue", 16, "integer"),
        Signal("opened", 16, "integer"),
        Signal("returning", 16, "integer"),
        Signal("serving", 1, "state", ("reads", "writes")),
        Signal("refreshes_due", 16, "integer"),
        Signal("row_command", 3, "state", COMMANDS),
        Signal("row_bank", 8, "integer"),
        Signal("row", 48, "integer"),
        Signal("column_command", 3, "state", COMMANDS),
        Signal("column_bank", 8, "integer"),
        Signal("column_row", 48, "integer"),
    )

    requests: Channel
    replies: Channel

    def __init__(self, name: str, specification: DramSpecification, *, log: bool = False) -> None:
        super().__init__(name)
        self.specification = specification
        device = specification.device
        self._bursts = specification.bursts
        self._burst_shift = device.organisation.burst_bytes.bit_length() - 1  # the maps need a power of two
        self._request_bytes = specification.request_bytes
        self._burst_bytes = min(device.organisation.burst_bytes, specification.request_bytes)  # C: long
        self._requested_bursts = self._requested_bytes = 0  # of the request at the head
        self._requests_per_cycle = specification.requests_per_cycle
        self._read_queue = specification.read_queue
        self._write_queue = specification.write_queue
        self._interleave_bytes = specification.interleave_bytes
        self._stride_bytes = specification.interleave_bytes * specification.channels
        self._decoder = Decoder(specification.map, device.organisation)
        self._returns = _build_returns(specification)
        self._controller = Controller(specification, self._returns)
        self._next_step = 0  # next cycle in which the controller may issue a command
        if log:
            self._controller.device.log = []
        # Called with cycle, operation, address and tag of each accepted request.
        self.on_request: Callable[[int, int, int, int], None] | None = None  # C: public
        self._reset_counts()

    def _reset_counts(self) -> None:  # C: def
        self._reads = self._writes = 0
        self._forwarded = self._coalesced = 0
        self._read_latency = 0
        self._read_bytes = array("q", bytes(8 * TENSORS))
        self._write_bytes = array("q", bytes(8 * TENSORS))

    @property
    def last_write_cycle(self) -> int:
        """Cycle of the last WR; 0 if there was none."""
        return self._controller.last_write

    @property
    def commands(self) -> list[Command]:
        """All commands issued so far, in the order of issue; empty without ``log``.

        An automatic precharge follows its RD or WR, with the later cycle in which the row closes. The
        commands of the cycles since the last tick or ``settle`` are missing.
        """
        return list(self._controller.device.log or ())

    def tick(self, now: int) -> int:
        """Execute the deferred commands since the last tick, and then a cycle of the memory clock."""
        controller = self._controller
        self.settle(now)
        if controller.waiting or self.requests.can_pop():
            controller.catch_up(now)
        controller.device.start_cycle()  # discard the commands of earlier cycles
        has_more_requests = self._take_requests(now)
        # A burst that leaves may free the entry that a read with forwarded bursts lacked
        has_more_requests |= self._reply(now) and self.requests.can_pop()
        issued = self._step(now) if controller.waiting and self._next_step <= now else False
        return self._wait_state(now, issued, has_more_requests)

    def settle(self, cycle: int) -> None:
        """Issue the deferred commands of the cycles before this one."""
        while self._controller.waiting and self._next_step < cycle:
            self._step(self._next_step)

    def _step(self, cycle: int) -> bool:
        """Issue the commands that are ready in a cycle; return whether there were any."""
        issued = self._controller.step(cycle)
        self._next_step = self._controller.wake(cycle)
        return issued

    def _wait_state(self, now: int, issued: bool, has_more_requests: bool) -> int:  # C: noexcept
        """Sleep until the next cycle with an effect outside the channel, and state the reason."""
        waiting = self._controller.waiting
        is_blocked = self._returns.due() <= now
        if not (waiting or issued or has_more_requests or self._returns.count):
            return self.idle()
        # A channel that may defer sleeps through its own commands, unless a request waits for a free entry
        # or replies are blocked
        must_wake = is_blocked or not (waiting and self.defers) or self.requests.can_pop()
        if has_more_requests or (issued and must_wake):
            return self.busy(now + 1)
        if is_blocked:
            self.wait_output(self.replies)
            return self._next_step if waiting and self._next_step < MAX_TIME else NEVER
        return self.busy(min(self._first_effect_cycle(waiting), self._returns.due()))

    def _first_effect_cycle(self, waiting: int) -> int:  # C: noexcept, inline
        """Return the first cycle in which a future command can have an effect outside the channel.

        A read has its effect with the reply. Writes, at most one a cycle, have it when none is left. If a
        request waits for a free queue entry, any command can have an effect in the cycle after it.
        """
        if waiting == 0:
            return MAX_TIME
        if not self.defers:
            return self._next_step
        if self.requests.can_pop():
            return self._next_step + 1
        return self._next_step + (self._controller.read_latency if self._returns.awaited else waiting)

    def _take_requests(self, now: int) -> bool:
        """Enqueue up to ``requests_per_cycle`` visible requests while queue entries are free.

        Return whether another request is visible that has not yet failed to find free entries.
        """
        for _ in range(self._requests_per_cycle):
            if not self.requests.can_pop():
                return False
            if not self._try_accept(now):
                return False
            if self.on_request is not None:
                requests = self.requests
                self.on_request(now, requests.control(), requests.reference(), requests.coordinate())
            self.requests.pop()
            self._next_step = now
        return self.requests.can_pop()

    def _try_accept(self, now: int) -> bool:
        """Enqueue the first request; return whether enough queue entries were free."""
        operation = self.requests.control()
        address = self.requests.reference()
        tensor = address >> TENSOR_SHIFT
        if tensor < 0 or tensor >= TENSORS:
            self._refuse(f"address {address:#x} names tensor {tensor}, not one of 0 to {TENSORS - 1}")
        first_burst = self._channel_address(address) >> self._burst_shift
        self._set_request_size(operation)
        if operation in (READ, READ_BURST):
            return self._take_read(first_burst, address, tensor, now)
        if operation not in (WRITE, WRITE_THROUGH, WRITE_BURST):
            self._refuse(f"{operation_name(operation)} is no operation of memory")
        return self._take_write(first_burst, tensor, now)

    def _set_request_size(self, operation: int) -> None:  # C: noexcept
        """Set the number of bursts and bytes of the first request."""
        if operation in (READ_BURST, WRITE_BURST):
            self._requested_bursts, self._requested_bytes = 1, self._burst_bytes
        else:
            self._requested_bursts, self._requested_bytes = self._bursts, self._request_bytes

    def _refuse(self, fault: str) -> None:  # C: fault=str
        raise SimulationError(f"{self.name}: {fault}")

    def _channel_address(self, address: int) -> int:  # C: noexcept
        """Return the address within the channel, without the part that selects the channel."""
        return address // self._stride_bytes * self._interleave_bytes + address % self._interleave_bytes

    def _count_unqueued_bursts(self, first_burst: int) -> int:  # C: noexcept
        """Return the number of bursts of a request that are not in the write queue."""
        queues = self._controller.queues
        if queues.counts[WRITES] == 0:
            return self._requested_bursts
        count = 0
        for burst in range(first_burst, first_burst + self._requested_bursts):
            if not queues.will_write(burst):
                count += 1
        return count

    def _take_read(self, first_burst: int, address: int, tensor: int, now: int) -> bool:
        """Enqueue the bursts of a read, and forward those that wait as writes; return whether all fit."""
        unqueued_bursts = self._count_unqueued_bursts(first_burst)
        free_entries = self._read_queue - self._controller.queues.counts[READS]
        forwarded = self._requested_bursts - unqueued_bursts
        if unqueued_bursts > free_entries or forwarded > self._returns.capacity - self._returns.count:
            return False
        request = self._returns.open_request(self.requests.coordinate(), address, self._requested_bursts, now)
        for burst in range(first_burst, first_burst + self._requested_bursts):
            if unqueued_bursts < self._requested_bursts and self._controller.queues.will_write(burst):
                self._returns.append(request, now)
            else:
                self._decoder.decode(burst << self._burst_shift)
                decoder = self._decoder
                self._controller.enqueue(READS, decoder.bank, decoder.row, burst, request, now)
        self._forwarded += forwarded
        self._reads += 1
        self._read_bytes[tensor] += self._requested_bytes
        return True

    def _take_write(self, first_burst: int, tensor: int, now: int) -> bool:
        """Enqueue the bursts of a write that are not in the write queue; return whether all had space."""
        unqueued_bursts = self._count_unqueued_bursts(first_burst)
        queues = self._controller.queues
        if unqueued_bursts > self._write_queue - queues.counts[WRITES]:
            return False
        for burst in range(first_burst, first_burst + self._requested_bursts):
            if unqueued_bursts == self._requested_bursts or not queues.will_write(burst):
                self._decoder.decode(burst << self._burst_shift)
                # A write has no entry in ``Returns``, so that its request number has no meaning
                self._controller.enqueue(WRITES, self._decoder.bank, self._decoder.row, burst, 0, now)
        self._coalesced += self._requested_bursts - unqueued_bursts
        self._writes += 1
        self._write_bytes[tensor] += self._requested_bytes
        return True

    def _reply(self, now: int) -> bool:
        """Remove the bursts that have arrived and send replies, in order; return whether there were any."""
        returns = self._returns
        previous_count = returns.count
        while returns.due() <= now and (self.replies.can_push() or not returns.completes()):
            completes = returns.completes()
            if returns.count == returns.capacity:  # the controller could not issue a RD; now it can
                self._controller.recheck()
                self._next_step = now
            request = returns.pop()
            if completes:
                self.replies.push(READ, returns.tag[request], returns.address[request], 0.0)
                self._read_latency += now + 1 - returns.arrival[request]
        return returns.count < previous_count

    def held_requests(self) -> list[HeldRequest]:  # C: def
        """Return the reads without a reply, each with the bank and the row that its next burst needs.

        If a read has bursts with and without an opened row, one without is described.
        A read whose bursts are all in flight needs no row. Writes are not among them, as they get no reply.
        """
        queues, open_row = self._controller.queues, self._controller.device.open_row
        waits: dict[int, str] = {}
        for entry in [*queues.entries(READS), *queues.entries(OPENED)]:
            bank, row = queues.bank[entry], queues.row[entry]
            state = "open" if open_row[bank] == row else "not open"
            waits.setdefault(queues.request[entry], f"waits for row {row} of bank {bank}, which is {state}")
        returns = self._returns
        return [
            HeldRequest(
                READ,
                returns.tag[request],
                returns.address[request],
                waits.get(request, "its data is on the way"),
                returns.arrival[request],
            )
            for request in returns.open_requests()
        ]

    def read_bytes(self, tensor: int) -> int:  # C: def
        """Return the bytes of a tensor read so far."""
        return self._read_bytes[tensor]

    def write_bytes(self, tensor: int) -> int:  # C: def
        """Return the bytes of a tensor written so far."""
        return self._write_bytes[tensor]

    def counters(self) -> dict[str, int]:
        """Return the event counts, see ``docs/memory.md``; row hits, misses and conflicts count bursts."""
        controller = self._controller
        issued = controller.device.issued
        counts = {
            "reads": self._reads,
            "writes": self._writes,
            "row_hits": controller.hits,
            "row_misses": controller.misses,
            "row_conflicts": controller.conflicts,
            "activates": issued[ACTIVATE],
            "precharges": issued[PRECHARGE] + issued[PRECHARGE_ALL],
            "refreshes": issued[REFRESH] + issued[REFRESH_BANK],
            "forwarded": self._forwarded,
            "coalesced": self._coalesced,
            "read_latency": self._read_latency,
        }
        burst = self.specification.device.timing.burst
        for pseudo in range(controller.device.pseudo_channels):
            bursts = controller.read_bursts[pseudo] + controller.write_bursts[pseudo]
            counts[f"data_bus_busy_{pseudo}"] = bursts * burst
        if controller.refresh.by_bank:
            for bank in range(controller.device.banks):
                counts[f"refreshes_bank_{bank:02}"] = controller.refresh.refresh_counts[bank]
        for tensor in range(TENSORS):
            counts[f"read_bytes_{tensor}"] = self._read_bytes[tensor]
            counts[f"write_bytes_{tensor}"] = self._write_bytes[tensor]
        return counts

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of ``SIGNALS``."""
        controller = self._controller
        device = controller.device
        counts = controller.queues.counts
        # Positions are those of ``SIGNALS``
        values[0], values[1], values[2] = counts[READS], counts[WRITES], counts[OPENED]
        values[3] = self._returns.count
        values[4] = controller.mode
        values[5] = controller.refresh.owed
        values[6], values[7], values[8] = device.row_command, device.row_bank, device.row
        values[9], values[10] = device.column_command, device.column_bank
        values[11] = device.open_row[device.column_bank]


def _build_returns(specification: DramSpecification) -> Returns:
    """Return a queue that holds all bursts in flight, so that it fills only while replies are blocked."""
    timing = specification.device.timing
    latency = timing.cl + timing.burst
    # A cycle adds at most one RD and the forwarded bursts of all requests that it accepts. An open request
    # has at least one burst in flight, in the read queue, or in a bank whose row was opened for it.
    bursts = (latency + 2) * (1 + specification.requests_per_cycle * specification.bursts)
    requests = bursts + specification.read_queue + specification.device.organisation.total_banks
    return Returns(bursts, requests)
