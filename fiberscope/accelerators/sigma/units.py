"""A Flex-DPE out of units: what stands between its network and its adders, and behind them.

A ``FlexDpe`` sends the words of a column to a ``BenesNetwork``, whose outputs are the ``Multipliers``'
operands; their products are the leaves of an ``AdderNetwork``, whose sums the ``Collector`` hands on. Units
are linked by channels, each of which is a register; ``CHANNELS`` more than the machine has. The adders
outside have so many cycles less, so that sums come when they do without units.
"""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.sigma.flex_dpe import PartialSums
from fiberscope.accelerators.sigma.plan import Plan
from fiberscope.accelerators.sigma.protocols import SUMS
from fiberscope.hw.stream import DATA, EMPTY, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output

__all__ = ["CHANNELS", "Collector", "Multipliers"]

CHANNELS = 4  # before and behind the distribution network, behind the adders, and behind the collector


class Multipliers(Component):
    """Multipliers of a Flex-DPE, each with its stationary value.

    Interface: a row of words on ``operands``, whose reference says of which pass they are; a row of products
    on ``products``, with the virtual neuron as coordinate, ``EMPTY`` where nothing of the chunk is held.

    Timing: a row a cycle, which leaves in the cycle in which it is seen: the channels are the register.

    Args:
        name: instance name.
        number: the number of the Flex-DPE.
        plan: what is to be done.
    """

    PORTS = (Input("operands", STREAM, array=True), Output("products", STREAM, array=True))
    COUNTERS = ("rows",)

    operands: list[Channel]
    products: list[Channel]

    def __init__(self, name: str, number: int, plan: Plan) -> None:
        super().__init__(name)
        self.number = number
        self.plan = plan
        self.rows = 0

    def tick(self, now: int) -> int:
        """Multiply a row, which is here on all lanes or on none."""
        if not self.operands[0].can_pop():
            return self.idle()
        pass_ = self.plan.passes[self.operands[0].reference()]
        share = self.plan.share(pass_.table, self.number)
        ids, weights = share.ids.tolist(), share.weights.tolist()
        for operand, product, neuron, weight in zip(self.operands, self.products, ids, weights, strict=True):
            if neuron < 0:
                product.push(EMPTY)
            else:
                product.push(DATA, neuron, 0, operand.value() * weight + 0.0)  # of whole numbers none is -0.0
            operand.pop()
        self.rows += 1
        return self.busy(now + 1)


class Collector(Component):
    """Says to which rows of the product the sums of a column belong.

    Interface: a column, announced on ``columns``, and its sums on ``lanes``, of any of them, come in one
    cycle; the sums are left in ``partial``, and the column is announced on ``sums``.

    Timing: a column a cycle.

    Args:
        name: instance name.
        number: the number of the Flex-DPE.
        plan: what is to be done.
        partial: where the sums are left.
    """

    PORTS = (Input("columns", SUMS), Input("lanes", STREAM, array=True), Output("sums", SUMS))
    COUNTERS = ("sums_taken",)

    columns: Channel
    lanes: list[Channel]
    sums: Channel

    def __init__(self, name: str, number: int, plan: Plan, partial: PartialSums) -> None:
        super().__init__(name)
        self.number = number
        self.plan = plan
        self.partial = partial
        self.sums_taken = 0

    def tick(self, now: int) -> int:
        """Take a column."""
        if not (self.columns.can_pop() and self.lanes[0].can_pop()):
            return self.idle()
        number, column = self.columns.coordinate(), self.columns.reference()
        sums_of_lanes = [(lane.coordinate(), lane.value()) for lane in self.lanes if lane.control() == DATA]
        for lane in self.lanes:
            lane.pop()
        self.columns.pop()
        neurons, sums = zip(*sums_of_lanes, strict=True)
        rows = self.plan.share(self.plan.passes[number].table, self.number).rows
        self.partial[number, column] = (rows[np.array(neurons) - 1], np.array(sums))
        self.sums_taken += len(sums_of_lanes)
        self.sums.push(1, number, column)
        return self.busy(now + 1)
