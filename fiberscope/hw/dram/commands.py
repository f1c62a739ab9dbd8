"""DRAM commands and other numbers that the compiled modules of a channel share."""

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
AUTO_PRECHARGE = "AP"  # in a log: a bank closes by itself; it is no command on a bus

CLOSED = -1  # the open row of a bank that has none
NOBODY = -1  # no entry of a list

# Lists of waiting bursts.
READS = 0
WRITES = 1
OPENED = 2  # a row was opened for them: they go first, and their bank may not be closed before
LISTS = 3


class Command(NamedTuple):
    """One command as issued; ``bank`` and ``row`` are -1 where it concerns a whole pseudo-channel."""

    cycle: int
    name: str
    pseudo_channel: int
    bank: int
    row: int
