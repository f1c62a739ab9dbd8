"""Specification of a DRAM channel."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from fiberscope.hw.dram.address import AddressMap, address_map
from fiberscope.hw.dram.standards import DramStandard, standard


@dataclass(frozen=True)
class DramSpecification:
    """Specification of one channel of a memory: its device, address map and controller.

    Args:
        standard: name of a row of ``standards.yaml``, or a row.
        hertz: frequency of the memory clock; None for the standard's own. Times of the DRAM array keep their
            ns, see ``DramStandard.at``.
        width: data bits of a pseudo-channel; None for the standard's own.
        address_map: name of one of ``ADDRESS_MAPS``.
        scheduler: ``frfcfs`` (first ready, first come first served), ``row_hit_first`` (the same, and no row
            is closed for a burst while a waiting burst of its kind that came no later would hit the row) or
            ``fcfs`` (reads strictly in order, and writes strictly in order).
        page_policy: ``open`` (rows stay open) or ``closed`` (a row closes by auto-precharge after a RD or WR,
            unless the burst for which it was opened, or a waiting burst of the same kind, needs the row).
        refresh: ``all_bank``, ``per_bank`` (one bank after another, while the other banks continue; not in
            every standard), ``per_bank_lookahead`` (like ``per_bank``, banks with few waiting bursts first)
            or ``off``.
        read_queue: capacity of the queue of reads, in bursts.
        write_queue: capacity of the queue of writes, in bursts. As in the queue of reads, a burst leaves the
            queue when a row is opened for it, and then waits for its command outside.
        write_low: fraction of the write queue below which the controller returns to waiting reads.
        write_high: fraction of the write queue above which the controller turns to writes, even if reads
            wait. Without waiting reads, it serves writes at any occupancy.
        request_bytes: bytes of one request, a multiple or a divisor of the bytes of a burst; the reply is
            sent when the last burst has arrived.
        requests_per_cycle: greatest number of requests accepted in one cycle of the memory clock.
        channels: number of channels over which the addresses are interleaved.
        interleave_bytes: consecutive bytes in one channel, a multiple of ``request_bytes``. The channel's own
            address is
            ``address // (interleave_bytes * channels) * interleave_bytes + address % interleave_bytes``.

    Raises:
        ValueError: a name is unknown, or a field is illegal, by itself or with this device.
    """

    standard: str | DramStandard = "HBM2_2000"
    hertz: Fraction | int | None = None
    width: int | None = None
    address_map: str = "RoBaRaCoCh"
    scheduler: Literal["frfcfs", "row_hit_first", "fcfs"] = "frfcfs"
    page_policy: Literal["open", "closed"] = "open"
    refresh: Literal["all_bank", "per_bank", "per_bank_lookahead", "off"] = "all_bank"
    read_queue: int = 32
    write_queue: int = 32
    write_low: float = 0.2
    write_high: float = 0.8
    request_bytes: int = 64
    requests_per_cycle: int = 1
    channels: int = 1
    interleave_bytes: int = 64

    def __post_init__(self) -> None:
        """Check the fields against each other and against the device.

        Whether the address map fits the organisation of the device is checked by ``DramChannel``.

        Raises:
            ValueError: a field is wrong; the message has its value and the legal values.
        """
        device, _address_map = self.device, self.map  # checks both names
        width = device.organisation.width
        is_legal = width > 0 and device.organisation.prefetch * width % 8 == 0
        _require(is_legal, "width", width, "above 0, with whole bytes in a burst")
        for name in ("request_bytes", "requests_per_cycle", "channels", "interleave_bytes"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        schedulers = ("frfcfs", "row_hit_first", "fcfs")
        _require(self.scheduler in schedulers, "scheduler", self.scheduler, "frfcfs, row_hit_first or fcfs")
        policies = ("open", "closed")
        _require(self.page_policy in policies, "page_policy", self.page_policy, "open or closed")
        refreshes = ("all_bank", "per_bank", "per_bank_lookahead", "off")
        legal = "all_bank, per_bank, per_bank_lookahead or off"
        _require(self.refresh in refreshes, "refresh", self.refresh, legal)
        supported = self.refresh in ("all_bank", "off") or device.timing.rfc_bank is not None
        legal = f"all_bank or off ({device.name} refreshes no bank singly)"
        _require(supported, "refresh", self.refresh, legal)
        # Each bank needs a REFB per tREFI, and a REFB takes a cycle of the row bus that other commands share
        banks, interval = device.organisation.total_banks, device.timing.refi
        is_legal = self.refresh in ("all_bank", "off") or banks < interval
        legal = f"all_bank or off (refreshes of {banks} single banks take all {interval} cycles of tREFI)"
        _require(is_legal, "refresh", self.refresh, legal)
        ordered = 0 <= self.write_low < self.write_high <= 1
        _require(ordered, "write_low, write_high", (self.write_low, self.write_high), "0 <= low < high <= 1")
        burst = device.organisation.burst_bytes
        is_multiple = self.request_bytes % burst == 0 or burst % self.request_bytes == 0
        _require(
            is_multiple, "request_bytes", self.request_bytes, f"a multiple or a divisor of a burst ({burst})"
        )
        for name in ("read_queue", "write_queue"):
            is_legal = getattr(self, name) >= self.bursts
            _require(is_legal, name, getattr(self, name), f"at least the {self.bursts} bursts of a request")
        is_multiple = self.interleave_bytes % self.request_bytes == 0
        _require(
            is_multiple, "interleave_bytes", self.interleave_bytes, f"a multiple of {self.request_bytes}"
        )

    @cached_property
    def device(self) -> DramStandard:
        """Return the timings and the organisation of the device, at this width and frequency."""
        row = standard(self.standard) if isinstance(self.standard, str) else self.standard
        if self.width is not None:
            row = row.with_width(self.width)  # changes no timing
        return row if self.hertz is None else row.at(self.hertz)

    @property
    def map(self) -> AddressMap:
        """Return the map from addresses to banks, rows and columns."""
        return address_map(self.address_map)

    @property
    def bursts(self) -> int:
        """Return the number of bursts of one request; a request of a part of a burst takes a whole burst."""
        return max(1, self.request_bytes // self.device.organisation.burst_bytes)

    @property
    def clock_hertz(self) -> Fraction:
        """Return the frequency of the memory clock, for ``kernel.clock``."""
        return self.device.hertz

    @property
    def bytes_per_second(self) -> Fraction:
        """Return the peak bandwidth of one channel, with the data bus always busy."""
        return self.device.bytes_per_second


def _require(is_legal: bool, field: str, value: object, legal: str) -> None:
    if not is_legal:
        raise ValueError(f"DramSpecification: {field} must be {legal}, not {value}")
