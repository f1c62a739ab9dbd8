"""Tables of a chunk for machines with units: the chunk's nonzeros, and the settings of its networks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.accelerators.sigma.packing import Segment, Slice
from fiberscope.accelerators.sigma.plan import Plan, Table
from fiberscope.accelerators.sigma.protocols import CHUNK
from fiberscope.accelerators.sigma.share import Share
from fiberscope.accelerators.sigma.vectors import packed_values
from fiberscope.hw.networks.benes import ROUTE_TASK, SETTING
from fiberscope.hw.stream import BITMAP, COLUMN, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output
from fiberscope.sim.errors import SimulationError


@dataclass
class SliceLookups:
    """The nonzeros that the units found in the bitmaps of a slice.

    Attributes:
        preceding: number of nonzeros in the slices before this one.
        rows, inner, value_indices: row, coordinate of K in the slice, and index of the value of each nonzero.
    """

    preceding: int
    rows: list[int] = field(default_factory=list)
    inner: list[int] = field(default_factory=list)
    value_indices: list[int] = field(default_factory=list)


class Tables(Component):
    """A component that builds a chunk's tables from the scanned bitmaps and sets the distribution networks.

    Interface: ``chunks`` brings chunks. If units scan the bitmaps, ``kept`` brings the words that a ``Regor``
    keeps, and ``counts`` the running counts of the stationary operand's ones from a ``PrefixPopcount``. The
    contents of the Flex-DPEs then follow from these words and counts. If the networks are units, a task and
    the settings for all columns of the chunk leave on ``tasks`` and ``settings``.

    Timing: one row of vectors per cycle. The tables of a chunk are complete in the cycle in which its last
    row is taken.

    Args:
        plan: the passes of the run.

    Raises:
        SimulationError: during the run, if a chunk arrives before its bitmaps, or does not match the nonzeros
            that were found in them.
    """

    PORTS = (
        Input("chunks", CHUNK),
        Input("kept", BITMAP, array=True, optional=True),
        Input("counts", STREAM, array=True, optional=True),
        Output("tasks", ROUTE_TASK, array=True, optional=True),
        Output("settings", SETTING, array=True, optional=True),
    )
    COUNTERS = ("rows",)

    chunks: Channel
    kept: list[Channel]
    counts: list[Channel]
    tasks: list[Channel]
    settings: list[Channel]

    def __init__(self, name: str, plan: Plan) -> None:
        super().__init__(name)
        self.plan = plan
        self.rows = 0
        self.in_slice = False  # whether the latest vector was a column of a slice
        self.latest = SliceLookups(0)
        self.unused_slices: deque[SliceLookups] = deque()  # slices of which no chunk has been taken yet
        self.slices_by_number: dict[int, SliceLookups] = {}  # slices of the previous chunk, by number

    def tick(self, now: int) -> int:
        """Take a row of vectors, and a chunk whose last row has been taken."""
        progress = bool(self.counts) and self._take_row()
        if self.chunks.can_pop():
            self._take_chunk()
            progress = True
        return self.busy(now + 1) if progress else self.idle()

    def _take_row(self) -> bool:
        if not self.counts[0].can_pop():
            return False
        if self.counts[0].control() == STOP:
            _pop_all(self.counts)
            return True
        if not self.kept[0].can_pop():
            return False
        for first in range(0, len(self.kept), self.plan.words):
            self._take_vector(first)
        _pop_all(self.kept)
        _pop_all(self.counts)
        self.rows += 1
        return True

    def _take_vector(self, first: int) -> None:
        """Take a vector: a column may begin a slice; a row adds its remaining nonzeros to the slice."""
        column = self.kept[first].control() == COLUMN
        if column and not self.in_slice:
            self.latest = SliceLookups(self.counts[first].coordinate())
            self.unused_slices.append(self.latest)
        self.in_slice = column
        for word in range(0 if column else self.plan.words):
            self._take_word(word, self.kept[first + word], self.counts[first + word])

    def _take_word(self, word: int, kept: Channel, count: Channel) -> None:
        latest, filtered, unfiltered = self.latest, kept.coordinate(), count.reference()
        preceding = count.coordinate() - unfiltered.bit_count() - latest.preceding  # nonzeros of the slice
        for bit in range(filtered.bit_length()):
            if filtered >> bit & 1:
                latest.rows.append(kept.reference())
                latest.inner.append(word * self.plan.word_bits + bit)
                latest.value_indices.append(preceding + (unfiltered & (1 << bit) - 1).bit_count())

    def _take_chunk(self) -> None:
        table = self.plan.passes[self.chunks.coordinate()].table
        if self.counts:
            self._make_tables(table, self.chunks.reference())
        if self.tasks:
            self._set_networks(table)
        self.chunks.pop()

    def _make_tables(self, table: Table, rows: int) -> None:
        """Compute the contents of the Flex-DPEs for a chunk; ``rows`` vectors should have arrived."""
        if rows != self.rows:
            raise SimulationError(f"{self.name}: a chunk needs {rows} rows of vectors, and {self.rows} came")
        chunk = table.chunk
        segments = tuple(map(self._segment, chunk.segments))
        self.slices_by_number = {
            segment.slice.number: self.slices_by_number[segment.slice.number] for segment in chunk.segments
        }
        full_chunk = replace(chunk, segments=segments)
        table.shares.update((line, Share(full_chunk, line, self.plan.router)) for line in chunk.lines)

    def _segment(self, segment: Segment) -> Segment:
        """Return the segment with the slice that the units found in the bitmaps."""
        if segment.first == 0:
            self.slices_by_number[segment.slice.number] = self.unused_slices.popleft()
        lookups = self.slices_by_number[segment.slice.number]
        return replace(segment, slice=self._slice(segment.slice, lookups, segment.end))

    def _slice(self, slice_: Slice, lookups: SliceLookups, needed: int) -> Slice:
        values = packed_values(slice_, self.plan)
        indices = lookups.value_indices
        if len(indices) < needed or not 0 <= min(indices) <= max(indices) < len(values):
            raise SimulationError(
                f"{self.name}: in the bitmaps of slice {slice_.number} were found {len(indices)} "
                f"nonzeros, up to place {max(indices, default=0)}; {needed} are needed, "
                f"of {len(values)} values"
            )
        rows, inner = np.array(lookups.rows), np.array(lookups.inner)
        return replace(slice_, rows=rows, inner=inner, values=values[indices])

    def _set_networks(self, table: Table) -> None:
        """Send the network settings of a chunk, with tasks that hold for all of its columns."""
        for line in table.chunk.lines:
            dpe = line % len(self.tasks)
            settings = self.plan.share(table, dpe).settings
            self.tasks[dpe].push(0, self.plan.columns)
            for row, bits in enumerate(settings, dpe * len(settings)):
                self.settings[row].push(0, bits)


def _pop_all(lanes: list[Channel]) -> None:
    for lane in lanes:
        lane.pop()
