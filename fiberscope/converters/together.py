# cython: infer_types=True
"""The quick way of a line of units: one component, which takes as long as they do apart."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import ClassVar

from fiberscope.converters.moves import ENDED, PACK, PIPE
from fiberscope.converters.rows import Bits, Former
from fiberscope.converters.stages import ITEM
from fiberscope.hw.lanes.pipeline import Pipeline
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal


class Together(Component):
    """Lets rows through units that are not there, each in the cycle in which it would move.

    What becomes of an item is computed when its row is formed. Of rows nothing goes on but how many items
    each has: by channels that have the room and the latency of the lanes', and by units that take and give a
    row when theirs do. So cycles and results are those of the units apart, to which a test holds them.

    Counts: what the units count.

    Args:
        name: instance name.
        former: what makes the rows; no component of the kernel's.
        units: by turn what each does to rows, and its stages, or the lanes of the rows that it packs.
        room: rows that a channel holds beside those that a longer latency takes.
        wires: latencies of the channels behind the former and the units.
        lanes: of the rows that are collected.
        shifts: where coordinate and reference lie in an item's word; the coordinate alone if there is one.
        divisor: of the units, or 0.
        factor: likewise.
        drops: whether an item whose value is zero goes no further.
        sums: whether coordinates are summed up.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("items", ITEM),
        Input("values", ITEM, optional=True),
        Output("results", ITEM),
    )
    SIGNALS = (Signal("rows", 48), Signal("kept", 48))

    items: Channel
    values: Channel | None
    results: Channel

    def __init__(
        self,
        name: str,
        former: Former,
        units: Sequence[tuple[int, int]],
        room: int,
        wires: Sequence[int],
        lanes: int,
        shifts: Sequence[int],
        *,
        divisor: int = 0,
        factor: int = 0,
        drops: bool = False,
        sums: bool = False,
    ) -> None:
        super().__init__(name)
        self.former = former
        self.bits = former if isinstance(former, Bits) else None  # C: Bits
        if self.bits is not None:
            self.bits.sparse = True
        self.units = len(units)
        self.kinds = array("q", [kind for kind, _size in units])
        self.sizes = array("q", [size for _kind, size in units])
        self.pipelines = [Pipeline(size if kind == PIPE else 1) for kind, size in units]
        self.lanes = lanes
        self.high = shifts[0]
        self.divisor, self.factor, self.drops, self.sums = divisor, factor, drops, sums
        self.wires = array("q", wires)
        stages = [size for kind, size in units if kind == PIPE]
        self.deepest = max(room + max(wires), max(stages, default=0))  # C: long
        self.room = array("q", [room + wire for wire in wires])
        self.waiting = array("q", bytes(8 * self.deepest * len(wires)))  # rows in channels,
        self.arrivals = array("q", bytes(8 * self.deepest * len(wires)))
        self.inside = array("q", bytes(8 * self.deepest * len(wires)))  # and in pipelines
        self.oldest = array("q", bytes(8 * len(wires)))
        self.filled = array("q", bytes(8 * len(wires)))
        self.popped = array("q", [-1] * len(wires))  # the cycle of the last pop
        self.packed = 0  # items that the packer holds
        self.ending = False  # with the last of an array
        rows = sum(self.room) + sum(stages) + 2
        self.places = rows * max(former.width, lanes)
        self.words = array("q", bytes(8 * self.places))
        self.held = array("d", bytes(8 * self.places))
        self.head = self.count = 0  # items on their way
        self.done = 0  # of the row that is collected
        self.total = 0  # of the array
        self.rows = self.numbers = self.kept = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        self.former.items = self.items

    def counters(self) -> dict[str, int]:
        """Rows formed, and what the units did by now to the items in them."""
        counters = {"rows": self.rows}
        if self.drops:
            counters["compares"] = self.numbers
        if self.divisor:
            counters["divide"] = self.kept
        if self.factor:
            counters["multiply"] = self.numbers
        return counters

    def tick(self, now: int) -> int:
        """Move each row that moves in this cycle."""
        moved = self._collect(now)
        unit = self.units - 1  # C: long
        while unit >= 0:
            if self._step(unit, now):
                moved = True
            unit -= 1
        if self._enter(now):
            moved = True
        if moved:
            return self.busy(now + 1)
        due = self._due(now)
        if due > 0:
            return self.busy(due)
        return self._wait(now)

    def _wait(self, now: int) -> int:
        if not self._shows(self.units, now):
            return self.idle()
        if self.values is not None and not self.values.can_pop():
            return self.wait_input(self.values)
        return self.wait_output(self.results)

    def _due(self, now: int) -> int:
        """The next cycle in which a row comes to an end of a unit or a channel; 0 if none does."""
        earliest = 0
        for unit in range(len(self.wires)):
            if unit < self.units and self._pipeline(unit).filled > 0:
                due = self._pipeline(unit).due()
                if due > now and (earliest == 0 or due < earliest):
                    earliest = due
            if self.filled[unit] > 0:
                arrival = self.arrivals[unit * self.deepest + self.oldest[unit]]
                if arrival > now and (earliest == 0 or arrival < earliest):
                    earliest = arrival
        return earliest

    def _pipeline(self, unit: int) -> Pipeline:
        return self.pipelines[unit]

    def _shows(self, channel: int, now: int) -> bool:  # C: noexcept
        """Whether the row at a channel's head is seen."""
        return (
            self.filled[channel] > 0 and self.arrivals[channel * self.deepest + self.oldest[channel]] <= now
        )

    def _is_full(self, channel: int, now: int) -> bool:  # C: noexcept
        free = self.room[channel] - self.filled[channel]
        return free - (1 if self.popped[channel] == now else 0) <= 0

    def _push(self, channel: int, row: int, now: int) -> None:  # C: noexcept
        place = self.oldest[channel] + self.filled[channel]  # C: long
        if place >= self.deepest:
            place -= self.deepest
        place += channel * self.deepest
        self.waiting[place] = row
        self.arrivals[place] = now + self.wires[channel]
        self.filled[channel] += 1

    def _pop(self, channel: int, now: int) -> int:  # C: noexcept
        row = self.waiting[channel * self.deepest + self.oldest[channel]]
        self.oldest[channel] += 1
        if self.oldest[channel] == self.deepest:
            self.oldest[channel] = 0
        self.filled[channel] -= 1
        self.popped[channel] = now
        return row

    def _step(self, unit: int, now: int) -> bool:
        """Let a unit move; whether it did."""
        if self.kinds[unit] == PIPE:
            return self._flow(unit, now)
        if self.kinds[unit] == PACK:
            return self._pack(unit, now)
        if not self._shows(unit, now) or self._is_full(unit + 1, now):
            return False
        self._push(unit + 1, self._pop(unit, now), now)
        return True

    def _flow(self, unit: int, now: int) -> bool:
        """As ``fiberscope.hw.lanes.rows.RowPipeline`` does."""
        pipeline = self._pipeline(unit)
        leaves = pipeline.stands(now)
        if leaves:
            if self._is_full(unit + 1, now):
                return False
            self._push(unit + 1, self.inside[unit * self.deepest + pipeline.leave(now)], now)
        enters = self._shows(unit, now)
        if enters:
            row = self._pop(unit, now)
            self.inside[unit * self.deepest + pipeline.enter(now)] = row
        return leaves or enters

    def _pack(self, unit: int, now: int) -> bool:
        """As ``fiberscope.hw.lanes.packer.Packer`` does."""
        width = self.sizes[unit]
        takes = self._shows(unit, now) and not self.ending and self.packed <= width
        row = self.waiting[unit * self.deepest + self.oldest[unit]] if takes else 0
        count = self.packed + (row & (ENDED - 1))
        ends = self.ending or row >= ENDED
        sends = ends or count >= width
        if sends and self._is_full(unit + 1, now):
            return False
        if takes:
            self._pop(unit, now)
            self.packed, self.ending = count, ends
        if sends:
            self._send_packed(unit, width, now)
        return takes or sends

    def _send_packed(self, unit: int, width: int, now: int) -> None:
        if self.packed < width:
            self._push(unit + 1, self.packed | ENDED, now)
            self.packed = 0
            self.ending = False
        else:
            self._push(unit + 1, width, now)
            self.packed -= width

    def _enter(self, now: int) -> bool:
        """Form a row, and let it in; whether anything of it came."""
        return self._form_into(0, self.former, now)

    def _form_into(self, channel: int, former: Former, now: int) -> bool:
        moved = former.gather()
        if not former.is_ready() or self._is_full(channel, now):
            return moved
        row = self._formed(former)
        if former.release():
            row |= ENDED
            self.total = 0
        self._push(channel, row, now)
        return True

    def _formed(self, former: Former) -> int:
        """A row has been formed; what of it goes on."""
        before = self.count
        if self.bits is None:
            for place in range(former.held):
                self._compute(former.coordinates[place], former.references[place], former.values[place])
        else:
            self._compute_ones(self.bits)
        self.numbers += former.held
        self.rows += 1
        return self.count - before

    def _compute_ones(self, bits: Bits) -> None:
        """The same of bits, all of which count and of which the ones go on."""
        for bit in range(bits.ones):
            self._keep(self.total + bits.coordinates[bit], 0, 0.0)
        bits.ones = 0
        self.total += bits.held

    def _compute(self, coordinate: int, reference: int, value: float) -> None:  # C: noexcept
        """Put what becomes of an item behind those on their way."""
        if self.sums:
            self.total += coordinate
            coordinate = self.total
        if not self.drops or value != 0.0:
            self._keep(coordinate, reference, value)

    def _keep(self, coordinate: int, reference: int, value: float) -> None:  # C: noexcept
        if self.factor:
            coordinate = coordinate * self.factor + reference
        elif self.divisor:
            coordinate = coordinate // self.divisor << self.high | coordinate % self.divisor
        place = self.head + self.count  # C: long
        if place >= self.places:
            place -= self.places
        self.words[place] = coordinate
        self.held[place] = value
        self.count += 1
        self.kept += 1

    def _collect(self, now: int) -> bool:
        """As ``fiberscope.converters.rows.Collector`` does."""
        if not self._shows(self.units, now):
            return False
        results = self.results
        if results.space() <= self.lanes:
            results.want(self.lanes + 1)
            return False
        row = self.waiting[self.units * self.deepest + self.oldest[self.units]]
        before = self.done
        if not self._send(row & (ENDED - 1)) or (row >= ENDED and not self._is_valued()):
            return self.done > before
        if row >= ENDED:
            if self.values is not None:
                self.values.pop()
            results.push(STOP)
        self._pop(self.units, now)
        self.done = 0
        return True

    def _is_valued(self) -> bool:  # C: noexcept
        """Whether the next item, or the stop, has its value."""
        return self.values is None or self.values.can_pop()

    def _send(self, count: int) -> bool:
        """Send what of a row has its value; whether that is all."""
        results, values, left = self.results, self.values, count - self.done  # C: left=long
        while left > 0 and (values is None or values.can_pop()):
            value = self.held[self.head]
            if values is not None:
                value = values.value()
                values.pop()
            results.push(DATA, self.words[self.head], 0, value)
            self.head += 1
            if self.head == self.places:
                self.head = 0
            left -= 1
        self.count -= count - self.done - left
        self.done = count - left
        return left == 0
