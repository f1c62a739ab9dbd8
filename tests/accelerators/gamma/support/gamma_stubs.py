"""What stands around one part of Gamma when it is tested by itself."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fiberscope.hw.memory.protocol import CONSUME, READ, REPLY, REQUEST, WRITE, WRITE_UNREAD
from fiberscope.sim import Component, DeadlockError, Input, Kernel, Output
from fiberscope.sim.testing import StreamSink, StreamSource, Token, random_stalls


@dataclass(frozen=True)
class Request:
    """One request as the memory saw it."""

    cycle: int
    operation: int
    tag: int
    address: int


class MemoryStub(Component):
    """Takes a request a cycle; answers what a cache does, each after a random time, in any order.

    Args:
        name: instance name.
        seed: of the random times; None answers in the next cycle.
        silent: operations that it does not answer.
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    def __init__(self, name: str, seed: int | None, silent: Iterable[int] = ()) -> None:
        super().__init__(name)
        self.random = None if seed is None else random.Random(seed)
        self.answered = {READ, CONSUME, WRITE, WRITE_UNREAD} - set(silent)
        self.seen: list[Request] = []
        self.waiting: list[tuple[int, Request]] = []  # cycle from which to answer, and what
        self.most_waiting = 0

    def elaborate(self) -> None:
        self.requests, self.replies = self.channel("requests"), self.channel("replies")

    def tick(self, now: int) -> int:
        if self.requests.can_pop():
            self._take(now)
        due = min(self.waiting, key=lambda entry: entry[0], default=None)
        if due is not None and due[0] <= now and self.replies.can_push():
            self.waiting.remove(due)
            self.replies.push(due[1].operation, due[1].tag, due[1].address, 0.0)
        return self.busy(now + 1) if self.waiting else self.idle()

    def _take(self, now: int) -> None:
        request = Request(now, self.requests.control(), self.requests.coordinate(), self.requests.reference())
        self.requests.pop()
        self.seen.append(request)
        if request.operation in self.answered:
            delay = 0 if self.random is None else self.random.randrange(30)
            self.waiting.append((now + delay, request))
            self.most_waiting = max(self.most_waiting, len(self.waiting))


@dataclass
class Bench:
    """One part with its memory, after a run: what memory saw, and (cycle, token) by output."""

    memory: MemoryStub
    received: dict[str, list[tuple[int, Token]]] = field(default_factory=dict)

    def tokens(self, port: str) -> list[Token]:
        """The tokens that came out of a port."""
        return [token for _cycle, token in self.received[port]]

    def addresses(self, operation: int) -> list[int]:
        """Addresses of the requests of an operation, in their order."""
        return [request.address for request in self.memory.seen if request.operation == operation]


def run_part(
    part: Component,
    inputs: Mapping[str, Iterable[Token]],
    outputs: Mapping[str, int],
    *,
    seed: int | None,
    ports: tuple[str, str] = ("requests", "replies"),
    silent: Iterable[int] = (),
    wire: Callable[[Kernel, Component], None] | None = None,
    stuck: bool = False,
) -> Bench:
    """Run a part between sources, sinks and a memory; with a seed all of them stall at random.

    Args:
        part: a fresh component.
        inputs: tokens by input port.
        outputs: capacity of the channel by output port.
        seed: of stalls and answering times.
        ports: the part's ports for requests and replies.
        silent: operations that memory does not answer.
        wire: adds and connects what else the part needs.
        stuck: whether the run is to end in a deadlock, as it does when replies are withheld.
    """
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(part)
    memory = kernel.add(MemoryStub("memory", seed, silent))
    kernel.connect(part, ports[0], memory, "requests", capacity=4)
    kernel.connect(memory, "replies", part, ports[1], capacity=4)
    for number, (port, tokens) in enumerate(inputs.items()):
        source = kernel.add(StreamSource(f"source.{port}", tokens, _stalls(seed, number)))
        kernel.connect(source, "out", part, port, capacity=2)
    if wire is not None:
        wire(kernel, part)
    sinks = {}
    for number, (port, capacity) in enumerate(outputs.items()):
        sinks[port] = kernel.add(StreamSink(f"sink.{port}", _stalls(seed, ~number)))
        kernel.connect(part, port, sinks[port], "in", capacity=capacity)
    try:
        assert kernel.run(cycle_limit=100_000).complete
    except DeadlockError:
        assert stuck
    else:
        assert not stuck
    return Bench(memory, {port: sink.received for port, sink in sinks.items()})


def _stalls(seed: int | None, number: int) -> tuple[int, ...]:
    return () if seed is None else random_stalls(1000 * seed + number)
