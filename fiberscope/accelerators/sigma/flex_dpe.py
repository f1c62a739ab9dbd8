"""A Flex-DPE: stationary values, the network that brings each its streamed one, multipliers, and adders."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.plan import Pass, Plan, Table
from fiberscope.accelerators.sigma.protocols import COLUMNS, LINE, SUMS
from fiberscope.hw.stream import DATA, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

__all__ = ["FlexDpe"]

# Of columns that come one by one, by pass and column: rows of the product, and the sum for each.
PartialSums: TypeAlias = (
    "dict[tuple[int, int], tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.floating[Any]]]]"
)


class FlexDpe(Component):
    """Multiplies what it holds of a chunk with each column and sums the virtual neurons, a column a cycle.

    Interface: stationary lines come in on ``lines``, columns on ``columns``; for each the sums leave on
    ``sums``. A token may stand for several columns of the pass, which then come every ``interval`` cycles of
    its table. Where the Flex-DPE is made of units, see ``fiberscope.accelerators.sigma.units``, it sends
    the words of each column on ``words``, a row a column with the pass as reference, and these do the rest.

    Timing: nothing waits within it, so that the sums of a column leave so many cycles after it came as the
    channel at ``sums`` has latency: network, multipliers, adders, and those outside.

    Args:
        name: instance name.
        number: the number of this Flex-DPE.
        plan: what is to be done.
        partial: where the sums of columns that come one by one are left, by column.
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
        self.waiting = False  # for columns of what is loaded
        self.busy_until = 0
        self.between_until = 0  # while columns of one token are still to come
        self.occupied = self.neurons = self.column = 0
        self.multiply = self.add = self.loaded = self.settings = 0

    def tick(self, now: int) -> int:
        """Take a line, and a column or several."""
        if self.lines.can_pop():
            self.lines.pop()
            self.loaded += 1
            self.waiting = True
            self.busy_until = max(self.busy_until, now + 1)
        if self.columns.can_pop():
            self._take(now, self.plan.passes[self.columns.coordinate()])
        if now < self.busy_until:
            return self.busy(self.busy_until)
        if now < self.between_until:
            self.wait_input(self.columns)
            return self.between_until
        return self.wait_input(self.columns) if self.waiting else self.idle()

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
        self.waiting = not (pass_.ends and first + columns == pass_.last)
        self.busy_until = now + columns
        self.between_until = now + (columns - 1) * pass_.table.interval + 1

    def _begin(self, table: Table) -> None:
        """Another chunk: which multipliers hold it."""
        chunk = table.chunk
        place = (self.number - chunk.lines.start) % self.plan.parameters.dpe.count
        self.table = table
        self.occupied, self.neurons = chunk.occupied[place], chunk.neurons[place]
        self.settings += chunk.settings[place]

    def _compute(self, pass_: Pass, column: int) -> None:
        """Multiply and sum one column; the network is set when the first of the chunk comes."""
        share = self.plan.share(pass_.table, self.number)
        sums = share.sums(column, column + 1, self.plan.kind, self.plan.value_type)
        self.partial[pass_.number, column] = (share.rows, sums[0])

    def _send(self, pass_: Pass, column: int) -> None:
        """Put the words of one column on the network's inputs, zeros behind them."""
        words = self.plan.share(pass_.table, self.number).words(column)
        words += [0.0] * (len(self.words) - len(words))
        for lane, word in zip(self.words, words, strict=True):
            lane.push(DATA, column, pass_.number, word)
