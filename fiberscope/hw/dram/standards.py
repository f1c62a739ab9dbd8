"""The DRAM standards of the table ``standards.yaml``, whose rows have their sources."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict, Field

from fiberscope.sim.names import nearest

Count = Field(ge=1)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Organisation(_Row):
    """The organisation of a channel.

    ``width`` is the number of data bits of a pseudo-channel, ``prefetch`` the number of transfers of this
    width in a burst. A row has ``columns`` columns of this width. A bank has ``rows`` rows, a bank group
    ``banks`` banks, a pseudo-channel ``bank_groups`` bank groups. No model limits addresses by ``rows``.
    """

    width: int = Count
    prefetch: int = Count
    pseudo_channels: int = Count
    bank_groups: int = Count
    banks: int = Count
    rows: int = Count
    columns: int = Count

    @property
    def burst_bytes(self) -> int:
        """Return the bytes that a column command moves."""
        return self.prefetch * self.width // 8

    @property
    def bursts(self) -> int:
        """Return the number of bursts in a row."""
        return self.columns // self.prefetch

    @property
    def total_banks(self) -> int:
        """Return the number of banks of the channel."""
        return self.pseudo_channels * self.bank_groups * self.banks


class Timing(_Row):
    """Timings in memory clock cycles, named as JEDEC names them without the leading t.

    ``burst`` is the time of a burst on the data bus, ``rtw`` the time from a RD to a WR, ``ppd`` from a PRE
    to a PRE, and ``refi`` the refresh interval. Timings in ``_s`` are between bank groups, timings in ``_l``
    within a bank group. ``rfc_bank`` is tRFC of a single bank, ``rrefd`` the time from its refresh to an ACT
    or a refresh of another bank of the pseudo-channel. Both are None if the standard cannot refresh a single
    bank.
    """

    burst: int = Count
    cl: int = Count
    cwl: int = Count
    rcd_read: int = Count
    rcd_write: int = Count
    rp: int = Count
    ras: int = Count
    rc: int = Count
    ccd_s: int = Count
    ccd_l: int = Count
    rrd_s: int = Count
    rrd_l: int = Count
    faw: int = Count
    rtp: int = Count
    wr: int = Count
    wtr_s: int = Count
    wtr_l: int = Count
    rtw: int = Count
    ppd: int = Count
    rfc: int = Count
    refi: int = Count
    rfc_bank: int | None = Field(default=None, ge=1)
    rrefd: int | None = Field(default=None, ge=1)


IN_CLOCKS = {
    "burst",
    "ccd_s",
    "ccd_l",
    "ppd",
    "rtw",
}  # all other timings are times of the DRAM array, which are constant in ns


class DramStandard(_Row):
    """A row of the table, which is a device of a DRAM standard.

    ``hertz`` is the frequency of the memory clock, in whose cycles all timings are counted.
    ``command_buses`` is 2 if row commands and column commands have separate buses. ``activate_cycles`` is
    the number of clocks that an ACT takes on its bus.
    """

    name: str
    source: str = Field(min_length=10)
    hertz: Fraction = Field(gt=0)
    organisation: Organisation
    command_buses: int = Field(ge=1, le=2)
    activate_cycles: int = Count
    timing: Timing

    @property
    def bytes_per_second(self) -> Fraction:
        """Return the peak bandwidth of the channel in bytes per second, with all data buses always busy."""
        bytes_per_burst = self.organisation.pseudo_channels * self.organisation.burst_bytes
        return bytes_per_burst * self.hertz / self.timing.burst

    def at(self, hertz: Fraction | int) -> DramStandard:
        """Return the same device with another clock frequency.

        Times of the DRAM array keep their ns: their cycles are scaled and rounded up, the refresh interval
        down. Times of the interface (burst, column to column, PRE to PRE) keep their cycles. The time from a
        RD to a WR changes with the read and the write latency.

        Raises:
            ValueError: if the refresh interval or the time from a RD to a WR becomes less than a cycle.
        """
        ratio = Fraction(hertz) / self.hertz
        old = self.timing
        cycles = old.model_dump(exclude_none=True)
        for name in cycles.keys() - IN_CLOCKS:
            cycles[name] = max(1, math.ceil(cycles[name] * ratio))
        # Rounded down, as tREFI is a maximum; all other timings are minima
        cycles["refi"] = math.floor(old.refi * ratio)
        # cl - cwl, plus the distance of the two bursts on the data bus, which keeps its cycles
        cycles["rtw"] = old.rtw + (cycles["cl"] - old.cl) - (cycles["cwl"] - old.cwl)
        return self.model_copy(update={"hertz": Fraction(hertz), "timing": Timing(**cycles)})

    def with_width(self, width: int) -> DramStandard:
        """Return the same device with pseudo-channels of ``width`` bits, bursts and rows in proportion.

        The width is not checked here; ``DramSpecification`` refuses a burst without a whole number of bytes.
        """
        return self.model_copy(update={"organisation": self.organisation.model_copy(update={"width": width})})


@cache
def standards() -> dict[str, DramStandard]:
    """Return all rows of the table by name; the dictionary is cached, so the caller must not change it."""
    text = files("fiberscope.hw.dram").joinpath("standards.yaml").read_text(encoding="utf-8")
    table = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {name: DramStandard(name=name, **row) for name, row in table.items()}


def standard(name: str) -> DramStandard:
    """Return the row with this name.

    Raises:
        ValueError: if there is none; the message suggests the nearest name.
    """
    table = standards()
    if name not in table:
        raise ValueError(f"no DRAM standard {name}; {nearest(name, table)}")
    return table[name]
