"""Rows of updates of counters in banks: who has a bank in a cycle, and the two cycles of a sum."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TypeAlias

import pyrtl

from fiberscope.hw.lanes.counter_memory_rtl import CounterMemory, Shape
from fiberscope.hw.rtl.kit.interface import MASK
from fiberscope.hw.rtl.kit.trees import chosen, lowest
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, Signal, alias, blank_if_stop

Row: TypeAlias = list[Mapping[str, Signal]]


class Joined:
    """Rows of two streams as if of one: of the second while one of its is wanted.

    Lanes that a stream has not are empty.
    """

    def __init__(self, streams: tuple[InputStream, InputStream], second: Signal) -> None:
        self._streams, self._second = streams, second
        first, other = streams
        self.valid: Signal = pyrtl.select(second, other.valid, first.valid)
        wider = max(first.lanes, other.lanes, key=len)
        self.lanes: Row = [
            {name: self._field(i, name, len(wire)) for name, wire in lane.items()}
            for i, lane in enumerate(wider)
        ]

    def _field(self, lane: int, name: str, bits: int) -> Signal:
        first, other = (
            stream.lanes[lane][name].zero_extended(max(bits, len(stream.lanes[lane][name])))
            if lane < len(stream.lanes)
            else pyrtl.Const(0, bits)
            for stream in self._streams
        )
        return pyrtl.select(self._second, other, first)

    def accept(self, ready: Signal) -> None:
        """Say when a row that is valid is taken."""
        first, other = self._streams
        first.accept(ready & ~self._second)
        other.accept(ready & self._second)


class UpdateRows:
    """The row of updates that shows: in each cycle the first cluster of every bank that waits is read.

    It is taken with its last cluster. A cycle later what was read is added to, written, and given as slots.

    Args:
        shape: where counters lie.
        source: the rows.
        updates: whether a command takes them.
        moves: whether the slots of the row before leave, if there are any.
    """

    def __init__(self, shape: Shape, source: InputStream | Joined, updates: Signal, moves: Signal) -> None:
        self.shape = shape
        self.moves = moves
        self.row: Row = list(source.lanes)
        self.items = [lane[MASK] & ~lane["control"] for lane in self.row]
        self.heads = [
            alias(f"head_{i:02}", item & (lane["reference"] == 0))
            for i, (item, lane) in enumerate(zip(self.items, self.row, strict=True))
        ]
        self.shows = alias("shows", source.valid & updates)
        self.places = [shape.place(lane["coordinate"]) for lane in self.row]
        served: list[Signal] = [pyrtl.Register(1, f"served_{i:02}") for i in range(len(self.row))]
        waits = [self.shows & head & ~done for head, done in zip(self.heads, served, strict=True)]
        self.grants = [
            lowest([wait & place[2][bank] for wait, place in zip(waits, self.places, strict=True)])
            for bank in range(shape.banks)
        ]
        self.granted = [
            alias(f"granted_{i:02}", reduce(or_, [grants[i] for grants in self.grants]))
            for i in range(len(self.row))
        ]
        left = reduce(or_, [wait & ~flag for wait, flag in zip(waits, self.granted, strict=True)])
        self.completes = alias("completes", self.shows & ~left)
        source.accept(self.completes)
        self.ends = alias(
            "row_ends", self.completes & reduce(or_, [lane[MASK] & lane["control"] for lane in self.row])
        )
        for done, flag in zip(served, self.granted, strict=True):
            done.next <<= (done | flag) & ~self.completes

    def entries(self) -> list[Signal]:
        """The entry of each bank that is read."""
        return [chosen(grants, [place[0] for place in self.places]) for grants in self.grants]

    def connect(self, memory: CounterMemory) -> None:
        """Read, and a cycle later add and write; what is written in the same cycle is read instead."""
        amounts = self._amounts()
        self.old = [self._bank(memory, bank, amounts) for bank in range(self.shape.banks)]
        memory.finish()

    def _held(self, name: str, wire: Signal) -> Signal:
        """A register that takes over the wire when slots move."""
        register: Signal = DataRegister(len(wire), name)
        register.next <<= pyrtl.select(self.moves, wire, register)
        return register

    def _bank(self, memory: CounterMemory, bank: int, amounts: list[Signal]) -> Signal:
        """Return the value of the counter to which a bank adds now."""
        grants = self.grants[bank]
        entry = chosen(grants, [place[0] for place in self.places])
        part = chosen(grants, [place[1] for place in self.places])
        adds: Signal = pyrtl.Register(1, f"adds_{bank:02}")
        adds.next <<= self.moves & reduce(or_, grants)
        held_entry, held_part = self._held(f"entry_{bank:02}", entry), self._held(f"part_{bank:02}", part)
        amount = self._held(f"amount_{bank:02}", chosen(grants, amounts))
        old: Signal = DataRegister(self.shape.bits, f"old_{bank:02}")
        new = alias(f"new_{bank:02}", (old + amount)[: self.shape.bits])
        again = alias(f"again_{bank:02}", adds & (held_entry == entry) & (held_part == part))
        read = chosen(list(part), memory.parts(bank))
        old.next <<= pyrtl.select(self.moves, pyrtl.select(again, new, read), old)
        memory.write(bank, held_entry, [adds & flag for flag in held_part], [new] * self.shape.parts)
        return old

    def _amounts(self) -> list[Signal]:
        """For each lane how many items its cluster has: one more than the rank of the last from it on."""
        bits = len(self.row[0]["reference"])
        goes_on, length = pyrtl.Const(0, 1), pyrtl.Const(0, bits)  # of the items behind the lane
        amounts = []
        for lane, item, head in zip(
            reversed(self.row), reversed(self.items), reversed(self.heads), strict=True
        ):
            own = pyrtl.select(goes_on, length, (lane["reference"] + 1)[:bits])
            amounts.append(own)
            goes_on, length = pyrtl.select(item, ~head, goes_on), pyrtl.select(item, own, length)
        return amounts[::-1]

    def slots(self, lanes: int) -> Row:
        """Return so many lanes of the last row, with the previous values of their counters."""
        before: Signal = pyrtl.Const(0, self.shape.bits)
        sent: Row = []
        for i, lane in enumerate(self.row[:lanes]):
            now: Signal = pyrtl.Register(1, f"granted_before_{i:02}")
            now.next <<= pyrtl.select(self.moves, self.granted[i], now)
            bank = self._held(f"bank_of_{i:02}", self.places[i][2])
            kept: Signal = DataRegister(self.shape.bits, f"kept_{i:02}")
            own = pyrtl.select(now, chosen(list(bank), self.old), kept)
            kept.next <<= own
            fields = {name: self._taken(f"slot_{i:02}_{name}", wire) for name, wire in lane.items()}
            head = self._taken(f"slot_{i:02}_head", self.heads[i])
            before = alias(f"before_{i:02}", pyrtl.select(head, own, before))
            slot = {
                **fields,
                "coordinate": (before + fields["reference"])[: self.shape.bits],
                "reference": pyrtl.concat(pyrtl.Const(0, 1), fields["coordinate"]),
            }
            sent.append({**blank_if_stop(slot), MASK: fields[MASK]})
        return sent

    def _taken(self, name: str, wire: Signal) -> Signal:
        """A register that takes over the wire with the row."""
        register: Signal = DataRegister(len(wire), name)
        register.next <<= pyrtl.select(self.completes, wire, register)
        return register
