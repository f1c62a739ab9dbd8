"""The memory of counters in banks: the location of each counter, and ports for updates and for sweeps.

An *update* accesses one counter in each bank. A *sweep* accesses consecutive counters in all banks at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.trees import any_of, decoded
from fiberscope.hw.rtl.kit.twin import Signal, alias, index_bits, unless


@dataclass(frozen=True)
class Shape:
    """The location of each counter: its bank, the entry in the bank, and the part of the entry.

    Consecutive counters are in consecutive banks. An entry of all banks together has the counters of one row
    of a sweep, so that an entry of one bank has ``sweep_lanes // banks`` counters, its parts.

    Args:
        counters: number of counters.
        banks: number of banks, a power of two.
        sweep_lanes: counters of a row of a sweep, a power of two.
        bits: bits of a counter.
    """

    counters: int
    banks: int
    sweep_lanes: int
    bits: int

    @property
    def entries(self) -> int:
        """Return the number of entries of a bank."""
        return -(-self.counters // self.sweep_lanes)

    @property
    def entry_bits(self) -> int:
        """Return the bits of the number of an entry."""
        return index_bits(self.entries)

    @property
    def parts(self) -> int:
        """Return the number of counters in an entry of a bank."""
        return self.sweep_lanes // self.banks

    def place(self, index: Signal) -> tuple[Signal, Signal, Signal]:
        """Return the location of a counter: entry number, one-hot part, and one-hot bank.

        From the lowest bits up, an index consists of bank, part and entry.
        """
        low, middle = self.banks.bit_length() - 1, self.sweep_lanes.bit_length() - 1
        # A narrow index is extended to all bits of a location. With one part or one bank, its slice is empty.
        wide = index.zero_extended(max(len(index), middle + self.entry_bits))
        part = decoded(wide[low:middle], self.parts) if self.parts > 1 else pyrtl.Const(1, 1)
        bank = decoded(wide[:low], self.banks) if self.banks > 1 else pyrtl.Const(1, 1)
        return wide[middle : middle + self.entry_bits], part, bank

    def number(self, entry: Signal, lane: int) -> Signal:
        """Return the number of the counter in a lane of a sweep's row; ``entry`` is the number of the row."""
        bits = self.sweep_lanes.bit_length() - 1
        # PyRTL has no constant of 0 bits.
        return pyrtl.concat(entry, pyrtl.Const(lane, bits)) if bits else entry


class CounterMemory:
    """One synchronous memory for each bank. The output registers of the memories are outside (``Sram.look``).

    A register bit for each entry of a bank says whether the entry was ever written. Before that, the entry
    reads as zeros; the first write to one of its parts clears its other parts.

    Order of calls: ``look_at`` once, then ``shown`` and ``parts``; any number of ``write``, ``store`` and
    ``clear``; ``finish`` once, at the end.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._banks = [
            Sram(f"bank_{b:02}", shape.entries, shape.bits, shape.parts) for b in range(shape.banks)
        ]
        self._valid: list[Signal] = [
            pyrtl.Register(shape.entries, f"known_{b:02}") for b in range(shape.banks)
        ]
        # For each bank, the arguments of its calls of ``write``; ``finish`` combines them.
        self._writes: list[list[tuple[Signal, list[Signal], list[Signal]]]] = [[] for _ in self._banks]

    def look_at(self, entries: list[Signal]) -> None:
        """Read an entry of each bank.

        Args:
            entries: for each bank, the number of its entry.
        """
        self._shown = [
            [unless(~self._is_known(b, entry), part) for part in bank.read_unregistered(entry)]
            for b, (bank, entry) in enumerate(zip(self._banks, entries, strict=True))
        ]

    def shown(self, lane: int) -> Signal:
        """Return the counter of a lane of a sweep, from the entries that ``look_at`` reads."""
        return self._shown[lane % self.shape.banks][lane // self.shape.banks]

    def parts(self, bank: int) -> list[Signal]:
        """Return all counters of a bank in the entry that ``look_at`` reads."""
        return self._shown[bank]

    def write(self, bank: int, entry: Signal, enables: list[Signal], counts: list[Signal]) -> None:
        """Write parts of an entry at the end of the cycle.

        In each cycle, at most one of the calls for a bank may have an enabled part.

        Args:
            bank: number of the bank.
            entry: number of the entry.
            enables: for each part, whether it is written.
            counts: for each part, its new counter.
        """
        self._writes[bank].append((entry, enables, counts))

    def store(self, entry: Signal, enables: list[Signal], counts: list[Signal]) -> None:
        """Write the enabled lanes of a sweep's row, each with its own new counter.

        Args:
            entry: number of the row.
            enables: for each lane, whether it is written.
            counts: for each lane, its new counter.
        """
        for bank in range(self.shape.banks):
            # Lane l is in bank l modulo the number of banks, and its part is l divided by this number.
            mine = slice(bank, None, self.shape.banks)
            self.write(bank, entry, enables[mine], counts[mine])

    def clear(self, entry: Signal, enables: list[Signal]) -> None:
        """Write zeros to the enabled lanes of a sweep's row."""
        self.store(entry, enables, [pyrtl.Const(0, self.shape.bits)] * len(enables))

    def finish(self) -> None:
        """Create the write ports, after all calls that write, of which each bank needs at least one."""
        for bank in range(self.shape.banks):
            self._join(bank)

    def _join(self, bank: int) -> None:
        """Create the write port of a bank from all its writes, of which at most one is enabled."""
        # At most one write is enabled, so that the OR of the gated entries and counts selects it.
        ways = [reduce(or_, enables) for _, enables, _ in self._writes[bank]]
        entry = reduce(
            or_, [unless(~way, entry) for way, (entry, _, _) in zip(ways, self._writes[bank], strict=True)]
        )
        writes = alias(f"writes_{bank:02}", reduce(or_, ways))
        is_known = alias(f"known_entry_{bank:02}", self._is_known(bank, entry))
        enables, counts = [], []
        for part in range(self.shape.parts):
            wanted = [enables[part] for _, enables, _ in self._writes[bank]]
            counts_of_writes = [counts[part] for _, _, counts in self._writes[bank]]
            counts.append(
                reduce(
                    or_, [unless(~flag, count) for flag, count in zip(wanted, counts_of_writes, strict=True)]
                )
            )
            # The first write to an entry writes all parts; the gated count of a part without a write is 0.
            enables.append(reduce(or_, wanted) | (writes & ~is_known))
        self._banks[bank].write(entry, counts, enables)
        number = decoded(entry, self.shape.entries)
        register = self._valid[bank]
        register.next <<= register | unless(~writes, number)

    def _is_known(self, bank: int, entry: Signal) -> Signal:
        """Return whether an entry of a bank was ever written."""
        flags = decoded(entry, self.shape.entries) & self._valid[bank]
        return any_of("known", list(flags)) if len(flags) == 1 else flags != 0
