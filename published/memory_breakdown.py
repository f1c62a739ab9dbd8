"""Breakdown of a machine's DRAM cycles, from the commands that its channels issued.

    python published/memory_breakdown.py gamma wiki-Vote reorder=affinity
    python published/memory_breakdown.py gamma p2p-Gnutella31 reorder=affinity memory.refresh=off

A data bus moves bursts or waits. The wait before a burst is attributed to the constraints of its RD or WR
command, in this order: tCCD within a bank group, bus turnaround, refresh, row activation. The remaining wait
is due to a missing request or to the scheduler. Each cycle is counted once.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from unittest.mock import patch

from fiberscope.explore.tables import simulate_to_end
from fiberscope.hw.dram import DramChannel, DramSpecification
from fiberscope.hw.dram.commands import Command


class BusTime:
    """Cycles of the data bus of a channel with one pseudo-channel, by cause; in memory cycles.

    Args:
        channel: a channel that has recorded its commands (``log=True``), after the run.
    """

    def __init__(self, channel: DramChannel) -> None:
        device = channel.specification.device
        self.timing = device.timing
        self.group_banks = device.organisation.banks
        self.cycles: Counter[str] = Counter()
        self.last_burst: Command | None = None
        self.activation_cycles: dict[int, int] = {}
        self.refresh_cycle = -self.timing.rfc
        for command in channel.commands:
            self._process(command)

    def _process(self, command: Command) -> None:
        if command.name == "ACT":
            self.activation_cycles[command.bank] = command.cycle
        elif command.name == "REF":
            self.refresh_cycle = command.cycle
        elif command.name in ("RD", "WR"):
            self._count_burst(command)

    def _count_burst(self, command: Command) -> None:
        """Count a burst, and the wait since the previous burst."""
        position = self.last_burst.cycle + self.timing.burst if self.last_burst else 0
        for reason, end in self._constraints(command):
            next_position = max(position, min(end, command.cycle))
            self.cycles[reason] += next_position - position
            position = next_position
        self.cycles["bursts"] += self.timing.burst
        self.last_burst = command

    def _constraints(self, command: Command) -> Iterator[tuple[str, int]]:
        """Yield the constraints of a command and their end cycles, in the order of attribution."""
        timing, previous = self.timing, self.last_burst
        if previous is not None:
            same_group = previous.bank // self.group_banks == command.bank // self.group_banks
            if same_group:
                yield "tCCD within a bank group", previous.cycle + timing.ccd_l
            if command.name != previous.name:
                turnaround = timing.cwl + timing.burst + (timing.wtr_l if same_group else timing.wtr_s)
                yield "turning the bus", previous.cycle + (timing.rtw if command.name == "WR" else turnaround)
        yield "refresh of all banks", self.refresh_cycle + timing.rfc
        activation = timing.rcd_read if command.name == "RD" else timing.rcd_write
        yield "opening a row", self.activation_cycles[command.bank] + activation + 1
        yield "no request, or order", command.cycle


def main() -> None:
    """Run a machine, and print the table."""
    accelerator, matrix, *arguments = sys.argv[1:]
    channels: list[DramChannel] = []

    def logging_channel(name: str, specification: DramSpecification) -> DramChannel:
        channels.append(DramChannel(name, specification, log=True))
        return channels[-1]

    settings = dict(setting.split("=", 1) for setting in arguments)
    with patch("fiberscope.accelerators.memory.DramChannel", logging_channel):  # records commands
        report = simulate_to_end(accelerator, matrix, settings=settings)
    cycles: Counter[str] = Counter()
    for channel in channels:
        cycles += BusTime(channel).cycles
    total = len(channels) * report.seconds * float(channels[0].specification.clock_hertz)
    cycles["before the first and after the last"] = round(total) - cycles.total()
    print(f"{accelerator}, {matrix}, {' '.join(arguments)}: {report.cycles:,} cycles")
    for reason, count in cycles.most_common():
        print(f"{reason:36} {count / total:6.1%}")


if __name__ == "__main__":
    main()
