"""Tokens of the stream machine on wires: a kind of two bits, and what a token of that kind carries.

A coordinate, a reference and the level of a stop are the payload of their streams. Beside a value the level
has wires of its own, as it has a word of its own in a channel. What a token does not carry is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field, Stream
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, OutputStream, Signal, Streams, named, unless
from fiberscope.hw.streams.memory_rtl import OVERFLOW
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP

KIND_BITS = 2
LEVEL_BITS = 4  # a stop closes at most 15 lists beyond its fiber


def numbers(bits: int) -> Content:
    """Fields of a stream of coordinates or references, whose payload also holds a stop's level."""
    return {"control": KIND_BITS, "payload": Field("coordinate", bits, "unsigned")}


def values(value: Field) -> Content:
    """Fields of a stream of values."""
    return {"control": KIND_BITS, "level": Field("coordinate", LEVEL_BITS, "unsigned"), "value": value}


def signals() -> Content:
    """Fields of a stream of repeat signals, where a stop has no level."""
    return {"control": KIND_BITS}


def source(port: str, content: Content) -> Stream:
    """The stream of an input port."""
    return Stream(port, port, "input", content)


def sink(port: str, content: Content) -> Stream:
    """The stream of an output port, for one consumer; ``fiberscope.hw.streams.fork_rtl`` makes several."""
    return Stream(f"{port}[0]", f"{port}_0", "output", content)


class Head:
    """A token that an input shows, or that was taken from it and is held.

    Args:
        shown: whether there is one.
        fields: what it is.
    """

    def __init__(self, shown: Signal, fields: Mapping[str, Signal]) -> None:
        kind = fields["control"]
        self.shown = shown
        self.fields = fields
        self.is_data = shown & (kind == DATA)
        self.is_stop = shown & (kind == STOP)
        self.is_empty = shown & (kind == EMPTY)
        self.is_done = shown & (kind == DONE)
        self.is_control = self.is_stop | self.is_done
        self.payload: Signal = fields.get("payload", fields.get("value"))  # of data
        if self.payload is not None:
            self.level: Signal = fields.get("level", self.payload)[:LEVEL_BITS]

    @classmethod
    def from_stream(cls, stream: InputStream) -> Head:
        """Return the head of a stream."""
        return cls(stream.valid, stream.fields)

    def registered(self, moves: Signal) -> Head:
        """Return the head of the last cycle in which ``moves`` was high, without its payload."""
        shown: Signal = pyrtl.Register(1, "holds")
        kind: Signal = DataRegister(KIND_BITS, "held_kind")
        level: Signal = DataRegister(LEVEL_BITS, "held_level")
        shown.next <<= pyrtl.select(moves, self.shown, shown)
        kind.next <<= pyrtl.select(moves, self.fields["control"], kind)
        level.next <<= pyrtl.select(moves, self.level, level)
        return Head(shown, {"control": kind, "payload": level})

    @property
    def raised(self) -> Signal:
        """The level of a stop that closes one list more."""
        return (self.level + 1)[:LEVEL_BITS]


def room_in(between: Streams) -> Signal:
    """Return whether every output has space: without, a block of the stream machine does nothing."""
    ready = [stream.ready for label, stream in between.outputs.items() if label != OVERFLOW]
    return named("room", reduce(and_, ready))


def kind_of(data: Signal, stop: Signal, done: Signal) -> Signal:
    """The kind of a token that is one of these, else empty."""
    return pyrtl.concat(~data & ~stop, stop | done)


def send(stream: OutputStream, valid: Signal, kind: Signal, level: Signal, payload: Signal) -> None:
    """Offer a token: of data its payload, of a stop its level, and zeros for what else there is."""
    stream.send(valid, token(stream, kind, level, payload))


def token(stream: OutputStream, kind: Signal, level: Signal, payload: Signal) -> dict[str, Signal]:
    """The fields of such a token in its stream."""
    payload, level = unless(kind != DATA, payload), unless(kind != STOP, level)
    if "value" in stream.widths:
        return {"control": kind, "level": level, "value": payload}
    bits = stream.widths["payload"]
    return {"control": kind, "payload": payload.zero_extended(bits) | level.zero_extended(bits)}


def pass_on(stream: OutputStream, valid: Signal, head: Head) -> None:
    """Offer a token as it came."""
    send(stream, valid, head.fields["control"], head.level, head.payload)
