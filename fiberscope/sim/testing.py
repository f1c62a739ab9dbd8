"""Sources, sinks and a bench for testing a block with streams of tokens and random stalls.

    def make():
        return Adder("adder")  # a component of yours

    outcome = run_block(make(), {"left": [...], "right": [...]}, ["sum"], seed=3)
    assert outcome.tokens("sum") == [...]
    check_laws(make, {"left": [...], "right": [...]}, ["sum"])

A token is the tuple (control, coordinate, reference, value).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.protocol import ANY
from fiberscope.sim.statistics import ComponentStatistics, Run

Token = tuple[int, int, int, float]
GIGAHERTZ = 10**9


def random_stalls(seed: int, *, often: float = 0.3, longest: int = 5, length: int = 61) -> tuple[int, ...]:
    """A pattern of pauses in cycles, one after each token: mostly 0, now and then 1 to ``longest``."""
    generator = random.Random(seed)
    return tuple(generator.randint(1, longest) if generator.random() < often else 0 for _ in range(length))


def data_tokens(values: Iterable[int]) -> list[Token]:
    """Tokens with control 0 that carry the given numbers as coordinate, reference and value alike."""
    return [(0, number, number, float(number)) for number in values]


class StreamSource(Component):
    """Pushes given tokens, at most one a cycle, pausing after each as the pattern says.

    Args:
        name: instance name.
        tokens: what to push.
        stalls: cycles to pause after each token, repeated cyclically; empty for never.
    """

    PORTS = (Output("out", ANY),)

    out: Channel

    def __init__(self, name: str, tokens: Iterable[Token], stalls: Sequence[int] = ()) -> None:
        super().__init__(name)
        self.tokens = list(tokens)
        self.stalls = tuple(stalls) or (0,)
        self.sent: list[int] = []  # the cycle of each push
        self.ready = 0

    def tick(self, now: int) -> int:
        """Push one token, if none is in its pause."""
        if len(self.sent) == len(self.tokens):
            return self.idle()
        if now < self.ready:
            return self.busy(self.ready)
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(*self.tokens[len(self.sent)])
        self.ready = now + 1 + self.stalls[len(self.sent) % len(self.stalls)]
        self.sent.append(now)
        return self.busy(now + 1 if len(self.sent) == len(self.tokens) else self.ready)


class StreamSink(Component):
    """Pops tokens, at most one a cycle, pausing after each as the pattern says.

    A pause counts as busy, so that one after the last token makes the run that much longer.

    Args:
        name: instance name.
        stalls: cycles to pause after each token, repeated cyclically; empty for never.

    ``received`` is the list of (cycle, token).
    """

    PORTS = (Input("in", ANY),)

    def __init__(self, name: str, stalls: Sequence[int] = ()) -> None:
        super().__init__(name)
        self.stalls = tuple(stalls) or (0,)
        self.received: list[tuple[int, Token]] = []
        self.ready = 0

    def elaborate(self) -> None:
        """Fetch the channel: the port has the name of a keyword."""
        self.source = self.channel("in")

    def tick(self, now: int) -> int:
        """Pop one token, if none is in its pause."""
        if now < self.ready:
            return self.busy(self.ready)
        if not self.source.can_pop():
            return self.idle()
        pause = self.stalls[len(self.received) % len(self.stalls)]
        self.received.append((now, head(self.source)))
        self.source.pop()
        self.ready = now + 1 + pause
        return self.busy(self.ready)


def head(channel: Channel) -> Token:
    """The token at the head of a channel, which stays there."""
    return (channel.control(), channel.coordinate(), channel.reference(), channel.value())


@dataclass(frozen=True)
class Outcome:
    """Outcome of a bench: how the run ended, (cycle, token) by output port, and the cycle accounting."""

    run: Run
    received: dict[str, list[tuple[int, Token]]]
    statistics: dict[str, ComponentStatistics]

    def tokens(self, port: str) -> list[Token]:
        """The tokens that came out of a port, without their cycles."""
        return [token for _cycle, token in self.received[port]]


def run_block(
    block: Component,
    inputs: Mapping[str, Iterable[Token]],
    outputs: Iterable[str],
    *,
    seed: int | None = None,
    capacity: int = 2,
    latency: int = 1,
    sleep: bool = True,
    order_seed: int | None = None,
    cycle_limit: int | None = 1_000_000,
) -> Outcome:
    """Run one block between a source at each of its inputs and a sink at each of its outputs.

    Args:
        block: a fresh component; a block cannot run twice.
        inputs: the tokens for each input port (``ways[3]`` for one of an array).
        outputs: the output ports to listen at.
        seed: the seed of the random stalls of sources and sinks; None for none.
        capacity: the capacity of every channel, in tokens.
        latency: the latency of every channel, in cycles.
        sleep: whether components may sleep, as in ``Kernel``.
        order_seed: the order seed of the tick order, as in ``Kernel``.
        cycle_limit: a run that comes so far fails.

    Raises:
        AssertionError: if the cycle limit is reached.
    """
    kernel = Kernel(sleep=sleep, order_seed=order_seed)
    kernel.clock("core", GIGAHERTZ)
    kernel.add(block)
    for number, (port, tokens) in enumerate(inputs.items()):
        source = kernel.add(StreamSource(f"source.{port}", tokens, seeded_stalls(seed, number)))
        kernel.connect(source, "out", block, port, capacity=capacity, latency=latency)
    sinks = {
        port: kernel.add(StreamSink(f"sink.{port}", seeded_stalls(seed, ~n)))
        for n, port in enumerate(outputs)
    }
    for port, sink in sinks.items():
        kernel.connect(block, port, sink, "in", capacity=capacity, latency=latency)
    run = kernel.run(cycle_limit=cycle_limit)
    assert run.complete, f"{block.name}: not done after {run.cycles} cycles"
    return Outcome(run, {port: sink.received for port, sink in sinks.items()}, kernel.statistics())


def seeded_stalls(seed: int | None, number: int) -> tuple[int, ...]:
    """Return the stalls of one of several sources or sinks, by its number; none without a seed."""
    return () if seed is None else random_stalls(1000 * seed + number)


def check_laws(
    make: Callable[[], Component],
    inputs: Mapping[str, Sequence[Token]],
    outputs: Sequence[str],
    *,
    seeds: Iterable[int | None] = (None, 1, 2),
    capacity: int = 2,
    latency: int = 1,
) -> None:
    """Check that neither sleeping nor the tick order changes anything, and that all cycles are counted.

    Args:
        make: makes a fresh block, the same each time.
        inputs: as in ``run_block``.
        outputs: as in ``run_block``.
        seeds: the seeds of the random stalls; each is a case of its own.
        capacity: the capacity of every channel, in tokens.
        latency: the latency of every channel, in cycles.

    Raises:
        AssertionError: if a law is broken; says which result differs first, and why that usually is.
    """
    for seed in seeds:
        bench = partial(
            run_block, inputs=inputs, outputs=outputs, seed=seed, capacity=capacity, latency=latency
        )
        expected = bench(make())
        check_accounting(expected.statistics)
        for sleep, order_seed in ((False, None), (True, 1), (True, 2), (False, 3)):
            actual = bench(make(), sleep=sleep, order_seed=order_seed)
            way = f"sleep={sleep}, order_seed={order_seed}, stalls {seed}"
            assert actual == expected, f"{way}: {_difference(expected, actual, sleep)}"


def _difference(expected: Outcome, actual: Outcome, sleep: bool) -> str:
    """The first entry in which two outcomes differ, and why that usually is."""
    entries, others = dict(_entries("", asdict(expected))), dict(_entries("", asdict(actual)))
    path = next(path for path in (*entries, *others) if entries.get(path) != others.get(path))
    return f"{path} is {others.get(path)}, not {entries.get(path)}: {_usual_cause(path, sleep)}"


def _entries(path: str, part: object) -> Iterator[tuple[str, object]]:
    """The leaves of a nested result, each with its path; tokens and events before the cycles."""
    if isinstance(part, Mapping):
        for key in sorted(part, key=["received", "counters"].__contains__, reverse=True):
            yield from _entries(f"{path}.{key}" if path else str(key), part[key])
    elif isinstance(part, list):
        for number, token in enumerate(part):
            yield f"{path}[{number}]", token
    else:
        yield path, part


def _usual_cause(path: str, sleep: bool) -> str:
    if sleep:
        return "the result depends on the order of ticks: see other components only by methods of channels"
    if ".counters." in path:
        return "count events, not ticks: a sleeping component is not ticked in every cycle"
    return "a tick without a new token or slot must change nothing; if there is more to do, return busy"


def check_accounting(statistics: Mapping[str, ComponentStatistics]) -> None:
    """Check that each component counted every cycle of the run exactly once.

    Raises:
        AssertionError: naming the component.
    """
    for name, counts in statistics.items():
        parts = counts.busy, counts.idle, *counts.input_stall.values(), *counts.output_stall.values()
        assert sum(parts) == counts.cycles, f"{name} counts {sum(parts)} of {counts.cycles} cycles"
        assert min(parts) >= 0, f"{name} counts a negative number of cycles: {counts}"
