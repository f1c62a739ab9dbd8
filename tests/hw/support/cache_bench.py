"""A FiberCache bank between a source of requests, a sink of replies and a memory of random latency."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from streams import StreamSink, StreamSource

from hw.cache import FiberCacheBank
from hw.memory import PORT_SHIFT, READ, REPLY, REQUEST
from sim import Component, ComponentStatistics, Input, Kernel, Output, Run

LINE = 64
REQUESTER = 5 << PORT_SHIFT  # port bits of the requester's tags, which the bank must bring back
MEMORY_PORT = 3  # port of the bank at the memory's network


class MemoryStub(Component):
    """Takes a request a cycle and answers each read after a latency of its own, so perhaps out of order.

    Args:
        name: instance name.
        latencies: cycles from taking a read to its answer, by turns.
        pauses: cycles in which nothing is taken after a request, by turns.

    ``log`` is the list of (cycle, operation, line, tag), as taken.
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    def __init__(self, name: str, latencies: Sequence[int], pauses: Sequence[int] = (0,)) -> None:
        super().__init__(name)
        self.latencies = latencies
        self.pauses = pauses
        self.log: list[tuple[int, int, int, int]] = []
        self.under_way: list[tuple[int, int, int, int]] = []  # ready, number, tag, address
        self.ready = 0

    def elaborate(self) -> None:
        self.requests = self.channel("requests")
        self.replies = self.channel("replies")

    def tick(self, now: int) -> int:
        if self.under_way and self.under_way[0][0] <= now and self.replies.can_push():
            _, _, tag, address = heappop(self.under_way)
            self.replies.push(READ, tag, address, 0.0)
        if self.requests.can_pop() and now >= self.ready:
            self._take(now)
        elif not self.under_way and not self.requests.can_pop():
            return self.idle()
        return self.busy(now + 1)

    def _take(self, now: int) -> None:
        number = len(self.log)
        tag, address = self.requests.coordinate(), self.requests.reference()
        self.log.append((now, self.requests.control(), address // LINE, tag))
        if self.requests.control() == READ:
            latency = self.latencies[number % len(self.latencies)]
            heappush(self.under_way, (now + latency, number, tag, address))
        self.ready = now + 1 + self.pauses[number % len(self.pauses)]
        self.requests.pop()


@dataclass(frozen=True)
class Surroundings:
    """What the bank stands among; cycles, except for the capacity in tokens."""

    request_pauses: Sequence[int] = (0,)
    reply_pauses: Sequence[int] = (0,)
    memory_latencies: Sequence[int] = (10,)
    memory_pauses: Sequence[int] = (0,)
    capacity: int = 4
    memory_capacity: int = 4
    latency: int = 1
    sleep: bool = True
    order_seed: int | None = None


@dataclass(frozen=True)
class BankOutcome:
    """What a run of a bank left behind."""

    run: Run
    replies: list[tuple[int, int, int, int]]  # cycle, operation, number of the request, line
    memory: list[tuple[int, int, int, int]]  # cycle, operation, line, tag
    statistics: dict[str, ComponentStatistics]
    held: dict[int, bool]  # line: whether it is dirty
    priorities: dict[int, int]
    in_flight: int
    transitions: list[tuple[str, int]] = field(default_factory=list)

    @property
    def counters(self) -> dict[str, int]:
        """The bank's counters that are not zero."""
        return {name: count for name, count in self.statistics["bank"].counters.items() if count}

    @property
    def traffic(self) -> list[tuple[int, int]]:
        """Operation and line of every memory request, in order."""
        return [(operation, line) for _, operation, line, _ in self.memory]

    @property
    def answered(self) -> list[tuple[int, int]]:
        """Operation and line of every reply, in order."""
        return [(operation, line) for _, operation, _, line in self.replies]


def run_bank(specification, requests, make=FiberCacheBank, **surroundings) -> BankOutcome:
    """Serve requests (operation, line); request n has the tag ``REQUESTER | n``."""
    given = Surroundings(**surroundings)
    kernel = Kernel(sleep=given.sleep, order_seed=given.order_seed)
    kernel.clock("core", 10**9)
    tokens = [
        (operation, REQUESTER | number, line * LINE, 0.0) for number, (operation, line) in enumerate(requests)
    ]
    source = kernel.add(StreamSource("source", tokens, given.request_pauses))
    bank = kernel.add(make("bank", specification, MEMORY_PORT))
    sink = kernel.add(StreamSink("sink", given.reply_pauses))
    memory = kernel.add(MemoryStub("memory", given.memory_latencies, given.memory_pauses))
    near = {"capacity": given.capacity, "latency": given.latency}
    far = {"capacity": given.memory_capacity, "latency": given.latency}
    kernel.connect(source, "out", bank, "requests", **near)
    kernel.connect(bank, "replies", sink, "in", **near)
    kernel.connect(bank, "memory_requests", memory, "requests", **far)
    kernel.connect(memory, "replies", bank, "memory_replies", **far)
    run = kernel.run(cycle_limit=200_000)
    assert run.complete, f"not done after {run.cycles} cycles"
    return _outcome(run, kernel, bank, sink, memory)


def _outcome(run, kernel, bank, sink, memory) -> BankOutcome:
    replies = []
    for cycle, (operation, tag, address, _) in sink.received:
        assert tag >> PORT_SHIFT == REQUESTER >> PORT_SHIFT, f"a reply to another port: {tag:#x}"
        replies.append((cycle, operation, tag - REQUESTER, address // LINE))
    for _, _, _, tag in memory.log:
        assert tag >> PORT_SHIFT == MEMORY_PORT, f"a memory request from another port: {tag:#x}"
    places = [place for place, line in enumerate(bank.tags.lines) if line >= 0]
    held = {bank.tags.lines[place]: bool(bank.tags.dirty[place]) for place in places}
    assert len(held) == len(places) == bank.tags.held, "a line is held twice"
    return BankOutcome(
        run,
        replies,
        memory.log,
        kernel.statistics(),
        held,
        {bank.tags.lines[place]: bank.tags.priorities[place] for place in places},
        bank.misses.used,
        getattr(bank, "transitions", []),
    )
