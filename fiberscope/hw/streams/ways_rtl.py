"""RTL of the block that sends fibers to the ways of a merger, ``fiberscope.hw.streams.ways.FiberWays``."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field, Stream
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, index_bits, resized, unless
from fiberscope.hw.rtl.kit.unit import Each, PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.memory_rtl import LISTS, LOAD, STORED
from fiberscope.hw.streams.merge_tables_rtl import (
    AREA_BITS,
    POINTS,
    WaysParameters,
    lists_written,
    partials_written,
    tables_of,
)
from fiberscope.hw.streams.way_slots_rtl import LevelMemory, MergeSlots, PartialStore, TaskLists
from fiberscope.hw.streams.ways import FiberWays


def port_contents(parameters: WaysParameters) -> PortContents:
    """Return the contents of the streams; ``load`` writes a segment, a coordinate or a value."""
    references = tokens.numbers(parameters.reference_bits)
    address = max(index_bits(parameters.fibers + 1), index_bits(parameters.elements))
    word = max(parameters.elements.bit_length(), parameters.coordinate_bits)
    words: Content = {
        "control": 2,
        "address": Field("coordinate", address, "unsigned"),
        "word": Field("reference", word, "unsigned"),
        "value": parameters.value_field,
    }
    along = {"in_carried": Each(references, parameters.carried)} if parameters.carried else {}
    return {
        "in_crd": tokens.numbers(parameters.coordinate_bits),
        "in_ref": references,
        **along,
        "partials": tokens.signals(),
        LOAD: tokens.source(LOAD, words),
        STORED: tokens.source(STORED, partials_written(parameters)),
        "tasks": {"coordinate": parameters.radix.bit_length()},
        "groups": {"control": tokens.KIND_BITS, "area": Field("coordinate", AREA_BITS, "unsigned")},
        "ways": Each(parameters.element, parameters.radix),
        LISTS: Stream(LISTS, LISTS, "output", lists_written(parameters)),
    }


def design(parameters: WaysParameters, streams: Streams) -> None:
    """Build the logic that receives lists, starts merges and sends elements, all in the same cycle."""
    _Ways(parameters, streams).design()


class _Ways:
    """The control logic of the block: it selects rounds and tasks, and starts merges.

    The registers have the meaning of the attributes of ``FiberWays`` with these names. In addition,
    ``pending`` is 1 while merges of the round have not started, ``merges`` counts the merges of the round
    that have started, and ``behind`` is the number of the first list after the current task. A round or task
    is selected as soon as a slot is free. Its values are used in the same cycle, in which its first merge can
    start.
    """

    def __init__(self, parameters: WaysParameters, streams: Streams) -> None:
        self.parameters, self.streams = parameters, streams
        self.index_bits = index_bits(parameters.lists)
        self.count_bits = self.index_bits + 1
        self.level, self.store = LevelMemory(parameters, streams), PartialStore(parameters, streams)
        self.done: Signal = pyrtl.Register(1, "done")
        self.place: Signal = pyrtl.Register(self.count_bits, "place")
        self.count: Signal = pyrtl.Register(self.count_bits, "count")
        self.pending: Signal = pyrtl.Register(1, "merges_left")
        self.merges: Signal = pyrtl.Register(self.count_bits, "merges_of_round")
        self.whole: Signal = pyrtl.Register(self.count_bits, "whole")
        self.area: Signal = pyrtl.Register(AREA_BITS, "area", reset_value=POINTS)
        self.first: Signal = pyrtl.Register(self.index_bits, "first_list")
        self.behind: Signal = pyrtl.Register(self.index_bits, "behind_task")

    def design(self) -> None:
        """Build the logic of the ways."""
        came = TaskLists(self.parameters, self.streams, self.level, self.done)
        slots = MergeSlots(self.parameters, self.streams, self.level, self.store)
        self._begin(came, slots)

    def _is_long(self, count: Signal) -> Signal:
        """Return whether ``count`` lists need several merges."""
        return count > pyrtl.Const(self.parameters.radix)

    def _begin(self, came: TaskLists, slots: MergeSlots) -> None:
        """Build the logic that selects the next round or task and starts a merge."""
        count_bits, index = self.count_bits, self.index_bits
        long = self._is_long(self.count)
        needs = alias("needs_a_turn", slots.has_room & ~self.pending & ~self.done)
        rounds = alias("next_round", needs & long)
        turns = alias("next_task", needs & ~long & came.waits)
        came.leave(turns)
        other = self._target(self.area, long)
        none = pyrtl.Const(POINTS, AREA_BITS)
        area = pyrtl.select(turns, none, pyrtl.select(rounds, other, self.area))
        count = pyrtl.select(turns, came.next, pyrtl.select(rounds, self.merges, self.count))
        place = pyrtl.select(turns | rounds, pyrtl.Const(0, count_bits), self.place)
        first = pyrtl.select(turns, self.behind, self.first)
        pending = alias("has_merge", self.pending | rounds | turns)
        target = self._target(area, self._is_long(count))
        # A round begins when its fibers are complete, and no merge still reads the area that it writes.
        opens = alias("opens_round", place == 0)
        partial, whole = self.streams.inputs["partials"], self.whole
        partial.accept(pyrtl.Const(1, 1))
        now_whole = (whole + partial.valid)[:count_bits]
        read = slots.reads
        lacks = opens & (((area != POINTS) & (now_whole < count)) | ((read != POINTS) & (read == target)))
        tasks, groups = self.streams.outputs["tasks"], self.streams.outputs["groups"]
        ready = slots.has_room & pending & ~lacks & ~self.done
        # The tokens to the merger and to the block after it leave in the same cycle, or neither leaves.
        begins = alias("begins", ready & tasks.ready & groups.ready)
        left = (count - place)[:count_bits]
        fan_in = pyrtl.select(self._is_long(left), pyrtl.Const(self.parameters.radix), left)
        fan_in = resized(fan_in, self.parameters.radix.bit_length())
        tasks.send(ready & groups.ready, {"coordinate": fan_in})
        over = alias("over", ~self.done & came.all & ~slots.busy & ~pending & ~partial.valid)
        # Both bits of the kind are equal: ``DONE`` is 3, ``DATA`` is 0.
        groups.send(
            (ready & tasks.ready) | over, {"control": pyrtl.concat(over, over), "area": unless(over, target)}
        )
        clears = alias("clears", begins & opens & (target != POINTS))
        self.store.clear(clears, target[0])
        slots.begin(begins, fan_in, area, place, first, came.ends)
        self.done.next <<= self.done | (over & groups.ready)
        following = (place + fan_in)[:count_bits]
        self.place.next <<= pyrtl.select(begins, following, place)
        self.pending.next <<= pyrtl.select(begins, following < count, pending)
        # Each merge of a round gives one partial fiber, so that the next round has as many fibers.
        self.merges.next <<= pyrtl.select(begins, (unless(opens, self.merges) + 1)[:count_bits], self.merges)
        self.whole.next <<= pyrtl.select(clears, pyrtl.Const(0, count_bits), now_whole)
        self.area.next <<= area
        self.count.next <<= count
        self.first.next <<= first
        self.behind.next <<= pyrtl.select(turns, (self.behind + count)[:index], self.behind)

    def _target(self, area: Signal, long: Signal) -> Signal:
        """Return the destination of the fibers of a round.

        Args:
            area: area that the round reads, or ``POINTS``.
            long: 1 if the round has several merges, so that another round follows.
        """
        # Only area 0 (both bits 0) is followed by area 1. ``POINTS`` has the upper bit, area 1 the lower one.
        other = pyrtl.concat(pyrtl.Const(0, 1), ~area[0] & ~area[1])
        return pyrtl.select(long, other, pyrtl.Const(POINTS, AREA_BITS))


def _of_ways(ways: FiberWays) -> dict[str, object]:
    if ways.memories:
        raise ValueError("no hardware here fetches what a merger reads; set timing.memory=ideal")
    return {
        "radix": ways.radix,
        "fibers": max(1, len(ways.segments) - 1),
        "elements": max(1, len(ways.coordinates)),
        "waiting": ways.waiting,
        **tables_of(ways.table),
    }


# The block shares state with the block after the merger, and cannot run without it.
BLOCK = unit(
    "fiber_ways",
    FiberWays,
    WaysParameters,
    port_contents,
    design,
    alone=False,
    instance=_of_ways,
    listed=False,
)
