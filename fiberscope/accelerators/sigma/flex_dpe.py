"""A Flex-DPE: multipliers with stationary values, their distribution network and their adder network."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.plan import Pass, Plan, Table
from fiberscope.accelerators.sigma.protocols import COLUMNS, LINE, SUMS
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

# By number of pass and column: rows of the product, and the sum for each row. Only for single-column tokens.
PartialSums: TypeAlias = (
    "dict[tuple[int, int], tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.floating[Any]]]]"
)


class FlexDpe(Component):
    """A Flex-DPE that multiplies its stationary values by one column per cycle and sums each virtual neuron.

    Interface: ``lines`` brings stationary lines and ``columns`` brings columns; the sums of each column leave
    on ``sums``. A token may stand for several columns of the pass; one of them then arrives every
    ``interval`` cycles of the table. If the Flex-DPE consists of units (see
    ``fiberscope.accelerators.sigma.units``), this component only sends the words of each column on ``words``,
    with the pass as reference, and the units compute the sums.

    Timing: a Flex-DPE never stalls. The latency from a column to its sums is the latency of the channel at
    ``sums``: distribution network, multipliers, adders, and the adders outside of the Flex-DPE.

    Args:
        number: number of this Flex-DPE, from 0.
        plan: the passes of the run.
        partial: mapping to which the sums of single-column tokens are added.
    """

    PORTS = (
        Input("lines", LINE),
        Input("columns", COLUMNS),
        Output("sums", SUMS),
        Output("words", STREAM, array=True, optional=True),
    )
    COUNTERS = ("multiply", "add", "loaded", "settings")
    SIGNALS = (
        Signal("multiply", 48),
        Signal("add", 48),
        Signal("loaded", 32),
        Signal("occupied", 16),
        Signal("neurons", 16),
        Signal("column", 32),
    )

    lines: Channel
    columns: Channel
    sums: Channel
    words: list[Channel]

    def __init__(self, name: str, number: int, plan: Plan, partial: PartialSums) -> None:
        super().__init__(name)
        self.number = number
        self.plan = plan
        self.partial = partial
        self.table: Table | None = None
        self.expects_columns = False  # whether columns for the loaded values are still to arrive
        self.busy_until = 0
        self.arriving_until = 0  # cycle after the arrival of the last column of the latest token
        self.occupied = self.neurons = self.column = 0
        self.multiply = self.add = self.loaded = self.settings = 0

    def tick(self, now: int) -> int:
        """Take a stationary line, and a token of one or several columns."""
        if self.lines.can_pop():
            self.lines.pop()
            self.loaded += 1
            self.expects_columns = True
            self.busy_until = max(self.busy_until, now + 1)
        if self.columns.can_pop():
            self._take(now, self.plan.passes[self.columns.coordinate()])
        if now < self.busy_until:
            return self.busy(self.busy_until)
        if now < self.arriving_until:
            self.wait_input(self.columns)
            return self.arriving_until
        return self.wait_input(self.columns) if self.expects_columns else self.idle()

    def _take(self, now: int, pass_: Pass) -> None:
        columns, first = self.columns.control(), self.columns.reference()
        self.columns.pop()
        if pass_.table is not self.table:
            self._begin(pass_.table)
        self.multiply += columns * self.occupied
        self.add += columns * (self.occupied - self.neurons)
        self.column = first + columns - 1
        if self.words:
            self._send(pass_, first)
        elif columns == 1:
            self._compute(pass_, first)
        self.sums.push(columns, pass_.number, first)
        self.expects_columns = not (pass_.is_chunk_end and first + columns == pass_.end)
        self.busy_until = now + columns
        self.arriving_until = now + (columns - 1) * pass_.table.interval + 1

    def _begin(self, table: Table) -> None:
        """Begin another chunk: look up how many multipliers and virtual neurons this Flex-DPE has of it."""
        chunk = table.chunk
        index = (self.number - chunk.lines.start) % self.plan.parameters.dpe.count
        self.table = table
        self.occupied, self.neurons = chunk.multiplier_counts[index], chunk.neuron_counts[index]
        self.settings += chunk.setting_counts[index]

    def _compute(self, pass_: Pass, column: int) -> None:
        """Multiply and sum one column, and store its sums in ``partial``."""
        share = self.plan.share(pass_.table, self.number)
        sums = share.sums(column, column + 1, self.plan.kind, self.plan.value_type)
        self.partial[pass_.number, column] = (share.rows, sums[0])

    def _send(self, pass_: Pass, column: int) -> None:
        """Push the words of one column into the inputs of the network; unused inputs get zeros."""
        words = self.plan.share(pass_.table, self.number).words(column)
        words += [0.0] * (len(self.words) - len(words))
        for lane, word in zip(self.words, words, strict=True):
            lane.push(DATA, column, pass_.number, word)
