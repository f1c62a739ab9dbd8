# cython: infer_types=True
"""The DRAM device: banks with open rows, and the earliest cycle of each command to each bank.

A timing constraint between two commands is applied when the earlier command is issued. It raises the earliest
cycle of the later command for all affected banks: one bank, a bank group or a pseudo-channel.

The cycle of a command is the one in which it starts on its bus. A device receives an ACT of two clocks one
clock later. Constraints from an ACT are therefore longer, and constraints to an ACT shorter, by
``activate_cycles - 1``.
"""

from __future__ import annotations

from array import array

from fiberscope.hw.dram.commands import (
    ACTIVATE,
    AUTO_PRECHARGE,
    CLOSED,
    COMMANDS,
    NONE,
    PRECHARGE,
    PRECHARGE_ALL,
    READ_COLUMN,
    REFRESH,
    REFRESH_BANK,
    WRITE_COLUMN,
    Command,
)
from fiberscope.hw.dram.standards import DramStandard
from fiberscope.sim.constants import MAX_TIME

ACTIVATES_IN_WINDOW = 4  # maximum number of ACTs in tFAW


def _zeros(count: int) -> array[int]:
    return array("q", bytes(8 * count))


class Device:  # C: final
    """The banks of one channel. Banks are numbered over the channel, as by ``Decoder``.

    The methods that issue a command do not check it: the caller issues a command only from its earliest cycle
    on, a RD, WR or PRE only to an open row, and an ACT or refresh only to closed banks. The cycles of
    successive calls do not decrease.

    Args:
        standard: organisation and timings of the device.

    Attributes:

    - ``open_row``: for each bank, its open row or ``CLOSED``;
    - ``ready``: earliest cycles of the commands of each bank: RD at index ``reads + bank``, WR at ``writes +
      bank``, ACT at ``activates + bank``, PRE at ``precharges + bank``, and ``MAX_TIME`` at ``never``. They
      follow from the timings alone, whether or not the bank has an open row;
    - ``row_bus``: earliest cycle of any row command, an additional constraint to ``ready``;
    - ``column_bus``: a cycle before which no bank is ready for a RD or WR;
    - ``issued``: number of commands issued so far, by the numbers of ``commands.py``. An automatic precharge
      is no command and is not counted;
    - ``row_command``, ``row_bank``, ``row``, ``column_command``, ``column_bank``: the commands issued since
      ``start_cycle``, ``NONE`` if none; the banks and the row are those of the last command;
    - ``log``: None, or a list to which all commands are appended in the order of issue. An automatic
      precharge follows its RD or WR, with the later cycle in which the row closes.
    """

    def __init__(self, standard: DramStandard) -> None:
        organisation = standard.organisation
        self.log: list[Command] | None = None  # C: public
        self.pseudo_channels = organisation.pseudo_channels  # C: long
        self.banks = organisation.total_banks  # C: long
        self._group_banks = organisation.banks  # C: long
        self._pseudo_banks = organisation.banks * organisation.bank_groups  # C: long
        self._group_shift = self._group_banks.bit_length() - 1  # the address maps need powers of two
        self._pseudo_shift = self._pseudo_banks.bit_length() - 1
        self._set_delays(standard)
        self._set_state()

    def _set_delays(self, standard: DramStandard) -> None:  # C: def
        """Set the constraints, as distances between the starts of two commands on their buses."""
        timing = standard.timing
        activate_delay = standard.activate_cycles - 1
        self._activate_cycles = standard.activate_cycles
        self._activate_to_read = timing.rcd_read + activate_delay  # C: long
        self._activate_to_write = timing.rcd_write + activate_delay  # C: long
        self._activate_to_precharge = timing.ras + activate_delay  # C: long
        self._activate_to_refresh = timing.rc + activate_delay  # C: long
        self._row_cycle = timing.rc  # C: long
        self._activate_same_group = timing.rrd_l  # C: long
        self._activate_other_group = timing.rrd_s  # C: long
        self._activate_window = timing.faw  # C: long
        self._precharge_to_activate = timing.rp - activate_delay  # C: long
        self._precharge_to_refresh = timing.rp  # C: long
        self._precharge_to_precharge = timing.ppd  # C: long
        self._refresh_to_activate = timing.rfc - activate_delay  # C: long
        self._refresh_to_precharge = self._refresh_to_refresh = timing.rfc  # C: long
        self._activate_to_bank_refresh = timing.rrd_s + activate_delay  # C: long
        # Not used by a standard that cannot refresh a single bank
        self._bank_refresh_to_refresh = timing.rfc_bank or 0  # C: long
        self._bank_refresh_to_activate = self._bank_refresh_to_refresh - activate_delay  # C: long
        self._bank_refresh_to_other_refresh = timing.rrefd or 0  # C: long
        self._bank_refresh_to_other_activate = self._bank_refresh_to_other_refresh - activate_delay  # C: long
        self._column_other_group = max(timing.burst, timing.ccd_s)  # C: long
        self._column_same_group = timing.ccd_l  # C: long
        self._read_to_write = timing.rtw  # C: long
        self._read_to_precharge = timing.rtp  # C: long
        self._write_to_read_other_group = timing.cwl + timing.burst + timing.wtr_s  # C: long
        self._write_to_read_same_group = timing.cwl + timing.burst + timing.wtr_l  # C: long
        self._write_to_precharge = timing.cwl + timing.burst + timing.wr  # C: long
        # No two column commands of a pseudo-channel are closer, whatever their kinds and bank groups
        self._column_to_column = min(  # C: long
            self._column_other_group, self._read_to_write, self._write_to_read_other_group
        )

    def _set_state(self) -> None:  # C: def
        """Set the initial state: all banks are closed and ready."""
        self.open_row = array("q", [CLOSED] * self.banks)
        # Bases of the blocks of ``ready``. The last block has one entry, which stays ``MAX_TIME``: the
        # controller uses the entry for a bank that must not get a row command
        (
            self.reads,
            self.writes,
            self.activates,
            self.precharges,
            self.never,
        ) = (  # C: precharges=long, activates=long, never=long, reads=long, writes=long
            command * self.banks for command in range(5)
        )
        self.ready = array("q", [0] * self.never + [MAX_TIME])
        self.row_bus = self.column_bus = 0
        self._column_bus = _zeros(self.pseudo_channels)
        self._precharge_all = _zeros(self.pseudo_channels)
        self._refresh = _zeros(self.pseudo_channels)
        self._any_bank_refresh = _zeros(self.pseudo_channels)
        self._bank_refresh = _zeros(self.banks)
        self._open_banks = _zeros(self.pseudo_channels)
        # Rings of the last four ACTs of each pseudo-channel. The first entries are so early that they delay
        # no ACT
        self._window = array("q", [-self._activate_window] * (ACTIVATES_IN_WINDOW * self.pseudo_channels))
        self._oldest = _zeros(self.pseudo_channels)  # slot of the oldest of the last four ACTs
        self.issued = _zeros(len(COMMANDS))
        self.row_bank = self.row = self.column_bank = 0
        self.start_cycle()

    def start_cycle(self) -> None:  # C: noexcept
        """Start a new cycle, without commands yet."""
        self.row_command = self.column_command = NONE

    def pseudo_channel(self, bank: int) -> int:  # C: noexcept
        """Return the pseudo-channel of a bank."""
        return bank >> self._pseudo_shift

    def any_open(self, pseudo: int) -> bool:  # C: noexcept
        """Return whether a bank of the pseudo-channel has an open row."""
        return self._open_banks[pseudo] > 0

    def precharge_all_ready(self, pseudo: int) -> int:  # C: noexcept
        """Return the earliest cycle of a precharge of all banks of a pseudo-channel."""
        return max(self._precharge_all[pseudo], self.row_bus)

    def refresh_ready(self, pseudo: int) -> int:  # C: noexcept
        """Return the earliest cycle of a refresh of all (closed) banks of a pseudo-channel."""
        return max(self._refresh[pseudo], self.row_bus)

    def bank_refresh_ready(self, bank: int) -> int:  # C: noexcept
        """Return the earliest cycle of a refresh of one (closed) bank."""
        return max(self._bank_refresh[bank], self._any_bank_refresh[self.pseudo_channel(bank)], self.row_bus)

    def read(self, bank: int, cycle: int) -> None:
        """Issue a RD."""
        pseudo = bank >> self._pseudo_shift
        # Only the own pseudo-channel is delayed: each pseudo-channel has a data bus of its own
        self._delay_pseudo_channel(self.reads, pseudo, cycle + self._column_other_group)
        self._delay_group(self.reads, bank, cycle + self._column_same_group)
        self._delay_pseudo_channel(self.writes, pseudo, cycle + self._read_to_write)
        self._delay_precharge(bank, pseudo, cycle + self._read_to_precharge)
        self._take_column_bus(pseudo, cycle)
        self._record(READ_COLUMN, pseudo, bank, self.open_row[bank], cycle)

    def write(self, bank: int, cycle: int) -> None:
        """Issue a WR."""
        pseudo = bank >> self._pseudo_shift
        self._delay_pseudo_channel(self.writes, pseudo, cycle + self._column_other_group)
        self._delay_group(self.writes, bank, cycle + self._column_same_group)
        self._delay_pseudo_channel(self.reads, pseudo, cycle + self._write_to_read_other_group)
        self._delay_group(self.reads, bank, cycle + self._write_to_read_same_group)
        self._delay_precharge(bank, pseudo, cycle + self._write_to_precharge)
        self._take_column_bus(pseudo, cycle)
        self._record(WRITE_COLUMN, pseudo, bank, self.open_row[bank], cycle)

    def _take_column_bus(self, pseudo: int, cycle: int) -> None:  # C: noexcept
        """Update the column bounds of this pseudo-channel and of the channel."""
        self._column_bus[pseudo] = self.column_bus = cycle + self._column_to_column
        # The pseudo-channels do not delay each other's RDs and WRs, so the earliest of their bounds holds
        for pseudo_channel in range(self.pseudo_channels):
            self.column_bus = min(self.column_bus, self._column_bus[pseudo_channel])

    def _delay_pseudo_channel(self, command: int, pseudo: int, earliest: int) -> None:  # C: noexcept
        start = command + (pseudo << self._pseudo_shift)
        _raise(self.ready, start, start + self._pseudo_banks, earliest)

    def _delay_group(self, command: int, bank: int, earliest: int) -> None:  # C: noexcept
        start = command + (bank >> self._group_shift << self._group_shift)
        _raise(self.ready, start, start + self._group_banks, earliest)

    def _delay_bank(self, command: int, bank: int, earliest: int) -> None:  # C: noexcept
        _raise(self.ready, command + bank, command + bank + 1, earliest)

    def _delay_precharge(self, bank: int, pseudo: int, earliest: int) -> None:  # C: noexcept
        self._delay_bank(self.precharges, bank, earliest)
        _raise(self._precharge_all, pseudo, pseudo + 1, earliest)

    def activate(self, bank: int, row: int, cycle: int) -> None:
        """Issue an ACT, which opens a row."""
        pseudo = bank >> self._pseudo_shift
        self.open_row[bank] = row
        self._open_banks[pseudo] += 1
        self.row_bus = cycle + self._activate_cycles
        self._delay_bank(self.reads, bank, cycle + self._activate_to_read)
        self._delay_bank(self.writes, bank, cycle + self._activate_to_write)
        self._delay_precharge(bank, pseudo, cycle + self._activate_to_precharge)
        self._delay_bank(self.activates, bank, cycle + self._row_cycle)
        self._delay_group(self.activates, bank, cycle + self._activate_same_group)
        self._delay_pseudo_channel(self.activates, pseudo, self._next_in_window(pseudo, cycle))
        _raise(self._refresh, pseudo, pseudo + 1, cycle + self._activate_to_refresh)
        _raise(self._bank_refresh, bank, bank + 1, cycle + self._activate_to_refresh)
        # A REFB of another bank must keep a distance from an ACT like another ACT
        _raise(self._any_bank_refresh, pseudo, pseudo + 1, cycle + self._activate_to_bank_refresh)
        self._record(ACTIVATE, pseudo, bank, row, cycle)

    def _next_in_window(self, pseudo: int, cycle: int) -> int:  # C: noexcept
        """Record an ACT in ``cycle``, and return the earliest cycle of the next: tRRD, four in a tFAW."""
        slot = self._oldest[pseudo]
        self._window[pseudo * ACTIVATES_IN_WINDOW + slot] = cycle
        slot = (slot + 1) % ACTIVATES_IN_WINDOW
        self._oldest[pseudo] = slot
        # The ring now begins with the oldest of the last four ACTs; the next ACT is the fifth of this window
        fifth = self._window[pseudo * ACTIVATES_IN_WINDOW + slot] + self._activate_window
        return max(fifth, cycle + self._activate_other_group)

    def precharge(self, bank: int, cycle: int) -> None:
        """Issue a PRE, which closes the row of a bank."""
        pseudo = bank >> self._pseudo_shift
        row = self.open_row[bank]
        self.open_row[bank] = CLOSED
        self._open_banks[pseudo] -= 1
        self._delay_bank(self.activates, bank, cycle + self._precharge_to_activate)
        _raise(self._bank_refresh, bank, bank + 1, cycle + self._precharge_to_refresh)
        self._after_precharge(pseudo, cycle)
        self._record(PRECHARGE, pseudo, bank, CLOSED, cycle)
        self.row = row  # signals show the row that was closed

    def auto_precharge(self, bank: int) -> None:
        """Close a bank after the RD or WR that was just issued to it, without a command on the row bus.

        The row closes in the cycle of the earliest PRE. It counts as closed at once: no burst can use it any
        more. tPPD, a constraint between commands, does not apply.
        """
        pseudo = bank >> self._pseudo_shift
        cycle = self.ready[self.precharges + bank]
        self.open_row[bank] = CLOSED
        self._open_banks[pseudo] -= 1
        self._delay_bank(self.activates, bank, cycle + self._precharge_to_activate)
        _raise(self._bank_refresh, bank, bank + 1, cycle + self._precharge_to_refresh)
        _raise(self._refresh, pseudo, pseudo + 1, cycle + self._precharge_to_refresh)
        if self.log is not None:
            self.log.append(Command(cycle, AUTO_PRECHARGE, pseudo, bank, CLOSED))

    def precharge_all(self, pseudo: int, cycle: int) -> None:
        """Issue a PREA, which closes all rows of a pseudo-channel."""
        for bank in range(pseudo << self._pseudo_shift, (pseudo + 1) << self._pseudo_shift):
            self.open_row[bank] = CLOSED
        self._open_banks[pseudo] = 0
        self._delay_pseudo_channel(self.activates, pseudo, cycle + self._precharge_to_activate)
        self._after_precharge(pseudo, cycle)
        self._record(PRECHARGE_ALL, pseudo, -1, CLOSED, cycle)

    def _after_precharge(self, pseudo: int, cycle: int) -> None:  # C: noexcept
        """Apply the constraints of a PRE or PREA to the pseudo-channel."""
        self.row_bus = cycle + 1
        if self._precharge_to_precharge > 1:  # else the bus implies it
            self._delay_pseudo_channel(self.precharges, pseudo, cycle + self._precharge_to_precharge)
            _raise(self._precharge_all, pseudo, pseudo + 1, cycle + self._precharge_to_precharge)
        _raise(self._refresh, pseudo, pseudo + 1, cycle + self._precharge_to_refresh)

    def refresh(self, pseudo: int, cycle: int) -> None:
        """Issue a REF, which refreshes all banks of a pseudo-channel."""
        self.row_bus = cycle + 1
        # A run has either REFs or REFBs, by the refresh policy. Neither therefore delays the other
        self._delay_pseudo_channel(self.activates, pseudo, cycle + self._refresh_to_activate)
        _raise(self._precharge_all, pseudo, pseudo + 1, cycle + self._refresh_to_precharge)
        _raise(self._refresh, pseudo, pseudo + 1, cycle + self._refresh_to_refresh)
        self._record(REFRESH, pseudo, -1, CLOSED, cycle)

    def refresh_bank(self, bank: int, cycle: int) -> None:
        """Issue a REFB, which refreshes one bank while the other banks continue."""
        pseudo = bank >> self._pseudo_shift
        self.row_bus = cycle + 1
        # All banks are delayed by tRREFD first. The refreshed bank then gets the longer delay
        self._delay_pseudo_channel(self.activates, pseudo, cycle + self._bank_refresh_to_other_activate)
        self._delay_bank(self.activates, bank, cycle + self._bank_refresh_to_activate)
        _raise(self._any_bank_refresh, pseudo, pseudo + 1, cycle + self._bank_refresh_to_other_refresh)
        _raise(self._bank_refresh, bank, bank + 1, cycle + self._bank_refresh_to_refresh)
        self._record(REFRESH_BANK, pseudo, bank, CLOSED, cycle)

    def _record(self, command: int, pseudo: int, bank: int, row: int, cycle: int) -> None:
        """Count a command, set the signals of the cycle and append the command to the log."""
        self.issued[command] += 1
        if command in (READ_COLUMN, WRITE_COLUMN):
            self.column_command = command
            self.column_bank = bank
        else:
            self.row_command = command
            # The signal shows a command to all banks of a pseudo-channel (-1) as one to bank 0
            self.row_bank = max(bank, 0)
            self.row = row
        if self.log is not None:
            self.log.append(Command(cycle, COMMANDS[command], pseudo, bank, row))


def _raise(
    ready: array[int], start: int, end: int, earliest: int
) -> None:  # C: ready=long[::1], cdef, noexcept
    """Raise the entries ``start`` to ``end`` - 1 to at least ``earliest``."""
    for index in range(start, end):
        ready[index] = max(ready[index], earliest)
