"""A buffet among those that use it: one that fills, one that asks, one that takes values and updates them."""

from __future__ import annotations

from dataclasses import dataclass

from hw.buffet_protocol import READ_TO_UPDATE, SHRINK
from sim import ANY, Component, Input, Kernel, Output
from sim.testing import GIGAHERTZ, StreamSource, check_accounting, head, random_stalls


def entry(number):
    """What fill number so-and-so brings: every field tells it apart."""
    return (number % 2, 100 + number, 1000 + number, number + 0.5)


def updated(reference, value):
    """What the bench's user makes of a value."""
    return reference + 10_000, 2 * value


def modelled(capacity, reads, fills):
    """The tokens on ``values`` and on ``credits`` that reads of a buffet give, and what is left in it.

    A plain list, which knows nothing of time.
    """
    entries = [entry(number) for number in range(fills)]
    values = []
    for operation, index, freed, _value in reads:
        if operation != SHRINK:
            values.append(entries[index])
        if operation == READ_TO_UPDATE:
            control, coordinate, reference, value = entries[index]
            entries[index] = (control, coordinate, *updated(reference, value))
        entries = entries[freed:]
    return values, capacity + sum(read[2] for read in reads), len(entries)


class Filler(Component):
    """Fills an entry a cycle for each credit it has."""

    PORTS = (Input("credits", ANY), Output("fills", ANY))

    def __init__(self, name, count):
        super().__init__(name)
        self.count, self.sent, self.credit, self.granted = count, 0, 0, 0

    def elaborate(self):
        self.credits, self.fills = self.channel("credits"), self.channel("fills")

    def tick(self, now):
        progress = self.credits.can_pop()
        if progress:
            self.credit += self.credits.coordinate()
            self.granted += self.credits.coordinate()
            self.credits.pop()
        if self.sent < self.count and self.credit > 0 and self.fills.can_push():
            self.fills.push(*entry(self.sent))
            self.sent, self.credit = self.sent + 1, self.credit - 1
            progress = True
        return self.busy(now + 1) if progress else self.idle()


class User(Component):
    """Takes a value a cycle, and after a pause sends the update that its read announced."""

    PORTS = (Input("values", ANY), Output("updates", ANY))

    def __init__(self, name, reads, stalls=()):
        super().__init__(name)
        self.reads = [read for read in reads if read[0] != SHRINK]
        self.stalls = stalls or (0,)
        self.received = []
        self.waiting = []  # updates, and the cycle from which each may go

    def elaborate(self):
        self.values, self.updates = self.channel("values"), self.channel("updates")

    def tick(self, now):
        progress = False
        if self.values.can_pop():
            operation, index, *_ = self.reads[len(self.received)]
            if operation == READ_TO_UPDATE:
                pause = self.stalls[len(self.received) % len(self.stalls)]
                token = (0, index, *updated(self.values.reference(), self.values.value()))
                self.waiting.append((now + pause, token))
            self.received.append((now, head(self.values)))
            self.values.pop()
            progress = True
        if self.waiting and self.waiting[0][0] <= now and self.updates.can_push():
            self.updates.push(*self.waiting.pop(0)[1])
            progress = True
        return self.busy(now + 1) if progress or self.waiting else self.idle()


@dataclass(frozen=True)
class BuffetOutcome:
    """What a run left: (cycle, value), credits granted, entries left, statistics."""

    cycles: int
    received: list
    granted: int
    filled: int
    statistics: dict

    def tokens(self):
        return [token for _cycle, token in self.received]


def run_buffet(make, reads, fills, *, credit=True, seed=None, capacity=2, latency=1, **options):
    """Run a buffet with everything around it.

    Args:
        make: makes the buffet.
        reads: tokens for ``reads``.
        fills: how many entries are filled.
        credit: whether it gives credits; else a plain source fills.
        seed: of the random stalls.
        capacity, latency: of every channel.
        options: of the kernel.
    """

    def stalls(number):
        return () if seed is None else random_stalls(1000 * seed + number)

    kernel = Kernel(**options)
    kernel.clock("core", GIGAHERTZ)
    size = {"capacity": capacity, "latency": latency}
    buffet = kernel.add(make())
    asker = kernel.add(StreamSource("asker", reads, stalls(0)))
    user = kernel.add(User("user", reads, stalls(1)))
    if credit:
        filler = kernel.add(Filler("filler", fills))
        kernel.connect(filler, "fills", buffet, "fills", **size)
        kernel.connect(buffet, "credits", filler, "credits", **size)
    else:
        source = kernel.add(StreamSource("filler", map(entry, range(fills)), stalls(2)))
        kernel.connect(source, "out", buffet, "fills", **size)
    kernel.connect(asker, "out", buffet, "reads", **size)
    kernel.connect(buffet, "values", user, "values", **size)
    kernel.connect(user, "updates", buffet, "updates", **size)
    run = kernel.run(cycle_limit=100_000)
    assert run.complete
    statistics = kernel.statistics()
    check_accounting(statistics)
    granted = filler.granted if credit else 0
    return BuffetOutcome(run.cycles, user.received, granted, buffet.filled, statistics)
