"""Sources, sinks and a test bench that runs a block with token streams and random stalls.

    def make():
        return Adder("adder")  # your component

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
    """Return a pattern of pauses in cycles, one for each token: mostly 0, sometimes 1 to ``longest``.

    Args:
        seed: seed of the pattern.
        often: probability of a pause after a token.
        longest: maximum length of a pause in cycles.
        length: length of the pattern in tokens; sources and sinks repeat the pattern.
    """
    generator = random.Random(seed)
    return tuple(generator.randint(1, longest) if generator.random() < often else 0 for _ in range(length))


def data_tokens(values: Iterable[int]) -> list[Token]:
    """Return tokens with control 0 whose coordinate, reference and value are the given number."""
    return [(0, number, number, float(number)) for number in values]


class StreamSource(Component):
    """A component that pushes given tokens, at most one a cycle, with a pause after each.

    Args:
        tokens: the tokens to push.
        stalls: cycles of the pause after each token, repeated cyclically; empty for no pauses.
    """

    PORTS = (Output("out", ANY),)

    out: Channel

    def __init__(self, name: str, tokens: Iterable[Token], stalls: Sequence[int] = ()) -> None:
        super().__init__(name)
        self.tokens = list(tokens)
        self.stalls = tuple(stalls) or (0,)
        self.sent: list[int] = []  # the cycle of each push
        self.pause_end = 0

    def tick(self, now: int) -> int:
        """Push one token unless a pause is in progress."""
        if len(self.sent) == len(self.tokens):
            return self.idle()
        if now < self.pause_end:
            return self.busy(self.pause_end)
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(*self.tokens[len(self.sent)])
        self.pause_end = now + 1 + self.stalls[len(self.sent) % len(self.stalls)]
        self.sent.append(now)
        return self.busy(now + 1 if len(self.sent) == len(self.tokens) else self.pause_end)


class StreamSink(Component):
    """A component that pops tokens, at most one a cycle, with a pause after each.

    A pause counts as busy, so a pause after the last token lengthens the run.

    Args:
        stalls: cycles of the pause after each token, repeated cyclically; empty for no pauses.

    ``received`` is the list of (cycle, token).
    """

    PORTS = (Input("in", ANY),)

    def __init__(self, name: str, stalls: Sequence[int] = ()) -> None:
        super().__init__(name)
        self.stalls = tuple(stalls) or (0,)
        self.received: list[tuple[int, Token]] = []
        self.pause_end = 0

    def elaborate(self) -> None:
        """Fetch the channel, as the port's name is a Python keyword."""
        self.source = self.channel("in")

    def tick(self, now: int) -> int:
        """Pop one token unless a pause is in progress."""
        if now < self.pause_end:
            return self.busy(self.pause_end)
        if not self.source.can_pop():
            return self.idle()
        pause = self.stalls[len(self.received) % len(self.stalls)]
        self.received.append((now, head(self.source)))
        self.source.pop()
        self.pause_end = now + 1 + pause
        return self.busy(self.pause_end)


def head(channel: Channel) -> Token:
    """Return the token at the head of a channel without popping it. Requires ``can_pop()``."""
    return (channel.control(), channel.coordinate(), channel.reference(), channel.value())


@dataclass(frozen=True)
class Outcome:
    """Result of a test bench: end of the run, (cycle, token) by output port, and the cycle accounting."""

    run: Run
    received: dict[str, list[tuple[int, Token]]]
    statistics: dict[str, ComponentStatistics]

    def tokens(self, port: str) -> list[Token]:
        """Return the tokens of an output port without their cycles."""
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
    """Run a block with a source at each input and a sink at each output.

    Args:
        block: a new component; a block runs only once.
        inputs: the tokens for each input port (``ways[3]`` for a port of an array).
        outputs: the output ports to observe.
        seed: seed of the random stalls of sources and sinks; None for no stalls.
        capacity: capacity of every channel, in tokens.
        latency: latency of every channel, in cycles.
        sleep: see ``Kernel``.
        order_seed: see ``Kernel``.
        cycle_limit: a run that reaches this cycle fails.

    Raises:
        AssertionError: if the cycle limit is reached.
        BuildError: if a required port of the block is in neither ``inputs`` nor ``outputs``.
        DeadlockError: if the block deadlocks.
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
    """Return the stalls of a source or sink by its number; none without a seed."""
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
    """Check that sleep and the tick order change no result, and that every cycle is accounted for.

    Args:
        make: creates a new block, always the same.
        inputs: see ``run_block``.
        outputs: see ``run_block``.
        seeds: seeds of the random stalls; each seed is a separate case.
        capacity: capacity of every channel, in tokens.
        latency: latency of every channel, in cycles.

    Raises:
        AssertionError: if a law is broken; names the first difference and its usual cause.
    """
    for seed in seeds:
        bench = partial(
            run_block, inputs=inputs, outputs=outputs, seed=seed, capacity=capacity, latency=latency
        )
        expected = bench(make())
        check_accounting(expected.statistics)
        for sleep, order_seed in ((False, None), (True, 1), (True, 2), (False, 3)):
            actual = bench(make(), sleep=sleep, order_seed=order_seed)
            setting = f"sleep={sleep}, order_seed={order_seed}, stalls {seed}"
            assert actual == expected, f"{setting}: {_describe_difference(expected, actual, sleep)}"


def _describe_difference(expected: Outcome, actual: Outcome, sleep: bool) -> str:
    """Describe the first entry in which two outcomes differ, and its usual cause."""
    expected_entries, actual_entries = (
        dict(_iterate_leaves("", asdict(expected))),
        dict(_iterate_leaves("", asdict(actual))),
    )
    path = next(
        path
        for path in (*expected_entries, *actual_entries)
        if expected_entries.get(path) != actual_entries.get(path)
    )
    cause = _find_usual_cause(path, sleep)
    return f"{path} is {actual_entries.get(path)}, not {expected_entries.get(path)}: {cause}"


def _iterate_leaves(path: str, result: object) -> Iterator[tuple[str, object]]:
    """Yield the leaves of a nested result with their paths; tokens and events before cycles."""
    if isinstance(result, Mapping):
        for key in sorted(result, key=["received", "counters"].__contains__, reverse=True):
            yield from _iterate_leaves(f"{path}.{key}" if path else str(key), result[key])
    elif isinstance(result, list):
        for number, token in enumerate(result):
            yield f"{path}[{number}]", token
    else:
        yield path, result


def _find_usual_cause(path: str, sleep: bool) -> str:
    """Return the usual cause of a difference at this path of an outcome."""
    if sleep:
        return "the result depends on the order of ticks: see other components only by methods of channels"
    if ".counters." in path:
        return "count events, not ticks: a sleeping component is not ticked in every cycle"
    return "a tick without a new token or slot must change nothing; if there is more to do, return busy"


def check_accounting(statistics: Mapping[str, ComponentStatistics]) -> None:
    """Check that each component accounts for every cycle of the run exactly once.

    Raises:
        AssertionError: naming the component.
    """
    for name, counts in statistics.items():
        cycles_by_state = (
            counts.busy,
            counts.idle,
            *counts.input_stall.values(),
            *counts.output_stall.values(),
        )
        assert sum(cycles_by_state) == counts.cycles, (
            f"{name} counts {sum(cycles_by_state)} of {counts.cycles} cycles"
        )
        assert min(cycles_by_state) >= 0, f"{name} counts a negative number of cycles: {counts}"
