"""Where the cycles of a machine's DRAM go, from the commands that its channels issued.

    python published/memory_breakdown.py gamma wiki-Vote reorder=affinity
    python published/memory_breakdown.py gamma p2p-Gnutella31 reorder=affinity memory.refresh=off

A data bus moves bursts or waits. What it waited for before a burst is what its RD or WR could not come
before: tCCD within a bank group, the bus to turn, a refresh, the row to be opened; what is left after these
is for want of a request, or of the scheduler's order. Each cycle is counted once, in that order.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from unittest.mock import patch

import fiberscope
from fiberscope.hw.dram import DramChannel, DramSpecification
from fiberscope.hw.dram.commands import Command


class BusTime:
    """What the data bus of one channel's only pseudo-channel does, command by command; in memory cycles."""

    def __init__(self, channel: DramChannel) -> None:
        device = channel.specification.device
        self.timing = device.timing
        self.group_banks = device.organisation.banks
        self.cycles: Counter[str] = Counter()
        self.last: Command | None = None
        self.activated: dict[int, int] = {}
        self.refreshed = -self.timing.rfc
        for command in channel.commands:
            self._see(command)

    def _see(self, command: Command) -> None:
        if command.name == "ACT":
            self.activated[command.bank] = command.cycle
        elif command.name == "REF":
            self.refreshed = command.cycle
        elif command.name in ("RD", "WR"):
            self._move(command)

    def _move(self, command: Command) -> None:
        """A burst, and what it waited for since the one before."""
        at = self.last.cycle + self.timing.burst if self.last else 0
        for reason, until in self._bounds(command):
            reached = max(at, min(until, command.cycle))
            self.cycles[reason] += reached - at
            at = reached
        self.cycles["bursts"] += self.timing.burst
        self.last = command

    def _bounds(self, command: Command) -> Iterator[tuple[str, int]]:
        """What the command could not come before, and until when, in the order in which it is blamed."""
        timing, last = self.timing, self.last
        if last is not None:
            same_group = last.bank // self.group_banks == command.bank // self.group_banks
            if same_group:
                yield "tCCD within a bank group", last.cycle + timing.ccd_l
            if command.name != last.name:
                back = timing.cwl + timing.burst + (timing.wtr_l if same_group else timing.wtr_s)
                yield "turning the bus", last.cycle + (timing.rtw if command.name == "WR" else back)
        yield "refresh of all banks", self.refreshed + timing.rfc
        opening = timing.rcd_read if command.name == "RD" else timing.rcd_write
        yield "opening a row", self.activated[command.bank] + opening + 1
        yield "no request, or order", command.cycle


def main() -> None:
    """Run the machine that the command line names and print the table."""
    accelerator, matrix, *given = sys.argv[1:]
    channels: list[DramChannel] = []

    def logged(name: str, specification: DramSpecification) -> DramChannel:
        channels.append(DramChannel(name, specification, log=True))
        return channels[-1]

    settings = dict(setting.split("=", 1) for setting in given)
    with patch("fiberscope.accelerators.memory.DramChannel", logged):  # the same, keeping its commands
        report = fiberscope.simulate(accelerator, matrix, settings=settings)
    cycles: Counter[str] = Counter()
    for channel in channels:
        cycles += BusTime(channel).cycles
    whole = len(channels) * report.seconds * float(channels[0].specification.clock_hertz)
    cycles["before the first and after the last"] = round(whole) - cycles.total()
    print(f"{accelerator}, {matrix}, {' '.join(given)}: {report.cycles:,} cycles")
    for reason, count in cycles.most_common():
        print(f"{reason:36} {count / whole:6.1%}")


if __name__ == "__main__":
    main()
