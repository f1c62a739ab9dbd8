"""Tables of a chunk for machines with units: the chunk's nonzeros, and the settings of its networks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.accelerators.sigma.packing import Part, Slice
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
        before: number of nonzeros in the slices before this one.
        rows, inner, places: row, coordinate of K in the slice, and index of the value of each nonzero.
    """

    before: int
    rows: list[int] = field(default_factory=list)
    inner: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


class Tables(Component):
    """A component that builds a chunk's tables from the scanned bitmaps and sets the distribution networks.

    Interface: ``chunks`` brings chunks. If units scan the bitmaps, ``kept`` brings the words that a ``Regor``
    keeps, and ``counts`` the running counts of the stationary operand's ones from a ``PrefixPopcount``. The
    contents of the Flex-DPEs then follow from these words and counts. If the networks are units, a task and
    the settings for all columns of the chunk leave on ``tasks`` and ``settings``.

    Timing: one row of vectors per cycle. The tables of a chunk are complete in the cycle in which its last
    row is taken.

    Args:
        name: instance name.
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
        self.coming: deque[SliceLookups] = deque()  # slices of which no chunk has been taken yet
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
            _drop(self.counts)
            return True
        if not self.kept[0].can_pop():
            return False
        for first in range(0, len(self.kept), self.plan.words):
            self._take_vector(first)
        _drop(self.kept)
        _drop(self.counts)
        self.rows += 1
        return True

    def _take_vector(self, first: int) -> None:
        """Take a vector: a column may begin a slice; a row adds its remaining nonzeros to the slice."""
        column = self.kept[first].control() == COLUMN
        if column and not self.in_slice:
            self.latest = SliceLookups(self.counts[first].coordinate())
            self.coming.append(self.latest)
        self.in_slice = column
        for word in range(0 if column else self.plan.words):
            self._take_word(word, self.kept[first + word], self.counts[first + word])

    def _take_word(self, word: int, kept: Channel, count: Channel) -> None:
        latest, left, whole = self.latest, kept.coordinate(), count.reference()
        before = count.coordinate() - whole.bit_count() - latest.before
        for bit in range(left.bit_length()):
            if left >> bit & 1:
                latest.rows.append(kept.reference())
                latest.inner.append(word * self.plan.word_bits + bit)
                latest.places.append(before + (whole & (1 << bit) - 1).bit_count())

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
        parts = tuple(map(self._part, chunk.parts))
        self.slices_by_number = {
            part.slice.number: self.slices_by_number[part.slice.number] for part in chunk.parts
        }
        full_chunk = replace(chunk, parts=parts)
        table.shares.update((line, Share(full_chunk, line, self.plan.router)) for line in chunk.lines)

    def _part(self, part: Part) -> Part:
        """Return the part with the slice that the units found in the bitmaps."""
        if part.first == 0:
            self.slices_by_number[part.slice.number] = self.coming.popleft()
        positions = self.slices_by_number[part.slice.number]
        return replace(part, slice=self._slice(part.slice, positions, part.last))

    def _slice(self, slice_: Slice, positions: SliceLookups, last: int) -> Slice:
        values = packed_values(slice_, self.plan)
        if len(positions.rows) < last or not 0 <= min(positions.places) <= max(positions.places) < len(
            values
        ):
            raise SimulationError(
                f"{self.name}: in the bitmaps of slice {slice_.number} were found {len(positions.rows)} "
                f"nonzeros, up to place {max(positions.places, default=0)}; {last} are needed, "
                f"of {len(values)} values"
            )
        rows, inner = np.array(positions.rows), np.array(positions.inner)
        return replace(slice_, rows=rows, inner=inner, values=values[positions.places])

    def _set_networks(self, table: Table) -> None:
        """Send the network settings of a chunk, with tasks that hold for all of its columns."""
        for line in table.chunk.lines:
            dpe = line % len(self.tasks)
            settings = self.plan.share(table, dpe).settings
            self.tasks[dpe].push(0, self.plan.columns)
            for row, bits in enumerate(settings, dpe * len(settings)):
                self.settings[row].push(0, bits)


def _drop(lanes: list[Channel]) -> None:
    for lane in lanes:
        lane.pop()
