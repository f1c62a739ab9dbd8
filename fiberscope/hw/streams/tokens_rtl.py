"""Encoding of the tokens of the stream machine on wires: a kind of two bits, and the fields of this kind.

A coordinate, a reference and the level of a stop share the payload wires of their streams. In a stream of
values, the level has its own wires, as it has its own word in a channel. Fields that a kind of token does not
have are zero. The marks ``ABSENT`` and ``INTEGER`` of a value have no wires here; ``absent_values_rtl`` adds
a wire for ``ABSENT`` where operators need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field, Stream
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, OutputStream, Signal, Streams, alias, unless
from fiberscope.hw.streams.memory_rtl import OVERFLOW
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP

KIND_BITS = 2
LEVEL_BITS = 4  # a stop ends a fiber and at most 15 outer lists


def numbers(bits: int) -> Content:
    """Return the fields of a stream of coordinates or references; the payload also holds a stop's level.

    A channel carries payload and level in the same word, the coordinate.
    """
    return {"control": KIND_BITS, "payload": Field("coordinate", bits, "unsigned")}


def values(value: Field) -> Content:
    """Return the fields of a stream of values."""
    return {"control": KIND_BITS, "level": Field("coordinate", LEVEL_BITS, "unsigned"), "value": value}


def signals() -> Content:
    """Return the fields of a stream of repeat signals, in which a stop has no level."""
    return {"control": KIND_BITS}


def source(port: str, content: Content) -> Stream:
    """Return the stream of an input port."""
    return Stream(port, port, "input", content)


def sink(port: str, content: Content) -> Stream:
    """Return the stream of an output port with one consumer; see ``fork_rtl`` for several consumers."""
    return Stream(f"{port}[0]", f"{port}_0", "output", content)


class Head:
    """The token at the head of an input, or a token that was popped and is held in registers.

    Args:
        shown: whether there is a token.
        fields: the fields of the token by name.

    Attributes:
        is_data, is_stop, is_empty, is_done: whether there is a token, and it is of this kind.
        is_control: whether it is a stop or done.
        payload: coordinate, reference or value of a data token; in a stream of numbers, the level of a stop
            too. None in a stream of repeat signals.
        level: level of a stop, valid only with ``is_stop``: in a stream of numbers, a data token has the low
            bits of its payload here. Does not exist in a stream of repeat signals.
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
        self.payload: Signal = fields.get("payload", fields.get("value"))
        if self.payload is not None:  # repeat signals have neither a payload nor a level
            # a payload can be wider than a level, and holds the level in its lowest bits
            self.level: Signal = fields.get("level", self.payload)[:LEVEL_BITS]

    @classmethod
    def from_stream(cls, stream: InputStream) -> Head:
        """Return the head of a stream."""
        return cls(stream.valid, stream.fields)

    def registered(self, moves: Signal) -> Head:
        """Return a copy of the head that is loaded in each cycle in which ``moves`` is high.

        The payload of the copy is only the level, also for data. No token is shown before the first load.
        Call this method once in a module, as the names of its registers are fixed. The stream must have
        levels; repeat signals have none.
        """
        shown: Signal = pyrtl.Register(1, "holds")
        kind: Signal = DataRegister(KIND_BITS, "held_kind")
        level: Signal = DataRegister(LEVEL_BITS, "held_level")
        shown.next <<= pyrtl.select(moves, self.shown, shown)
        kind.next <<= pyrtl.select(moves, self.fields["control"], kind)
        level.next <<= pyrtl.select(moves, self.level, level)
        return Head(shown, {"control": kind, "payload": level})

    @property
    def raised(self) -> Signal:
        """Return the level of the stop, raised by one: the level of a stop that ends one more list.

        The highest level, 15, becomes 0; the sender must avoid it. Repeat signals have no level to raise.
        """
        return (self.level + 1)[:LEVEL_BITS]


def room_in(streams: Streams) -> Signal:
    """Return whether every output except ``overflow`` has a free slot; if not, a block stalls.

    Call this function once in a module, as the name of its wire is fixed.
    """
    ready = [stream.ready for label, stream in streams.outputs.items() if label != OVERFLOW]
    return alias("room", reduce(and_, ready))


def kind_of(data: Signal, stop: Signal, done: Signal) -> Signal:
    """Return the kind of a token: data, stop or done, or N if no flag is set; at most one may be set.

    The bits follow from the codes ``DATA`` 0, ``STOP`` 1, ``EMPTY`` 2 and ``DONE`` 3.
    """
    # N needs no flag of its own: without a flag, the upper bit is 1 and the lower bit 0, the code of N
    return pyrtl.concat(~data & ~stop, stop | done)


def send(stream: OutputStream, valid: Signal, kind: Signal, level: Signal, payload: Signal) -> None:
    """Offer a token: the payload of data, the level of a stop, and zeros in all other fields.

    The stream must have numbers or values; repeat signals have neither a payload nor a level.

    Args:
        stream: output to send on.
        valid: 1 in the cycles in which the token is offered.
        kind: kind of the token.
        level: level of the stop, if the token is a stop.
        payload: coordinate, reference or value, if the token is data.
    """
    stream.send(valid, token(stream, kind, level, payload))


def token(stream: OutputStream, kind: Signal, level: Signal, payload: Signal) -> dict[str, Signal]:
    """Return the fields of a token that ``send`` offers on a stream."""
    # At most one of the two is not zero, so that OR selects the one that shares the wires
    payload, level = unless(kind != DATA, payload), unless(kind != STOP, level)
    if "value" in stream.widths:
        return {"control": kind, "level": level, "value": payload}
    bits = stream.widths["payload"]
    return {"control": kind, "payload": payload.zero_extended(bits) | level.zero_extended(bits)}


def pass_on(stream: OutputStream, valid: Signal, head: Head) -> None:
    """Offer the token of a head: its kind, its level, and its payload; other fields are not passed on.

    The stream and the head must have numbers or values, as in ``send``.
    """
    send(stream, valid, head.fields["control"], head.level, head.payload)
