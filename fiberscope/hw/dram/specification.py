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
    """One channel of a memory: device, address map, controller.

    Args:
        standard: name of a row of ``standards.yaml``, or a row.
        hertz: frequency of the memory clock; None for the standard's own. Times of the DRAM array keep their
            ns, see ``DramStandard.at``.
        width: data bits of a pseudo-channel; None for the standard's own.
        address_map: name of one of ``ADDRESS_MAPS``.
        scheduler: ``frfcfs`` (first ready, first come first served), ``row_hit_first`` (the same, and no row
            is closed while an older burst that waits would hit it) or ``fcfs`` (strictly in order).
        page_policy: ``open`` (rows stay open) or ``closed`` (a row closes after the last RD or WR whose kind
            waits for it, by auto-precharge).
        refresh: ``all_bank``, ``per_bank`` (one bank after another while the others go on; not every standard
            has it), ``per_bank_lookahead`` (the same, banks for which few bursts wait first) or ``off``.
        read_queue: bursts that wait to be read, at the most.
        write_queue: bursts that wait to be written, at the most.
        write_low: writes give way to reads below this part of the write queue.
        write_high: writes go before reads above this part of the write queue.
        request_bytes: bytes of one request; it is answered when its last burst has arrived.
        requests_per_cycle: requests taken in one memory clock cycle, at the most.
        channels: channels that the addresses are dealt out to.
        interleave_bytes: bytes side by side in one channel. The channel's own address is
            ``address // (interleave_bytes * channels) * interleave_bytes + address % interleave_bytes``.
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
        """Refuse what cannot be built.

        Raises:
            ValueError: naming the field, its value and what would be right.
        """
        device, _cut = self.device, self.map
        for name in ("request_bytes", "requests_per_cycle", "channels", "interleave_bytes"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        schedulers = ("frfcfs", "row_hit_first", "fcfs")
        _require(self.scheduler in schedulers, "scheduler", self.scheduler, "frfcfs, row_hit_first or fcfs")
        policies = ("open", "closed")
        _require(self.page_policy in policies, "page_policy", self.page_policy, "open or closed")
        refreshes = ("all_bank", "per_bank", "per_bank_lookahead", "off")
        right = "all_bank, per_bank, per_bank_lookahead or off"
        _require(self.refresh in refreshes, "refresh", self.refresh, right)
        singly = self.refresh in ("all_bank", "off") or device.timing.rfc_bank is not None
        without = f"all_bank or off ({device.name} refreshes no bank singly)"
        _require(singly, "refresh", self.refresh, without)
        banks, interval = device.organisation.total_banks, device.timing.refi
        at_once = self.refresh in ("all_bank", "off") or banks < interval
        all_taken = f"all_bank or off (refreshes of {banks} single banks take all {interval} cycles of tREFI)"
        _require(at_once, "refresh", self.refresh, all_taken)
        ordered = 0 <= self.write_low < self.write_high <= 1
        _require(ordered, "write_low, write_high", (self.write_low, self.write_high), "0 <= low < high <= 1")
        burst = device.organisation.burst_bytes
        whole = self.request_bytes % burst == 0 or burst % self.request_bytes == 0
        _require(whole, "request_bytes", self.request_bytes, f"a multiple or a divisor of a burst ({burst})")
        for name in ("read_queue", "write_queue"):
            room = getattr(self, name) >= self.bursts
            _require(room, name, getattr(self, name), f"at least the {self.bursts} bursts of a request")
        parts = self.interleave_bytes % self.request_bytes == 0
        _require(parts, "interleave_bytes", self.interleave_bytes, f"a multiple of {self.request_bytes}")

    @cached_property
    def device(self) -> DramStandard:
        """The row of the standard, at this width and frequency."""
        row = standard(self.standard) if isinstance(self.standard, str) else self.standard
        if self.width is not None:
            row = row.with_width(self.width)
        return row if self.hertz is None else row.at(self.hertz)

    @property
    def map(self) -> AddressMap:
        """The address map."""
        return address_map(self.address_map)

    @property
    def bursts(self) -> int:
        """Bursts of one request."""
        return max(1, self.request_bytes // self.device.organisation.burst_bytes)

    @property
    def clock_hertz(self) -> Fraction:
        """Frequency of the memory clock, for ``kernel.clock``."""
        return self.device.hertz

    @property
    def bytes_per_second(self) -> Fraction:
        """Peak bandwidth of one channel."""
        return self.device.bytes_per_second


def _require(holds: bool, field: str, value: object, right: str) -> None:
    if not holds:
        raise ValueError(f"DramSpecification: {field} must be {right}, not {value}")
