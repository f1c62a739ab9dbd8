"""A FiberCache bank between a source of requests, a sink of replies and a memory of random latency."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_stub import LINE, MemoryStub

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.sim import ComponentStatistics, Kernel, Run
from fiberscope.sim.testing import StreamSink, StreamSource

REQUESTER = 5 << PORT_SHIFT  # port bits of the requester's tags, which the bank must bring back
MEMORY_PORT = 3  # port of the bank at the memory's network


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
    assert len(held) == len(places) == bank.tags.held, "a line is held that is not counted"
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
