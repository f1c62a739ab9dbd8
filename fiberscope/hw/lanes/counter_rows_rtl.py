"""Rows of updates of counters in banks: arbitration for the banks, and the pipeline of two cycles.

In the first cycle, a bank reads the counter of one cluster (a run of items with the same index). In the
second cycle, it adds the number of items and writes the counter.
"""

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


class RowMux:
    """Two streams of rows as one, with the interface of an ``InputStream``.

    Lanes that the selected stream lacks are empty.

    Args:
        second: whether the second stream is selected in this cycle.
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
        """Return a field of a lane from the selected stream; 0 if the stream lacks the lane."""
        first, other = (
            stream.lanes[lane][name].zero_extended(max(bits, len(stream.lanes[lane][name])))
            if lane < len(stream.lanes)
            else pyrtl.Const(0, bits)
            for stream in self._streams
        )
        return pyrtl.select(self._second, other, first)

    def accept(self, ready: Signal) -> None:
        """Drive ``ready`` of the selected stream; the other one waits."""
        first, other = self._streams
        first.accept(ready & ~self._second)
        other.accept(ready & self._second)


class UpdateRows:
    """The pipeline of updates.

    In each cycle, every bank reads the counter of its first waiting cluster in the row at the inputs. The row
    is taken in the cycle of its last cluster. One cycle after a read, the sum is written, and the counter
    before the sum is the basis of the cluster's slots.

    Call ``connect`` once, before ``slots``.

    Args:
        shape: location of the counters.
        source: the rows.
        updates: whether a command takes rows in this cycle.
        moves: whether the second cycle can proceed, that is, no row of slots is blocked.

    Attributes:
        shows: whether a row at the inputs is processed in this cycle.
        completes: whether this is its last cycle.
        ends: whether the row also ends its array.
    """

    def __init__(self, shape: Shape, source: InputStream | RowMux, updates: Signal, moves: Signal) -> None:
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
        # A row stays at the inputs until all its clusters have been served, a cluster a bank in each cycle
        served: list[Signal] = [pyrtl.Register(1, f"served_{i:02}") for i in range(len(self.row))]
        waits = [self.shows & head & ~done for head, done in zip(self.heads, served, strict=True)]
        # For each bank, one-hot: the first lane that waits for the bank.
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
        """Return the number of the entry that each bank reads."""
        return [chosen(grants, [place[0] for place in self.places]) for grants in self.grants]

    def connect(self, memory: CounterMemory) -> None:
        """Connect the memory, whose entries of ``entries`` are read in this cycle.

        A counter that is written in the cycle of its read is forwarded.
        """
        amounts = self._amounts()
        self.old = [self._bank(memory, bank, amounts) for bank in range(self.shape.banks)]
        memory.finish()

    def _held(self, name: str, wire: Signal) -> Signal:
        """Return a register of the second cycle, which samples the wire while ``moves`` is high."""
        register: Signal = DataRegister(len(wire), name)
        register.next <<= pyrtl.select(self.moves, wire, register)
        return register

    def _bank(self, memory: CounterMemory, bank: int, amounts: list[Signal]) -> Signal:
        """Return the counter of a bank in its second cycle, before the addition."""
        grants = self.grants[bank]
        entry = chosen(grants, [place[0] for place in self.places])
        part = chosen(grants, [place[1] for place in self.places])
        adds: Signal = pyrtl.Register(1, f"adds_{bank:02}")
        # The sum is written once, also if the second cycle is held: no row is processed during a stall
        adds.next <<= self.moves & reduce(or_, grants)
        held_entry, held_part = self._held(f"entry_{bank:02}", entry), self._held(f"part_{bank:02}", part)
        amount = self._held(f"amount_{bank:02}", chosen(grants, amounts))
        old: Signal = DataRegister(self.shape.bits, f"old_{bank:02}")
        new = alias(f"new_{bank:02}", (old + amount)[: self.shape.bits])
        # A read in the cycle in which its counter is written would get the old counter from the memory
        again = alias(f"again_{bank:02}", adds & (held_entry == entry) & (held_part == part))
        read = chosen(list(part), memory.parts(bank))
        old.next <<= pyrtl.select(self.moves, pyrtl.select(again, new, read), old)
        memory.write(bank, held_entry, [adds & flag for flag in held_part], [new] * self.shape.parts)
        return old

    def _amounts(self) -> list[Signal]:
        """Return, for the first lane of each cluster, its number of items.

        The number is the rank of the last item plus one, passed from the end of the row to the first item.
        """
        bits = len(self.row[0]["reference"])
        # Of the items behind the lane: whether its cluster goes on there, and the length of that cluster
        goes_on, length = pyrtl.Const(0, 1), pyrtl.Const(0, bits)
        amounts = []
        for lane, item, head in zip(
            reversed(self.row), reversed(self.items), reversed(self.heads), strict=True
        ):
            own = pyrtl.select(goes_on, length, (lane["reference"] + 1)[:bits])
            amounts.append(own)
            goes_on, length = pyrtl.select(item, ~head, goes_on), pyrtl.select(item, own, length)
        return amounts[::-1]

    def slots(self, lanes: int) -> Row:
        """Return the slots of the last row in its first ``lanes`` lanes.

        The coordinate of a slot is the counter before the item's cluster plus the rank of the item; the
        reference is the index of the counter.
        """
        before: Signal = pyrtl.Const(0, self.shape.bits)
        sent: Row = []
        # A counter read in the last cycle is in its bank; a counter read earlier for this row is kept
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
        """Return a register that samples the wire when the row is taken."""
        register: Signal = DataRegister(len(wire), name)
        register.next <<= pyrtl.select(self.completes, wire, register)
        return register
