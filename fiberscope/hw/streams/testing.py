"""A test bench for blocks of the stream machine, with input and output streams as text with cycles.

    streams = run_streams(block, {"in_ref": [(0, 0), (1, "D")]}, ["out_crd", "out_ref"])
    assert streams["out_crd"] == [(0, 1), (1, 4), (2, "S0"), (3, "D")]

Cycles are counted as in the public simulator: the block can use an input token of cycle t in cycle t, and a
token that it sends in cycle t is listed with cycle t.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.checker import StreamChecker
from fiberscope.hw.streams.tokens import BV, CRD, REF, REPSIG, SKIP_CRD, VAL, Written, format_token, token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Output, Port
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.protocol import ANY, Protocol
from fiberscope.sim.testing import StreamSink, check_accounting, seeded_stalls

Stream = list[tuple[int, Written]]  # (cycle, token) pairs

GIGAHERTZ = 10**9
SEEN = 1  # kernel cycle of cycle 0 of the public simulator: a token of the root takes one cycle
_BY_NAME = {"crd": CRD, "ref": REF, "val": VAL, "bv": BV, "repsig": REPSIG, "skip": SKIP_CRD}


class TimedSource(Component):
    """Pushes each token in its cycle, or in the first later cycle with a free slot.

    A token pushed in kernel cycle t is visible in cycle t + ``SEEN``: cycle t of the public simulator.

    Args:
        carries: protocol of the stream.
        stream: (cycle, token as text) pairs, in ascending order of the cycles.
    """

    out: Channel

    def __init__(self, name: str, carries: Protocol, stream: Iterable[tuple[int, Written]]) -> None:
        super().__init__(name)
        self.carries = carries
        self.stream = [(cycle, token(token_text, carries)) for cycle, token_text in stream]
        self.sent_count = 0

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the output port of the stream."""
        return (Output("out", self.carries),)

    def tick(self, now: int) -> int:
        """Push the next token if its cycle has come."""
        if self.sent_count == len(self.stream):
            return self.idle()
        cycle, tokens = self.stream[self.sent_count]
        if now < cycle:
            return self.busy(cycle)
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(*tokens)
        self.sent_count += 1
        return self.busy(now + 1)


def protocol_of(block: Component, label: str) -> Protocol:
    """Return the protocol of a port.

    Args:
        block: the component.
        label: ``port``, or ``port[i]`` for a port of an array. If the declared protocol is ``ANY``, the last
            part of the name decides, such as ``crd`` in ``in_crd``; else it is a stream of references.
    """
    name = label.partition("[")[0]
    port = next(port for port in block.declared_ports() if port.name == name)
    if port.carries != ANY:
        return port.carries
    return _BY_NAME.get(name.rstrip("0123456789").rpartition("_")[2], REF)


def run_streams(
    block: StreamBlock,
    inputs: Mapping[str, Iterable[tuple[int, Written]]],
    outputs: Sequence[str],
    *,
    capacity: int | None = None,
    seed: int | None = None,
    order_seed: int | None = None,
    sleep: bool = True,
    same_shape: Sequence[Sequence[str]] = (),
    checked: bool = True,
) -> dict[str, Stream]:
    """Run one block between a source at each of its inputs and a sink at each of its outputs.

    Args:
        block: a block that has not run.
        inputs: for each input port, (cycle, token as text) pairs; ``port[i]`` for a port of an array.
        outputs: names of the output ports whose streams are returned; other outputs stay unconnected.
        capacity: capacity of every channel in tokens; None for no bound, as in the public simulator.
        seed: seed of random stalls of the sinks; None for no stalls.
        order_seed, sleep: as in ``Kernel``.
        same_shape: groups of outputs that must have the same shape; without ``checked``, ignored.
        checked: whether the outputs must be well-formed.

    Returns:
        The stream of each output.

    Raises:
        SimulationError: if an output is not well-formed or the run fails, such as by a deadlock.
        AssertionError: if a component does not account for every cycle.
    """
    kernel = Kernel(order_seed=order_seed, sleep=sleep)
    kernel.clock("core", GIGAHERTZ)
    kernel.add(block)
    for label, stream in inputs.items():
        source = kernel.add(TimedSource(f"source.{label}", protocol_of(block, label), stream))
        kernel.connect(source, "out", block, label, capacity=capacity)
    sinks = {}
    for number, label in enumerate(outputs):
        sinks[label] = kernel.add(StreamSink(f"sink.{label}", seeded_stalls(seed, number)))
        kernel.connect(block, f"{label}[0]", sinks[label], "in", capacity=capacity)
    if checked:
        _put_checkers(kernel, block, outputs, same_shape)
    kernel.run()
    check_accounting(kernel.statistics())
    return {label: written(sink, protocol_of(block, label)) for label, sink in sinks.items()}


def _put_checkers(
    kernel: Kernel, block: StreamBlock, outputs: Sequence[str], same_shape: Sequence[Sequence[str]]
) -> None:
    """Connect a ``StreamChecker`` to each group of outputs of the same shape, and to each other output."""
    grouped = {label for labels in same_shape for label in labels}
    for labels in (*same_shape, *([label] for label in outputs if label not in grouped)):
        checker = kernel.add(StreamChecker(f"{block.name}.{labels[0]}"))
        for number, label in enumerate(labels):
            # A second consumer of the output; without a bound it never stalls the block
            kernel.connect(block, f"{label}[1]", checker, f"in_stream[{number}]", capacity=None)


def written(sink: StreamSink, carries: Protocol) -> Stream:
    """Return the stream that a sink received, with the cycles in which the block sent the tokens.

    Args:
        sink: the sink, after the run.
        carries: protocol of the stream.
    """
    # The sink sees a token one cycle after the block sends it
    return [
        (cycle - 1 - SEEN, format_token(kind, payload, value, carries))
        for cycle, (kind, payload, _reference, value) in sink.received
    ]


def with_gaps(tokens: Iterable[Written], seed: int | None = None) -> Stream:
    """Return a stream with a token in every cycle, or with random gaps between tokens.

    Args:
        tokens: the tokens as text.
        seed: seed of the gaps; None for no gaps.
    """
    # A random stall is the gap after a token; the stalls repeat if there are more tokens
    stalls = seeded_stalls(seed, 0) or (0,)
    stream: Stream = []
    cycle = random.Random(seed).randrange(4) if seed is not None else 0
    for number, token_text in enumerate(tokens):
        stream.append((cycle, token_text))
        cycle += 1 + stalls[number % len(stalls)]
    return stream


def tokens_of(stream: Iterable[tuple[int, Written]]) -> list[Written]:
    """Return the tokens of a stream, without their cycles."""
    return [token_text for _cycle, token_text in stream]
