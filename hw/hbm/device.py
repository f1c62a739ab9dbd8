"""The DRAM device: banks with open rows, and when each command may next be issued to each of them.

Every constraint is kept as the earliest cycle of the later command, at the level (bank, bank group,
pseudo-channel, channel) at which it holds; a command is ready when the cycle has come at all of its levels.
Cycles are counted where a command starts on its bus. An ACT that takes two clocks is received one clock
later, so that what is counted from it grows, and what is counted to it shrinks, by ``activate_cycles - 1``.
"""

from __future__ import annotations

from array import array

from hw.hbm.commands import (
    ACTIVATE,
    CLOSED,
    COMMANDS,
    PRECHARGE,
    PRECHARGE_ALL,
    READ_COLUMN,
    REFRESH,
    WRITE_COLUMN,
    Command,
)
from hw.hbm.standards import DramStandard

ACTIVATES_IN_WINDOW = 4  # what tFAW limits


def _zeros(count: int) -> array[int]:
    return array("q", bytes(8 * count))


class Device:
    """All banks of one channel. Banks are numbered over the channel, as by ``Decoder``.

    ``log`` is None, or a list to which every command is appended.
    """

    def __init__(self, standard: DramStandard) -> None:
        organisation = standard.organisation
        self.log: list[Command] | None = None
        self.pseudo_channels = organisation.pseudo_channels
        self.banks = organisation.total_banks
        self._banks_per_pseudo = organisation.banks * organisation.bank_groups
        self._group_shift = organisation.banks.bit_length() - 1  # the address maps need powers of two
        self._pseudo_shift = self._banks_per_pseudo.bit_length() - 1
        self._set_delays(standard)
        self._set_state(organisation.bank_groups * organisation.pseudo_channels)

    def _set_delays(self, standard: DramStandard) -> None:
        """The constraints as distances between the starts of two commands."""
        timing = standard.timing
        late = standard.activate_cycles - 1
        self._activate_cycles = standard.activate_cycles
        self._activate_to_read = timing.rcd_read + late
        self._activate_to_write = timing.rcd_write + late
        self._activate_to_precharge = timing.ras + late
        self._activate_to_refresh = timing.rc + late
        self._row_cycle = timing.rc
        self._activate_same_group = timing.rrd_l
        self._activate_other_group = timing.rrd_s
        self._activate_window = timing.faw
        self._precharge_to_activate = timing.rp - late
        self._precharge_to_refresh = timing.rp
        self._precharge_to_precharge = timing.ppd
        self._refresh_to_activate = timing.rfc - late
        self._refresh_to_precharge = timing.rfc
        self._column_other_group = max(timing.burst, timing.ccd_s)
        self._column_same_group = timing.ccd_l
        self._read_to_write = timing.rtw
        self._read_to_precharge = timing.rtp
        self._write_to_read_other_group = timing.cwl + timing.burst + timing.wtr_s
        self._write_to_read_same_group = timing.cwl + timing.burst + timing.wtr_l
        self._write_to_precharge = timing.cwl + timing.burst + timing.wr

    def _set_state(self, groups: int) -> None:
        """Everything closed and ready."""
        self.open_row = array("q", [CLOSED] * self.banks)
        self._bank_activate = _zeros(self.banks)
        self._bank_precharge = _zeros(self.banks)
        self._bank_read = _zeros(self.banks)
        self._bank_write = _zeros(self.banks)
        self._group_activate = _zeros(groups)
        self._group_read = _zeros(groups)
        self._group_write = _zeros(groups)
        self._pseudo_activate = _zeros(self.pseudo_channels)
        self._pseudo_precharge = _zeros(self.pseudo_channels)
        self._pseudo_precharge_all = _zeros(self.pseudo_channels)
        self._pseudo_refresh = _zeros(self.pseudo_channels)
        self._pseudo_read = _zeros(self.pseudo_channels)
        self._pseudo_write = _zeros(self.pseudo_channels)
        self._row_bus = 0
        self._open_banks = _zeros(self.pseudo_channels)
        self._window = array("q", [-self._activate_window] * (ACTIVATES_IN_WINDOW * self.pseudo_channels))
        self._oldest = _zeros(self.pseudo_channels)  # of the last four ACTs, the one furthest back

    def pseudo_channel(self, bank: int) -> int:
        """The pseudo-channel of a bank."""
        return bank >> self._pseudo_shift

    def any_open(self, pseudo: int) -> bool:
        """Whether a bank of the pseudo-channel has an open row."""
        return self._open_banks[pseudo] > 0

    def read_ready(self, bank: int) -> int:
        """Earliest cycle of a RD from the open row."""
        ready = self._bank_read[bank]
        ready = _later(ready, self._group_read[bank >> self._group_shift])
        return _later(ready, self._pseudo_read[bank >> self._pseudo_shift])

    def write_ready(self, bank: int) -> int:
        """Earliest cycle of a WR to the open row."""
        ready = self._bank_write[bank]
        ready = _later(ready, self._group_write[bank >> self._group_shift])
        return _later(ready, self._pseudo_write[bank >> self._pseudo_shift])

    def activate_ready(self, bank: int) -> int:
        """Earliest cycle of an ACT of the closed bank."""
        ready = _later(self._bank_activate[bank], self._row_bus)
        ready = _later(ready, self._group_activate[bank >> self._group_shift])
        return _later(ready, self._pseudo_activate[bank >> self._pseudo_shift])

    def precharge_ready(self, bank: int) -> int:
        """Earliest cycle of a PRE of the open bank."""
        ready = _later(self._bank_precharge[bank], self._row_bus)
        return _later(ready, self._pseudo_precharge[bank >> self._pseudo_shift])

    def precharge_all_ready(self, pseudo: int) -> int:
        """Earliest cycle of a precharge of all banks of a pseudo-channel."""
        return _later(self._pseudo_precharge_all[pseudo], self._row_bus)

    def refresh_ready(self, pseudo: int) -> int:
        """Earliest cycle of a refresh of all (closed) banks of a pseudo-channel."""
        return _later(self._pseudo_refresh[pseudo], self._row_bus)

    def read(self, bank: int, cycle: int) -> None:
        """Issue a RD."""
        group = bank >> self._group_shift
        pseudo = bank >> self._pseudo_shift
        self._pseudo_read[pseudo] = _later(self._pseudo_read[pseudo], cycle + self._column_other_group)
        self._pseudo_write[pseudo] = _later(self._pseudo_write[pseudo], cycle + self._read_to_write)
        self._group_read[group] = _later(self._group_read[group], cycle + self._column_same_group)
        self._hold_open(bank, pseudo, cycle + self._read_to_precharge)
        self._record(READ_COLUMN, pseudo, bank, self.open_row[bank], cycle)

    def write(self, bank: int, cycle: int) -> None:
        """Issue a WR."""
        group = bank >> self._group_shift
        pseudo = bank >> self._pseudo_shift
        to_read = cycle + self._write_to_read_other_group
        self._pseudo_write[pseudo] = _later(self._pseudo_write[pseudo], cycle + self._column_other_group)
        self._pseudo_read[pseudo] = _later(self._pseudo_read[pseudo], to_read)
        to_read = cycle + self._write_to_read_same_group
        self._group_write[group] = _later(self._group_write[group], cycle + self._column_same_group)
        self._group_read[group] = _later(self._group_read[group], to_read)
        self._hold_open(bank, pseudo, cycle + self._write_to_precharge)
        self._record(WRITE_COLUMN, pseudo, bank, self.open_row[bank], cycle)

    def _hold_open(self, bank: int, pseudo: int, until: int) -> None:
        self._bank_precharge[bank] = _later(self._bank_precharge[bank], until)
        self._pseudo_precharge_all[pseudo] = _later(self._pseudo_precharge_all[pseudo], until)

    def activate(self, bank: int, row: int, cycle: int) -> None:
        """Issue an ACT: open a row."""
        group = bank >> self._group_shift
        pseudo = bank >> self._pseudo_shift
        self.open_row[bank] = row
        self._open_banks[pseudo] += 1
        self._row_bus = cycle + self._activate_cycles
        self._bank_read[bank] = cycle + self._activate_to_read
        self._bank_write[bank] = cycle + self._activate_to_write
        self._bank_activate[bank] = cycle + self._row_cycle
        self._hold_open(bank, pseudo, cycle + self._activate_to_precharge)
        to_refresh = cycle + self._activate_to_refresh
        self._pseudo_refresh[pseudo] = _later(self._pseudo_refresh[pseudo], to_refresh)
        self._group_activate[group] = cycle + self._activate_same_group
        self._limit_activates(pseudo, cycle)
        self._record(ACTIVATE, pseudo, bank, row, cycle)

    def _limit_activates(self, pseudo: int, cycle: int) -> None:
        """tRRD between bank groups, and at most four ACTs in any tFAW."""
        place = self._oldest[pseudo]
        self._window[pseudo * ACTIVATES_IN_WINDOW + place] = cycle
        place = (place + 1) % ACTIVATES_IN_WINDOW
        self._oldest[pseudo] = place
        ready = self._window[pseudo * ACTIVATES_IN_WINDOW + place] + self._activate_window
        ready = _later(ready, cycle + self._activate_other_group)
        self._pseudo_activate[pseudo] = _later(self._pseudo_activate[pseudo], ready)

    def precharge(self, bank: int, cycle: int) -> None:
        """Issue a PRE: close the bank's row."""
        pseudo = bank >> self._pseudo_shift
        self.open_row[bank] = CLOSED
        self._open_banks[pseudo] -= 1
        self._row_bus = cycle + 1
        self._bank_activate[bank] = _later(self._bank_activate[bank], cycle + self._precharge_to_activate)
        self._after_precharge(pseudo, cycle)
        self._record(PRECHARGE, pseudo, bank, CLOSED, cycle)

    def precharge_all(self, pseudo: int, cycle: int) -> None:
        """Close every row of a pseudo-channel."""
        for bank in range(pseudo * self._banks_per_pseudo, (pseudo + 1) * self._banks_per_pseudo):
            self.open_row[bank] = CLOSED
        self._open_banks[pseudo] = 0
        self._row_bus = cycle + 1
        to_activate = cycle + self._precharge_to_activate
        self._pseudo_activate[pseudo] = _later(self._pseudo_activate[pseudo], to_activate)
        self._after_precharge(pseudo, cycle)
        self._record(PRECHARGE_ALL, pseudo, -1, CLOSED, cycle)

    def _after_precharge(self, pseudo: int, cycle: int) -> None:
        next_one = cycle + self._precharge_to_precharge
        self._pseudo_precharge[pseudo] = next_one
        self._pseudo_precharge_all[pseudo] = _later(self._pseudo_precharge_all[pseudo], next_one)
        to_refresh = cycle + self._precharge_to_refresh
        self._pseudo_refresh[pseudo] = _later(self._pseudo_refresh[pseudo], to_refresh)

    def refresh(self, pseudo: int, cycle: int) -> None:
        """Refresh all banks of a pseudo-channel."""
        self._row_bus = cycle + 1
        to_activate = cycle + self._refresh_to_activate
        to_precharge = cycle + self._refresh_to_precharge
        self._pseudo_activate[pseudo] = _later(self._pseudo_activate[pseudo], to_activate)
        self._pseudo_precharge_all[pseudo] = _later(self._pseudo_precharge_all[pseudo], to_precharge)
        self._record(REFRESH, pseudo, -1, CLOSED, cycle)

    def _record(self, command: int, pseudo: int, bank: int, row: int, cycle: int) -> None:
        if self.log is not None:
            self.log.append(Command(cycle, COMMANDS[command], pseudo, bank, row))


def _later(first: int, second: int) -> int:
    return first if first > second else second
