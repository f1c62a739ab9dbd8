"""The stream prefetcher: jobs short and long, empty and open, before a memory that answers out of order."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from memory_stub import MemoryStub
from pairs import End, random_channel
from scenario import Scenario

from fiberscope.hw.memory.prefetch_protocol import OPEN, STREAM_ELEMENT, STREAM_STOP
from fiberscope.hw.memory.prefetch_rtl import StreamPrefetcherParameters
from fiberscope.hw.stream import STOP
from fiberscope.sim import Component, Input, Kernel, Output
from fiberscope.sim.testing import Token, head, random_stalls

JOBS = 260
LONGEST = 12


class Taker(Component):
    """Takes elements; sends a stop behind some of each job that is open, whose first element is odd.

    Args:
        name: instance name.
        wanted: elements of each open job, by turns.
        pauses: cycles after each token, by turns.
    """

    PORTS = (Input("elements", STREAM_ELEMENT), Output("stops", STREAM_STOP))

    def __init__(self, name: str, wanted: Sequence[int], pauses: Sequence[int]) -> None:
        super().__init__(name)
        self.wanted, self.pauses = wanted, pauses
        self.received: list[tuple[int, Token]] = []
        self.left = self.ready = self.stopped = 0
        self.within = False

    def tick(self, now: int) -> int:
        """Take a token; send the stop that it calls for, for which there is always space."""
        elements = self.channel("elements")
        if now < self.ready or not elements.can_pop():
            return self.busy(self.ready) if now < self.ready else self.idle()
        token = head(elements)
        elements.pop()
        self.ready = now + 1 + self.pauses[len(self.received) % len(self.pauses)]
        self.received.append((now, token))
        self._count(token)
        return self.busy(self.ready)

    def _count(self, token: Token) -> None:
        if token[0] == STOP:
            self.within = False
            return
        if not self.within:
            self.within = True
            self.left = self.wanted[self.stopped % len(self.wanted)] if token[1] % 2 else 0
        self.left -= 1
        if self.left == 0:
            self.stopped += 1
            self.channel("stops").push(0)


def _parameters(generator: random.Random) -> StreamPrefetcherParameters:
    line_bytes, element_bits = generator.choice([8, 16, 64]), generator.choice([9, 32, 48])
    return StreamPrefetcherParameters(
        base=generator.choice([0, 5 << 20]),
        element_bytes=generator.choice([1, 4, 7, 12, line_bytes]) % (line_bytes + 1) or 8,
        line_bytes=line_bytes,
        lines=generator.randint(1, 5),
        element_bits=element_bits,
        address_bits=generator.choice([max(element_bits + 8, 26), 64]),
    )


def _large(generator: random.Random) -> StreamPrefetcherParameters:
    """The default, that of a list of 8 bytes, and more and larger lines than the small ones have."""
    size, line_bytes, lines = generator.choice([(12, 64, 4), (100, 256, 16), (8, 64, 4)])
    return StreamPrefetcherParameters(element_bytes=size, line_bytes=line_bytes, lines=lines)


def _inputs(
    generator: random.Random, given: StreamPrefetcherParameters, jobs: int = JOBS, longest: int = LONGEST
) -> dict[str, list[Token]]:
    return {"jobs": list(_jobs(generator, given, jobs, longest))}


def _jobs(
    generator: random.Random, given: StreamPrefetcherParameters, jobs: int, longest: int
) -> Iterator[Token]:
    """With and without an end, those without from an odd element on; alike in their low bits."""
    addressed = ((1 << given.address_bits - 1) - given.base) // given.element_bytes
    span = min(1 << given.element_bits, addressed) - 8 * longest - 2 * given.lines * given.line_bytes
    origin = generator.randrange(max(span, 1))
    often = generator.choice([0.0, 0.1, 0.3])
    for _ in range(jobs):
        first = max(min(origin + generator.choice([0, 0, 64, 5, 1 << 20]), span - 1), 0)
        if generator.random() < often:
            yield (0, first | 1, OPEN, 0.0)
        else:
            count = generator.choice([0, 1, 1, 2, 3, generator.randint(0, longest)])
            yield (0, first & ~1, (first & ~1) + count, 0.0)


def _around(
    kernel: Kernel, scope: str, end: Callable[[str], End], generator: random.Random
) -> Sequence[Component]:
    latencies = [generator.choice([1, 4, generator.randint(1, 16)]) for _ in range(7)]
    latencies = generator.choice([latencies, [latencies[0]]])
    pauses = random_stalls(generator.randrange(1 << 30), often=0.1)
    memory = kernel.add(MemoryStub(f"{scope}.memory", latencies, pauses))
    kernel.connect(*end("requests"), memory, "requests", **random_channel(generator))
    kernel.connect(memory, "replies", *end("replies"), **random_channel(generator))
    wanted = [generator.choice([1, 1, 2, 9]) for _ in range(5)]
    pauses = generator.choice([(0,), (0,), random_stalls(generator.randrange(1 << 30))])
    taker = kernel.add(Taker(f"{scope}.taker", wanted, pauses))
    kernel.connect(*end("elements"), taker, "elements", **random_channel(generator))
    kernel.connect(taker, "stops", *end("stops"), capacity=4, latency=generator.randint(1, 3))
    return memory, taker


SCENARIO = Scenario("prefetch", _parameters, _inputs, (), _around)
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 40, 100))
