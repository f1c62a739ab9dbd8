"""DRAM standards as rows of data: ``standards.yaml``, each row with its source."""

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
    """Organisation of a channel: ``width`` in bits, ``columns`` of it in a row, ``banks`` in a group."""

    width: int = Count
    prefetch: int = Count
    pseudo_channels: int = Count
    bank_groups: int = Count
    banks: int = Count
    rows: int = Count
    columns: int = Count

    @property
    def burst_bytes(self) -> int:
        """Bytes that one column command moves."""
        return self.prefetch * self.width // 8

    @property
    def bursts(self) -> int:
        """Bursts in a row."""
        return self.columns // self.prefetch

    @property
    def total_banks(self) -> int:
        """Banks of the whole channel."""
        return self.pseudo_channels * self.bank_groups * self.banks


class Timing(_Row):
    """Timings in memory clock cycles, named as JEDEC names them without the leading t.

    ``burst`` is the data bus time of one burst, ``rtw`` read command to write command, ``ppd`` precharge to
    precharge, ``refi`` the refresh interval. ``_s`` is between bank groups, ``_l`` within one. ``rfc_bank``
    (tRFC of a single bank) and ``rrefd`` (from its refresh to an ACT or a refresh of another bank of the
    pseudo-channel) are None where the standard refreshes no bank singly.
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
}  # the others are times of the array


class DramStandard(_Row):
    """One row of the table.

    ``hertz`` is the frequency of the memory clock, in which all timings count; ``command_buses`` is 2 where
    row and column commands have a bus each; ``activate_cycles`` the clocks that an ACT takes on its bus.
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
        """Peak bandwidth of the channel."""
        bytes_per_burst = self.organisation.pseudo_channels * self.organisation.burst_bytes
        return bytes_per_burst * self.hertz / self.timing.burst

    def at(self, hertz: Fraction | int) -> DramStandard:
        """The same device on another clock: its times in ns stay, so their cycles are scaled and rounded up.

        What the interface sets (burst, column to column, precharge to precharge) stays in clocks, the
        refresh interval is rounded down, and the read to write gap follows the two latencies.
        """
        ratio = Fraction(hertz) / self.hertz
        old = self.timing
        cycles = old.model_dump(exclude_none=True)
        for name in cycles.keys() - IN_CLOCKS:
            cycles[name] = max(1, math.ceil(cycles[name] * ratio))
        cycles["refi"] = math.floor(old.refi * ratio)
        cycles["rtw"] = old.rtw + (cycles["cl"] - old.cl) - (cycles["cwl"] - old.cwl)
        return self.model_copy(update={"hertz": Fraction(hertz), "timing": Timing(**cycles)})

    def with_width(self, width: int) -> DramStandard:
        """The same device with pseudo-channels of ``width`` bits: bursts and rows shrink or grow with it."""
        return self.model_copy(update={"organisation": self.organisation.model_copy(update={"width": width})})


@cache
def standards() -> dict[str, DramStandard]:
    """All rows of the table by name."""
    text = files("fiberscope.hw.dram").joinpath("standards.yaml").read_text(encoding="utf-8")
    table = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {name: DramStandard(name=name, **row) for name, row in table.items()}


def standard(name: str) -> DramStandard:
    """The row with this name.

    Raises:
        ValueError: if there is none, with the nearest name.
    """
    table = standards()
    if name not in table:
        raise ValueError(f"no DRAM standard {name}; {nearest(name, table)}")
    return table[name]
