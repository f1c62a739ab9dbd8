"""The rule for stores: one writer a field, and reading behind a token; broken on purpose."""

from array import array
from typing import ClassVar

import pytest
from stores import watched

from fiberscope.sim import ANY, Component, Input, Kernel, Output, SimulationError


class Table:
    """A store of one field."""

    WRITERS: ClassVar[dict[str, str]] = {"lengths": "writer"}

    def __init__(self):
        self.lengths = array("q", bytes(80))


class Writer(Component):
    """Writes an element a cycle and says so."""

    PORTS = (Output("out", ANY),)

    def __init__(self, name, table):
        super().__init__(name)
        self.table, self.next = table, 0

    def tick(self, now):
        if self.next == 10:
            return self.idle()
        self.table.lengths[self.next] = 7 * self.next
        self.channel("out").push(0, 0, self.next, 0.0)
        self.next += 1
        return self.busy(now + 1)


class Reader(Component):
    """Reads what a token names, or ``ahead`` of it."""

    PORTS = (Input("in", ANY),)

    def __init__(self, name, table, ahead):
        super().__init__(name)
        self.table, self.ahead, self.seen = table, ahead, []

    def tick(self, now):
        channel = self.channel("in")
        if not channel.can_pop():
            return self.idle()
        self.seen.append(self.table.lengths[min(9, channel.reference() + self.ahead)])
        channel.pop()
        return self.busy(now + 1)


def run(*, writer="pe0.writer", ahead=0, seed=1):
    kernel, table = Kernel(order_seed=seed), Table()
    kernel.clock("core", 10**9)
    source = kernel.add(Writer(writer, table))
    reader = kernel.add(Reader("reader", table, ahead))
    kernel.connect(source, "out", reader, "in", capacity=4)
    kernel.build()
    with watched(kernel, table):
        kernel.run()
    assert type(table.lengths) is array  # as it was
    return reader.seen


def test_what_is_read_behind_a_token_may_be():
    assert run() == [7 * index for index in range(10)]


def test_planted_a_read_in_the_cycle_of_the_write():
    breaches = []
    for seed in range(20):  # in some orders of ticks the write comes first
        try:
            run(ahead=1, seed=seed)
        except SimulationError as breach:
            breaches.append(str(breach))
    assert set(breaches) == {
        "reader reads Table.lengths[1] in the cycle in which pe0.writer writes it, not behind a token"
    }


def test_planted_a_second_writer():
    with pytest.raises(SimulationError, match=r"pe0\.reader writes Table\.lengths, which only a writer may"):
        run(writer="pe0.reader")
