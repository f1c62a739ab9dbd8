"""A deadlock of a chain that runs ahead of the clock is reported as that of its blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.pairs_lookahead import PairsLookahead
from fiberscope.hw.streams.testing import TimedSource
from fiberscope.hw.streams.tokens import REF
from fiberscope.sim import ANY, Component, DeadlockError, Input, Kernel
from fiberscope.sim.lookahead import LookaheadKernel


class Taker(Component):
    """Takes some tokens, and no more."""

    PORTS = (Input("in", ANY),)

    def __init__(self, name, count):
        super().__init__(name)
        self.count = count

    def tick(self, now):
        if self.count == 0 or not self.channel("in").can_pop():
            return self.idle()
        self.channel("in").pop()
        self.count -= 1
        return self.busy(now + 1)


def report(kernel, elements, capacity, taken):
    """The report of a machine that multiplies the elements of two equal fibers."""
    kernel.clock("core", 10**9)
    lists, fibers = Level([0, 1], [0]), Level([0, elements], range(elements))
    pairs = kernel.add(FiberPairs("pairs", lists, fibers, lists, fibers))
    loads = [kernel.add(ArrayLoad(f"load{side}", range(1, elements + 1))) for side in (0, 1)]
    alu, taker = kernel.add(Alu("alu", "mul")), kernel.add(Taker("taker", taken))
    for side, load in enumerate(loads):
        source = kernel.add(TimedSource(f"source{side}", REF, enumerate([0, "S0", "D"])))
        kernel.connect(source, "out", pairs, f"in_ref{side}", capacity=capacity)
        kernel.connect(pairs, f"out_ref{side}[0]", load, "in_ref", capacity=capacity)
        kernel.connect(load, "out_val[0]", alu, f"in_val[{side}]", capacity=capacity)
    kernel.connect(alu, "out_val[0]", taker, "in", capacity=capacity)
    if isinstance(kernel, LookaheadKernel):
        blocks = [pairs, *loads, alu]
        links = [
            link
            for link in kernel.wiring.connections
            if link.producer.component in blocks or link.consumer.component in blocks
        ]
        kernel.add_lookahead(PairsLookahead(blocks, links))
    with pytest.raises(DeadlockError) as caught:
        kernel.run()
    with pytest.raises(DeadlockError) as again:
        kernel.run()
    assert caught.value.blocked == again.value.blocked
    return str(caught.value)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 30))
def test_the_report_is_that_of_the_blocks(elements, capacity, taken):
    taken = min(taken, elements - 1)
    reports = [report(kernel(), elements, capacity, taken) for kernel in (Kernel, LookaheadKernel)]
    assert reports[0] == reports[1]
