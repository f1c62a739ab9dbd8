"""The memory of counters in banks: where a counter lies, and its ports for updates and for sweeps."""

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
    """Position of a counter: an entry has as many as a sweep takes, bank by bank, then part by part."""

    counters: int
    banks: int
    sweep_lanes: int
    bits: int

    @property
    def entries(self) -> int:
        """Entries of a bank."""
        return -(-self.counters // self.sweep_lanes)

    @property
    def entry_bits(self) -> int:
        """Bits that number them."""
        return index_bits(self.entries)

    @property
    def parts(self) -> int:
        """Counters of an entry in a bank."""
        return self.sweep_lanes // self.banks

    def place(self, index: Signal) -> tuple[Signal, Signal, Signal]:
        """Entry, flags of the part, and flags of the bank of a counter."""
        low, middle = self.banks.bit_length() - 1, self.sweep_lanes.bit_length() - 1
        wide = index.zero_extended(max(len(index), middle + self.entry_bits))
        part = decoded(wide[low:middle], self.parts) if self.parts > 1 else pyrtl.Const(1, 1)
        bank = decoded(wide[:low], self.banks) if self.banks > 1 else pyrtl.Const(1, 1)
        return wide[middle : middle + self.entry_bits], part, bank

    def number(self, entry: Signal, lane: int) -> Signal:
        """The counter of a lane of a sweep."""
        bits = self.sweep_lanes.bit_length() - 1
        return pyrtl.concat(entry, pyrtl.Const(lane, bits)) if bits else entry


class CounterMemory:
    """A memory a bank, read at once: the register behind its port is that of an update, or the receiver's.

    A bit for each entry of a bank, in a register, says whether it was ever written: before, it reads as
    zeros, and with the first part that is written the others become 0.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._banks = [
            Sram(f"bank_{b:02}", shape.entries, shape.bits, shape.parts) for b in range(shape.banks)
        ]
        self._valid: list[Signal] = [
            pyrtl.Register(shape.entries, f"known_{b:02}") for b in range(shape.banks)
        ]
        self._writes: list[list[tuple[Signal, list[Signal], list[Signal]]]] = [[] for _ in self._banks]

    def look_at(self, entries: list[Signal]) -> None:
        """Show an entry of each bank."""
        self._shown = [
            [unless(~self._is_known(b, entry), part) for part in bank.look(entry)]
            for b, (bank, entry) in enumerate(zip(self._banks, entries, strict=True))
        ]

    def shown(self, lane: int) -> Signal:
        """The counter of a lane of a sweep, of the entry that shows."""
        return self._shown[lane % self.shape.banks][lane // self.shape.banks]

    def parts(self, bank: int) -> list[Signal]:
        """The counters of a bank, of the entry that shows."""
        return self._shown[bank]

    def write(self, bank: int, entry: Signal, enables: list[Signal], counts: list[Signal]) -> None:
        """Write parts of an entry at the end of the cycle; one of all that may is enabled."""
        self._writes[bank].append((entry, enables, counts))

    def store(self, entry: Signal, enables: list[Signal], counts: list[Signal]) -> None:
        """Write lanes of a sweep."""
        for bank in range(self.shape.banks):
            mine = slice(bank, None, self.shape.banks)
            self.write(bank, entry, enables[mine], counts[mine])

    def clear(self, entry: Signal, enables: list[Signal]) -> None:
        """Write zeros to lanes of a sweep."""
        self.store(entry, enables, [pyrtl.Const(0, self.shape.bits)] * len(enables))

    def finish(self) -> None:
        """Join all that is written, once all has been said."""
        for bank in range(self.shape.banks):
            self._join(bank)

    def _join(self, bank: int) -> None:
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
            enables.append(reduce(or_, wanted) | (writes & ~is_known))
        self._banks[bank].write(entry, counts, enables)
        number = decoded(entry, self.shape.entries)
        register = self._valid[bank]
        register.next <<= register | unless(~writes, number)

    def _is_known(self, bank: int, entry: Signal) -> Signal:
        flags = decoded(entry, self.shape.entries) & self._valid[bank]
        return any_of("known", list(flags)) if len(flags) == 1 else flags != 0
