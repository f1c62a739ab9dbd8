"""A stream with any number of consumers: one wire to all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Interface, Stream, streams
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Streams, alias


@dataclass(frozen=True)
class ForkParameters(Parameters):
    """Parameters of a fork.

    Args:
        tokens: the stream that the fork passes on, as ``in``; see ``forking``.
        consumers: number of consumers; a fork without consumers discards every token.
    """

    tokens: Stream
    consumers: int


def forking(stream: Stream, consumers: int) -> ForkParameters:
    """Return the parameters of a fork for the content of this stream."""
    return ForkParameters(replace(stream, label="in", prefix="in", direction="input"), consumers)


def interface(parameters: ForkParameters) -> Interface:
    """Return the interface with the ports ``in`` and ``out[i]``."""
    content = parameters.tokens.content
    return Interface("fork", (parameters.tokens, *streams("out", "output", content, parameters.consumers)))


def design(parameters: ForkParameters, streams: Streams) -> None:
    """Build the fork: a token goes to all consumers in the same cycle, when all of them accept it."""
    source = streams.inputs["in"]
    sinks = list(streams.outputs.values())
    room = alias("room", reduce(and_, [sink.ready for sink in sinks], pyrtl.Const(1, 1)))
    source.accept(room)
    for sink in sinks:
        sink.send(source.valid & room, source.fields)


BLOCK = RtlBlock(
    "fork",
    "passes a stream on to several consumers at once",
    ForkParameters,
    ForkParameters,
    interface,
    design,
    Adapter,
    listed=False,
)
