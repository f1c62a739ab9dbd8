"""Constants that the modules of a DRAM channel share: commands and lists of bursts."""

from __future__ import annotations

from typing import NamedTuple

NONE = 0
ACTIVATE = 1
PRECHARGE = 2
READ_COLUMN = 3
WRITE_COLUMN = 4
REFRESH = 5
PRECHARGE_ALL = 6
REFRESH_BANK = 7
COMMANDS = ("none", "ACT", "PRE", "RD", "WR", "REF", "PREA", "REFB")
AUTO_PRECHARGE = "AP"  # name in a log for an automatic precharge, which is not a command on a bus

CLOSED = -1  # value of ``open_row`` for a bank without an open row
NOBODY = -1  # value for "no entry" in a list of bursts

# Lists of waiting bursts
READS = 0
WRITES = 1
OPENED = 2  # bursts for which a row was opened: they have priority, and their row stays open until served
LISTS = 3


class Command(NamedTuple):
    """An issued command, or an automatic precharge.

    ``bank`` is -1 for a command to a whole pseudo-channel. ``row`` is the row of an ACT, RD or WR, else -1.
    ``cycle`` is the cycle in which the command starts on its bus, or in which an automatic precharge closes
    the row.
    """

    cycle: int
    name: str
    pseudo_channel: int
    bank: int
    row: int
