"""Units of a Flex-DPE that connect its distribution network and its adder network.

A ``FlexDpe`` sends the words of a column to a ``BenesNetwork``. The outputs of the network are the operands
of the ``Multipliers``, and the products are the leaves of an ``AdderNetwork``. The ``Collector`` sends the
sums on. Each channel between units is a register, and there are ``CHANNELS`` more of them than the machine
has without units. The adders outside of the Flex-DPE therefore take ``CHANNELS`` cycles less, so that sums
arrive in the same cycle as without units.
"""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.sigma.flex_dpe import PartialSums
from fiberscope.accelerators.sigma.plan import Plan
from fiberscope.accelerators.sigma.protocols import SUMS
from fiberscope.hw.stream import DATA, EMPTY, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output

CHANNELS = 4  # before and after the distribution network, after the adders, and after the collector


class Multipliers(Component):
    """Multipliers of a Flex-DPE, each with its stationary value.

    Interface: ``operands`` brings a row of words, whose reference is the number of the pass. A row of
    products leaves on ``products``; the coordinate of a product is its virtual neuron. A multiplier that
    holds no nonzero of the chunk sends ``EMPTY``.

    Timing: one row per cycle. A row leaves in the cycle in which it arrives; the output channels are the
    pipeline register.

    Args:
        number: number of the Flex-DPE.
        plan: the passes of the run.
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
        """Multiply a row of words; either all lanes have a word or none has."""
        if not self.operands[0].can_pop():
            return self.idle()
        pass_ = self.plan.passes[self.operands[0].reference()]
        share = self.plan.share(pass_.table, self.number)
        ids, weights = share.neuron_ids.tolist(), share.weights.tolist()
        for operand, product, neuron, weight in zip(self.operands, self.products, ids, weights, strict=True):
            if neuron < 0:
                product.push(EMPTY)
            else:
                product.push(DATA, neuron, 0, operand.value() * weight + 0.0)  # + 0.0 turns -0.0 into 0.0
            operand.pop()
        self.rows += 1
        return self.busy(now + 1)


class Collector(Component):
    """A collector that assigns the sums of a column to rows of the product.

    Interface: ``columns`` brings a column, and ``lanes`` its sums in the same cycle, on any of the lanes. The
    sums are stored in ``partial``, and the column is sent on to ``sums``.

    Timing: one column per cycle.

    Args:
        number: number of the Flex-DPE.
        plan: the passes of the run.
        partial: mapping from pass and column to rows and sums; the sums of each column are stored in it.
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
        """Take a column and its sums."""
        if not (self.columns.can_pop() and self.lanes[0].can_pop()):
            return self.idle()
        number, column = self.columns.coordinate(), self.columns.reference()
        sums_of_lanes = [(lane.coordinate(), lane.value()) for lane in self.lanes if lane.control() == DATA]
        for lane in self.lanes:
            lane.pop()
        self.columns.pop()
        neurons, sums = zip(*sums_of_lanes, strict=True)
        # Virtual neurons are numbered from 1
        rows = self.plan.share(self.plan.passes[number].table, self.number).rows
        self.partial[number, column] = (rows[np.array(neurons) - 1], np.array(sums))
        self.sums_taken += len(sums_of_lanes)
        self.sums.push(1, number, column)
        return self.busy(now + 1)
