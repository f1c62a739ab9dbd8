"""RTL parts of the block that feeds the ways of a merger (``ways_rtl``).

The parts are the memories of fibers, the lists of tasks, and the merges in progress. A *way* is an input of
the merger, and a *list* is a fiber that a task names; ``FiberWays`` defines tasks and merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.trees import any_of
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, index_bits, resized, unless
from fiberscope.hw.streams.memory_rtl import LISTS, LOAD, STORED, Memory
from fiberscope.hw.streams.merge_tables_rtl import AREA_BITS, POINTS, WaysParameters
from fiberscope.hw.streams.tokens_rtl import Head

SLOTS = 2  # largest number of merges in progress
SEGMENT, COORDINATE, VALUE = range(3)  # kinds of words of the level


class LevelMemory:
    """The memories of the level with the fibers of tasks; each way has its own read port.

    Args:
        parameters: parameters of the module.
        streams: the streams of the module; ``load`` writes the memories.
    """

    def __init__(self, parameters: WaysParameters, streams: Streams) -> None:
        load, ports = streams.inputs[LOAD], parameters.radix
        load.accept(pyrtl.Const(1, 1))
        self.segments = Memory("segments", parameters.fibers + 1, parameters.elements.bit_length())
        self.coordinates = Memory("coordinates", parameters.elements, parameters.coordinate_bits, ports)
        self.values = Memory("values", parameters.elements, parameters.value_field.width, ports)
        kind, place = load.fields["control"], load.fields["address"]
        self.segments.write(place, load.fields["word"], load.valid & (kind == SEGMENT))
        self.coordinates.write(place, load.fields["word"], load.valid & (kind == COORDINATE))
        self.values.write(place, load.fields["value"], load.valid & (kind == VALUE))


class PartialStore:
    """The memory of partial fibers, in two areas: one is read while the other is written.

    Args:
        parameters: parameters of the module.
        streams: the streams of the module; ``stored`` appends an element, or ends a fiber.
    """

    def __init__(self, parameters: WaysParameters, streams: Streams) -> None:
        stored, ports = streams.inputs[STORED], parameters.radix
        stored.accept(pyrtl.Const(1, 1))
        self._parts = parameters.coordinate_bits, parameters.reference_bits, parameters.value_field.width
        self.elements = Memory("partial_elements", 2 * parameters.partials, sum(self._parts), ports)
        self.ends = Memory("partial_ends", 2 * parameters.lists, parameters.partials.bit_length(), ports + 1)
        self._counts = [_counter(parameters.partials, f"elements_of_{area}") for area in range(2)]
        self._fibers = [_counter(parameters.lists, f"fibers_of_{area}") for area in range(2)]
        fields, area = stored.fields, stored.fields["area"]
        ends = alias("fiber_stored", stored.valid & fields["ends"])
        puts = alias("element_stored", stored.valid & ~fields["ends"])
        count = pyrtl.select(area, self._counts[1], self._counts[0])
        fiber = pyrtl.select(area, self._fibers[1], self._fibers[0])
        word = pyrtl.concat(fields["coordinate"], fields["reference"], fields["value"])
        # A counter can hold the capacity itself; its top bit is no part of an address.
        self.elements.write(pyrtl.concat(area, count[:-1]), word, puts)
        self.ends.write(pyrtl.concat(area, fiber[:-1]), count, ends)
        self._puts, self._ends, self._area = puts, ends, area

    def clear(self, clears: Signal, cleared: Signal) -> None:
        """Empty the area ``cleared`` if ``clears`` is 1, and count what is stored; call this once."""
        for counts, stores in ((self._counts, self._puts), (self._fibers, self._ends)):
            for area, count in enumerate(counts):
                more = stores & (self._area == area)
                count.next <<= unless(clears & (cleared == area), (count + more)[: len(count)])

    def element(self, area: Signal, place: Signal) -> list[Signal]:
        """Return the coordinate, the reference and the value of element number ``place`` of an area."""
        bits = index_bits(self.elements.entries) - 1
        word = self.elements[pyrtl.concat(area, resized(place, bits))]
        low, parts = len(word), []
        for size in self._parts:
            low -= size
            parts.append(word[low : low + size])
        return parts


def _counter(most: int, name: str) -> Signal:
    """Return a register that counts from 0 to ``most``."""
    return pyrtl.Register(index_bits(most) + 1, name)


class TaskLists:
    """The lists of tasks that have arrived, and the number of lists of each task.

    Args:
        parameters: parameters of the module.
        streams: the streams of the module.
        level: memories of the level. A list is stored as the position of its first element and the one after
            its last element.
        done: 1 if the block is done, so that it accepts nothing.

    Attributes:
        ends: memory with the positions of each list, by its number.
        waits: 1 if a complete task waits, or becomes complete in this cycle.
        next: number of lists of the first complete task, if ``waits`` is 1.
        all: whether done has arrived.
    """

    def __init__(
        self, parameters: WaysParameters, streams: Streams, level: LevelMemory, done: Signal
    ) -> None:
        bits = index_bits(parameters.lists)
        inputs = [streams.inputs[label] for label in streams.inputs if label.startswith("in_")]
        crd, ref, *along = (Head.from_stream(stream) for stream in inputs)
        self.all: Signal = pyrtl.Register(1, "all_came")  # whether done has arrived
        self._tail: Signal = pyrtl.Register(bits, "next_list")  # number of the next list, modulo the table
        self._came: Signal = pyrtl.Register(bits + 1, "came")  # lists received of the task that arrives
        # The tasks that wait are a ring in ``_counts``: ``_closed`` tasks from place ``_front`` on.
        self._closed: Signal = pyrtl.Register(parameters.waiting.bit_length(), "closed")
        self._front: Signal = pyrtl.Register(index_bits(parameters.waiting), "front")
        self._counts = Memory("lists_of_task", parameters.waiting, bits + 1)
        shown = [head.shown for head in (crd, ref, *along)]
        takes = alias("takes", ~done & ~self.all & (self._closed != parameters.waiting) & reduce(and_, shown))
        for stream in inputs:
            stream.accept(takes)
        begin, end = level.segments[ref.payload], level.segments[(ref.payload + 1)[: len(ref.payload)]]
        adds = alias("adds_list", takes & crd.is_data & ref.is_data & (begin != end))
        self.ends = Memory("fibers_of_lists", parameters.lists, 2 * len(begin), parameters.radix)
        self.ends.write(self._tail, pyrtl.concat(begin, end), adds)
        fields = {f"carried{place}": head.payload for place, head in enumerate(along)}
        streams.outputs[LISTS].send(adds, {"number": self._tail, "coordinate": crd.payload, **fields})
        self._closes = alias("closes_task", takes & crd.is_stop)
        # A task that ends in this cycle counts at once, so that its first merge can start in the same cycle.
        self.waits = alias("task_waits", self._closes | (self._closed != 0))
        self.next = pyrtl.select(self._closed == 0, self._came, self._counts[self._front])
        self._tail.next <<= (self._tail + adds)[:bits]
        self._came.next <<= unless(self._closes, (self._came + adds)[: bits + 1])
        self.all.next <<= self.all | (takes & crd.is_done)
        self._waiting = parameters.waiting

    def leave(self, turns: Signal) -> None:
        """Remove the first task of the queue if ``turns`` is 1, because its merges start; call this once.

        ``turns`` may be 1 only if ``waits`` is 1.
        """
        wraps = self._waiting
        back = _modulo(self._front, self._closed, wraps)
        self._counts.write(back, self._came, self._closes)
        self._closed.next <<= (self._closed + self._closes - turns)[: len(self._closed)]
        self._front.next <<= pyrtl.select(turns, _modulo(self._front, pyrtl.Const(1, 1), wraps), self._front)


def _modulo(place: Signal, more: Signal, wraps: int) -> Signal:
    """Return the place ``more`` places later in a ring of ``wraps`` places."""
    total = place + more
    return pyrtl.select(total >= wraps, total - wraps, total)[: len(place)]


class MergeSlots:
    """The merges in progress, with the elements that each of their ways still has to send.

    Args:
        parameters: parameters of the module.
        streams: the streams of the module.
        level: memories of the level, which merges of the first round read.
        store: memory of partial fibers, which merges of later rounds read.

    Attributes:
        busy: whether there is a merge in progress.
        has_room: whether a slot is free for another merge.
        reads: area that the current merge reads; ``POINTS`` if there is none.
    """

    def __init__(
        self, parameters: WaysParameters, streams: Streams, level: LevelMemory, store: PartialStore
    ) -> None:
        self._parameters, self._level, self._store = parameters, level, store
        self._turn: Signal = pyrtl.Register(1, "slot")  # slot of the current merge
        self._begun: Signal = pyrtl.Register(2, "begun")  # number of slots with a merge
        self._areas = [pyrtl.Register(AREA_BITS, f"area_{slot}") for slot in range(SLOTS)]
        self._ways = [
            [_Way(parameters, f"{slot}_{way:02}") for way in range(parameters.radix)] for slot in range(SLOTS)
        ]
        self.busy = alias("busy", self._begun != 0)
        handed = [self._hand(streams, way) for way in range(parameters.radix)]
        self._handed = handed
        lacks = [
            any_of(
                f"lacks_{slot}",
                [
                    way.lacks & ~(hands & ends & (self._turn == slot))
                    for way, (hands, ends) in zip(self._ways[slot], handed, strict=True)
                ],
            )
            for slot in range(SLOTS)
        ]
        here, there = (pyrtl.select(self._turn, *pair) for pair in (lacks[::-1], lacks))
        # ``lacks[slot]``: a way of the slot's merge still has something to send after this cycle. If the
        # current merge has nothing left, the other slot is next; if that one is empty too, both are free.
        first = alias("merge_handed_on", self.busy & ~here)
        second = alias("next_is_empty", first & (self._begun == SLOTS) & ~there)
        self._slot = alias("slot_now", self._turn ^ first ^ second)
        self._left = (self._begun - first - second)[:2]
        self.has_room = alias("has_slot", self._left != SLOTS)
        reads = pyrtl.select(self._slot, self._areas[1], self._areas[0])
        self.reads = pyrtl.select(self._left == 0, pyrtl.Const(POINTS, AREA_BITS), reads)

    def _hand(self, streams: Streams, way: int) -> tuple[Signal, Signal]:
        """Offer the next element or stop of a way; return whether it is taken, and whether it is the stop."""
        first, second = (slot[way] for slot in self._ways)
        now = first.or_else(second, self._turn)
        area = pyrtl.select(self._turn, self._areas[1], self._areas[0])
        sink = streams.outputs[f"ways[{way}]"]
        shows = alias(f"shows_{way:02}", self.busy & now["lacks"])
        ends = alias(f"ends_{way:02}", now["place"] == now["last"])
        level = self._level.coordinates[now["place"]], now["source"], self._level.values[now["place"]]
        partial = self._store.element(area[0], now["place"])
        is_level = area == POINTS
        fields = (pyrtl.select(is_level, *pair) for pair in zip(level, partial, strict=True))
        coordinate, reference, value = (unless(ends, field) for field in fields)
        sink.send(shows, {"control": ends, "coordinate": coordinate, "reference": reference, "value": value})
        return shows & sink.ready, ends

    def begin(
        self, begins: Signal, fan_in: Signal, area: Signal, place: Signal, first: Signal, lists: Memory
    ) -> None:
        """Assign a new merge to a free slot if ``begins`` is 1, and advance the ways of all merges.

        Args:
            begins: 1 in the cycles in which a merge starts.
            fan_in: number of ways of the merge.
            area: area of partial fibers that the merge reads, or ``POINTS`` for the level.
            place: number of the first list or partial fiber of the merge in its round.
            first: number of the first list of the task.
            lists: memory with the positions of each list.
        """
        # The slot of the current merge is free if there is none, else the other slot is.
        free = alias("free_slot", self._slot ^ self._left[0])
        is_level = area == POINTS
        self._turn.next <<= self._slot
        self._begun.next <<= (self._left + begins)[:2]
        for slot, held in enumerate(self._areas):
            held.next <<= pyrtl.select(begins & (free == slot), area, held)
        bits, radix = len(first), self._parameters.radix
        # A partial fiber begins where the fiber before it ends, so ``places`` starts one fiber earlier.
        places = [(place + pyrtl.Const(way) - 1)[:bits] for way in range(radix + 1)]
        behind = [self._store.ends[pyrtl.concat(area[0], fiber)] for fiber in places]  # end of each fiber
        for way in range(radix):
            here = (place + pyrtl.Const(way))[: len(place)]
            number = (first + here)[:bits]
            begin, end = _halves(lists[number])
            # the first fiber of a round has no fiber before it
            partial = unless(here == 0, behind[way]), behind[way + 1]
            begin, end = (
                pyrtl.select(is_level, *_alike(pair, self._parameters.place_bits))
                for pair in zip((begin, end), partial, strict=True)
            )
            takes = begins & (fan_in > pyrtl.Const(way))
            hands, ends = self._handed[way]
            for slot in range(SLOTS):
                mine = hands & (self._turn == slot)
                self._ways[slot][way].move(takes & (free == slot), mine, ends, begin, end, number)


def _halves(word: Signal) -> tuple[Signal, Signal]:
    """Return the upper and the lower half of a word."""
    half = len(word) // 2
    return word[half:], word[:half]


def _alike(wires: Sequence[Signal], bits: int) -> list[Signal]:
    """Return the wires, each resized to this width."""
    return [resized(wire, bits) for wire in wires]


class _Way:
    """State of a way of a merge: the list that it sends, from the next position to the end.

    ``lacks`` is 1 until the stop of the list is sent. ``place`` is the position of the next element, ``last``
    the position after the last one, and ``source`` the number of the list.

    Args:
        parameters: parameters of the module.
        name: suffix of the names of the registers.
    """

    def __init__(self, parameters: WaysParameters, name: str) -> None:
        self.lacks: Signal = pyrtl.Register(1, f"lacks_{name}")
        self._fields: dict[str, Signal] = {
            "place": DataRegister(parameters.place_bits, f"place_{name}"),
            "last": DataRegister(parameters.place_bits, f"last_{name}"),
            "source": DataRegister(parameters.reference_bits, f"source_{name}"),
        }

    def or_else(self, other: _Way, chosen: Signal) -> dict[str, Signal]:
        """Return the fields of this way, or those of the other way if ``chosen`` is 1."""
        mine, others = ({"lacks": way.lacks, **way._fields} for way in (self, other))
        return {name: pyrtl.select(chosen, others[name], wire) for name, wire in mine.items()}

    def move(
        self, takes: Signal, hands: Signal, ends: Signal, begin: Signal, end: Signal, number: Signal
    ) -> None:
        """Take a new fiber if ``takes`` is 1, or go to the next element if ``hands`` is 1.

        Args:
            takes: 1 if a merge starts whose fiber this way gets.
            hands: 1 if the way sends an element or a stop in this cycle.
            ends: 1 if the way sends the stop.
            begin, end: position of the first element of the new fiber, and the position after its last one.
            number: number of the list of the new fiber.
        """
        place, last, source = self._fields.values()
        self.lacks.next <<= takes | (self.lacks & ~(hands & ends))
        following = pyrtl.select(hands, (place + 1)[: len(place)], place)
        place.next <<= pyrtl.select(takes, begin, following)
        last.next <<= pyrtl.select(takes, end, last)
        source.next <<= pyrtl.select(takes, resized(number, len(source)), source)
