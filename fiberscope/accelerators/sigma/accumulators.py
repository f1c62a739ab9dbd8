"""Output side of SIGMA: adders outside of the Flex-DPEs, and accumulators beside the data SRAM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.flex_dpe import PartialSums
from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.accelerators.sigma.protocols import SUMS
from fiberscope.accelerators.sigma.share import Share
from fiberscope.hw.fibers.arrays import arithmetic
from fiberscope.hw.fibers.memory_stream import JOB
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.workloads.dense_product import accumulate
from fiberscope.workloads.sparse import sparse


class Accumulators(Component):
    """Accumulators that add the sums of each column to the product, and request the writes of each pass.

    A finished pass is removed from the plan.

    Interface: all Flex-DPEs that hold a part of the chunk push the sums of a column into ``sums`` in the same
    cycle. After the last column of a pass, the number of bytes to write is pushed into ``written_jobs``, if
    the machine has a memory. These bytes are finished elements, and partial sums that do not stay on chip.

    Timing: a column takes the ``serve_cycles`` of its table; the distributor sends columns no faster.

    Args:
        plan: the passes of the run.
        product: array (rows x columns) to which the sums are added.
        partial: for each Flex-DPE, the sums of columns whose token stands for a single column.
    """

    PORTS = (Input("sums", SUMS, array=True), Output("written_jobs", JOB, optional=True))
    COUNTERS = ("columns", "sums_taken", "add_outside", "accumulate", "useful_multiply", "slices")
    SIGNALS = (Signal("columns", 48), Signal("sums_taken", 48), Signal("column", 32), Signal("slices", 32))

    sums: list[Channel]
    written_jobs: Channel | None

    def __init__(
        self, name: str, plan: Plan, product: npt.NDArray[np.floating[Any]], partial: Sequence[PartialSums]
    ) -> None:
        super().__init__(name)
        self.plan = plan
        self.product = product
        self.partial = partial
        self.number = 0  # number of the pass whose sums arrive next
        # Pass whose last token has arrived, until the last column of that token arrives
        self.ending_pass: Pass | None = None
        self.first = 0  # first column of the latest token
        self.column = 0
        self.busy_until = 0
        self.last_at = 0  # cycle in which the last column of the latest token arrives
        self.taken_at = 0  # cycle in which the sums of that last column have been taken
        self.expecting = False
        self.columns = self.sums_taken = self.add_outside = self.accumulate = 0
        self.useful_multiply = 0
        self.slices = plan.slices if plan.finished else 0  # number of finished slices of K

    def tick(self, now: int) -> int:
        """Take the sums of one token, which stands for one or several columns; end a finished pass."""
        pass_ = self.plan.passes.get(self.number)
        if pass_ is not None and self.sums[pass_.table.chunk.lines.start % len(self.sums)].can_pop():
            self._take(now, pass_)
        if self.ending_pass is not None and now >= self.last_at:
            self._end(self.ending_pass)
        next_event = self.last_at if now < self.last_at else self.taken_at
        if now < self.busy_until:
            return self.busy(min(next_event, self.busy_until))
        if now < self.taken_at:
            self.wait_any_input(self.sums)
            return next_event
        return self.wait_any_input(self.sums) if self.expecting else self.idle()

    def _take(self, now: int, pass_: Pass) -> None:
        """Pop the token of a pass from all its Flex-DPEs.

        The sums of a single column are added at once; the sums of several columns at the end of the pass.
        """
        table, lines = pass_.table, pass_.table.chunk.lines
        channel = self.sums[lines.start % len(self.sums)]
        columns, first = channel.control(), channel.reference()
        for line in lines:
            self.sums[line % len(self.sums)].pop()
        self._count(pass_, columns)
        if columns == 1:
            self._gather(pass_, first)
        self.first, self.column = first, first + columns - 1
        self.expecting = not (pass_.is_final and first + columns == pass_.end)
        self.busy_until = now + columns * table.serve_cycles
        self.last_at = now + (columns - 1) * table.interval
        self.taken_at = self.last_at + table.serve_cycles
        if first + columns == pass_.end:
            self.ending_pass = pass_
            self.number += 1

    def _count(self, pass_: Pass, columns: int) -> None:
        table = pass_.table
        self.columns += columns
        self.sums_taken += columns * table.chunk.sum_count
        self.add_outside += columns * (sum(table.chunk.neuron_counts) - table.chunk.sum_count)
        self.accumulate += columns * (table.chunk.sum_count - table.first_sums)

    def _gather(self, pass_: Pass, column: int) -> None:
        """Add the sums that the Flex-DPEs computed for one column to the product."""
        for line in pass_.table.chunk.lines:
            rows, sums = self.partial[line % len(self.partial)].pop((pass_.number, column))
            self._add_at(self.product[:, column], rows, sums)

    def _add_at(
        self, target: npt.NDArray[Any], rows: npt.NDArray[np.integer[Any]], sums: npt.NDArray[Any]
    ) -> None:
        """Add sums to rows of an array; a row may occur more than once.

        If the value type rounds each addition, the sums are added one after the other.
        """
        if not self.plan.value_type.floats:
            np.add.at(target, rows, sums)
            return
        _multiply, add = arithmetic(self.plan.value_type)
        for row, total in zip(rows, sums, strict=True):
            target[row] = add(target[row], total)

    def _end(self, pass_: Pass) -> None:
        """End a pass after its last column: add its sums, request its writes and drop it from the plan."""
        if self.first + 1 < pass_.end:
            self._add_up(pass_)
        if self.written_jobs is not None:
            self.written_jobs.push(0, pass_.written)
        if pass_.is_chunk_end:
            self.useful_multiply += pass_.table.useful_products
            segment = pass_.table.chunk.segments[-1]
            self.slices = self.plan.slices if pass_.is_final else segment.slice.number + segment.is_slice_end
        self.ending_pass = None
        del self.plan.passes[pass_.number]

    def _add_up(self, pass_: Pass) -> None:
        """Compute and add the sums of all columns of a token.

        The sums are added in the order of the Flex-DPEs, or in any order if all sums are exact.
        """
        chunk, product = pass_.table.chunk, self.product[:, self.first : pass_.end]
        if not self.plan.exact:
            for share in (Share(chunk, line) for line in chunk.lines):
                sums = share.sums(self.first, pass_.end, self.plan.kind, self.plan.value_type)
                self._add_at(product, share.rows, sums.T)
            return
        for segment in chunk.segments:
            rows = segment.rows
            low, high = int(rows[0]), int(rows[-1]) + 1
            starts = np.searchsorted(rows, np.arange(low, high + 1))
            left = sparse.csr_array(
                (segment.values.astype(self.plan.kind), segment.inner, starts),
                shape=(high - low, segment.slice.width),
            )
            accumulate(product[low:high], left, segment.slice.dense[:, self.first : pass_.end])
