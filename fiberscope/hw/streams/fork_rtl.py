"""A stream for several consumers: one wire to all of them, or to nobody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Interface, Stream, streams
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Streams, named


@dataclass(frozen=True)
class ForkParameters(Parameters):
    """Parameters of a fork.

    Args:
        tokens: the stream that it passes on, as ``in``; see ``forking``.
        consumers: how many there are; none takes every token away.
    """

    tokens: Stream
    consumers: int


def forking(stream: Stream, consumers: int) -> ForkParameters:
    """A fork for what this stream carries."""
    return ForkParameters(replace(stream, label="in", prefix="in", direction="input"), consumers)


def interface(parameters: ForkParameters) -> Interface:
    """Ports: ``in`` and ``out[i]``."""
    content = parameters.tokens.content
    return Interface("fork", (parameters.tokens, *streams("out", "output", content, parameters.consumers)))


def design(parameters: ForkParameters, between: Streams) -> None:
    """A token goes to all consumers in one cycle, when all have space."""
    source = between.inputs["in"]
    sinks = list(between.outputs.values())
    room = named("room", reduce(and_, [sink.ready for sink in sinks], pyrtl.Const(1, 1)))
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
