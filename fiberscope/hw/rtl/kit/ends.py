# cython: infer_types=True
"""Ends of a module's streams at channels: conversion between tokens and words of the ports.

The machine's channels carry tokens; the module's ports carry bits, in the arrays of ``Words``. In each cycle
the adapter calls ``End.update`` before the module runs, then reads ``End.moves``, and calls ``End.move`` for
each stream that moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.rtl.kit.codec import Codec
from fiberscope.hw.rtl.kit.interface import FIELDS, MASK, Bundle, Stream, Token, Transfer, misfit
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.hw.stream import EMPTY
from fiberscope.sim.channel import Channel
from fiberscope.sim.constants import FIRST_STALL

CONTROL, COORDINATE, REFERENCE, VALUE = range(len(FIELDS))  # indices of a token's fields
NOTHING = -1  # in place of the number of a token: an input shows no token
NO_MASK = -1  # in place of the index of a word: the stream has no mask


class Cell:  # C: final
    """A field of a lane, and where its number is in the token and at the ports.

    Args:
        codec: conversion between the number and its bits.
        part: index of the token's field in ``FIELDS``.
        word: index of the field's word in ``Words.inputs`` or ``Words.outputs``.
        name: name of the field in the stream.
    """

    def __init__(self, codec: Codec, part: int, word: int, name: str) -> None:
        self.codec = codec
        self.part = part
        self.word = word
        self.name = name


class Lane:  # C: final
    """A channel at a module, and the fields of its tokens.

    Args:
        stream: stream of the channel.
        number: lane of the channel in the stream.
        words: the module's ports.

    ``show`` and ``hide`` are for inputs of the module, ``push`` is for outputs.
    """

    def __init__(self, channel: Channel, stream: Stream, number: int, words: Words) -> None:
        self.channel = channel
        self.stream = stream
        self.cells = [
            Cell(
                field.codec,
                FIELDS.index(field.part),
                words.place(stream.direction, stream.wire(name), number * field.width),
                name,
            )
            for name, field in stream.fields.items()
        ]
        self._mask = (  # C: long
            words.place(stream.direction, stream.wire(MASK), number) if MASK in stream.widths else NO_MASK
        )
        self._stopped_by = [cell for cell in self.cells if cell.part == CONTROL]
        self._words = words.inputs if stream.direction == "input" else words.outputs  # C: unsigned long[::1]
        same = memoryview(bytearray(8))
        # the same 8 bytes as an integer and as a double, to convert a value without a change of its bits
        self._bits, self._values = same.cast("q"), same.cast("d")

    def show(self) -> None:  # C: cdef
        """Write the head of the channel into the words.

        Raises:
            SimulationError: a field does not fit its wire.
        """
        has_token = self._mask == NO_MASK or self.channel.control() != EMPTY
        if self._mask != NO_MASK:
            self._words[self._mask] = has_token
        if has_token:
            self._show_fields()
        else:
            self._blank()

    def _show_fields(self) -> None:
        """Write the fields of the head into the words."""
        for cell in self.cells:  # C: Cell
            number = self._part(cell.part)
            if not cell.codec.fits(number):
                raise self._misfit(cell, number)
            self._words[cell.word] = cell.codec.encode(number)

    def hide(self) -> None:  # C: cdef, noexcept
        """Write zeros into the words."""
        if self._mask != NO_MASK:
            self._words[self._mask] = 0
        self._blank()

    def _blank(self) -> None:  # C: noexcept
        """Write zeros into all fields."""
        for cell in self.cells:  # C: Cell
            self._words[cell.word] = 0

    def push(self) -> None:  # C: cdef
        """Push the token in the words."""
        if self.is_empty():
            self.channel.push(EMPTY)
        else:
            self._push_fields()

    def _push_fields(self) -> None:
        """Push the token in the words, with 0 for fields without a wire."""
        control = coordinate = reference = 0  # C: reference=long, control=long, coordinate=long
        self._bits[0] = 0
        for cell in self.cells:  # C: Cell
            number = cell.codec.decode(self._words[cell.word])  # C: long
            if cell.part == CONTROL:
                control = number
            elif cell.part == COORDINATE:
                coordinate = number
            elif cell.part == REFERENCE:
                reference = number
            else:
                self._bits[0] = number
        self.channel.push(control, coordinate, reference, self._values[0])

    def is_empty(self) -> bool:  # C: cdef, noexcept
        """Return whether the mask marks the lane as empty."""
        return self._mask != NO_MASK and self._words[self._mask] == 0

    def is_stop(self) -> bool:  # C: cdef, noexcept
        """Return whether the control of the token in the words is not 0; false for a lane without control."""
        for cell in self._stopped_by:  # C: Cell
            return self._words[cell.word] != 0
        return False

    def token(self) -> Token:  # C: cpdef
        """Return the token in the words, with 0 for fields without a wire."""
        if self.is_empty():
            return Token(EMPTY, 0, 0, 0.0)
        numbers = dict.fromkeys(FIELDS, 0)
        for cell in self.cells:  # C: Cell
            numbers[FIELDS[cell.part]] = cell.codec.decode(self._words[cell.word])
        self._bits[0] = numbers.pop("value")
        return Token(**numbers, value=self._values[0])

    def _part(self, part: int) -> int:  # C: noexcept
        """Return a part of the head; a value as its bits."""
        if part == CONTROL:
            return self.channel.control()
        if part == COORDINATE:
            return self.channel.coordinate()
        if part == REFERENCE:
            return self.channel.reference()
        self._values[0] = self.channel.value()
        return self._bits[0]

    def _misfit(self, cell: Cell, number: int) -> Exception:
        if cell.part == VALUE:
            return misfit(self.stream, cell.name, self.channel.value())
        return misfit(self.stream, cell.name, number)


class End:  # C: final
    """A stream of a module and the channels of its lanes.

    Args:
        lanes: its lanes, at least one; several for a bundle.
        words: the module's ports.

    Attributes:
        rows: number of transfers so far.
        tokens: number of tokens that moved, without empty lanes.
        elements: number of these tokens that are no stops.
        in_fiber: whether the last token was an element of a fiber, whose stop is still missing.
        is_open: whether the machine's side allows a transfer in this cycle: every lane of an input has a
            token, or every lane of an output has space.
        is_quiet: whether transfers here do not count as work of the module.
    """

    def __init__(self, stream: Stream, lanes: Sequence[Lane], words: Words) -> None:
        self.stream = stream
        self.lanes = list(lanes)
        self.first = lanes[0]
        self.is_bundle = isinstance(stream, Bundle)
        self.is_input = stream.direction == "input"
        self.is_open = False
        self.is_quiet = False  # C: public; its tokens alone do not keep the module busy
        self.in_fiber = False
        self.rows = 0
        self.tokens = 0
        self.elements = 0
        self._has_stops = any(field.part == "control" for field in stream.fields.values())
        self._head = NOTHING  # number of the input token at the module's port
        said, answered = ("valid", "ready") if self.is_input else ("ready", "valid")
        self._shown_place = words.place("input", stream.wire(said))  # C: long
        self._answered = words.place("output", stream.wire(answered))  # C: long
        self._ahead = stream.lane  # tokens that lower lanes send into the channel first
        self._inputs, self._outputs = (
            words.inputs,
            words.outputs,
        )  # C: _outputs=unsigned long[::1], _inputs=unsigned long[::1]

    @property
    def stops(self) -> int:
        """Return the number of stops that moved, which is the number of complete fibers."""
        return self.tokens - self.elements

    def update(self) -> bool:  # C: cdef
        """Update the module's view of this stream; return whether it changed."""
        return self._show_head() if self.is_input else self._show_room()

    def _show_head(self) -> bool:
        """Show the head of an input, or zeros if a lane lacks a token; return whether this changed."""
        channel = self.first.channel
        if self._head == channel.pops:
            return False  # the token stays until it is popped
        head = channel.pops if self.waits_at() is None else NOTHING
        if head == self._head:
            return False
        self._head = head
        self.is_open = head != NOTHING
        self._inputs[self._shown_place] = self.is_open
        for lane in self.lanes:  # C: Lane
            if self.is_open:
                lane.show()
            else:
                lane.hide()
        return True

    def _show_room(self) -> bool:
        """Show whether an output has space; return whether this changed."""
        room = self._has_room()
        if room == self.is_open:
            return False
        self.is_open = room
        self._inputs[self._shown_place] = room
        return True

    def _has_room(self) -> bool:
        if self._ahead > 0:
            return self.first.channel.space() > self._ahead
        return self.waits_at() is None

    def moves(self) -> bool:  # C: noexcept
        """Return whether a token moves at the end of this cycle."""
        return self.is_open and self._outputs[self._answered] != 0

    def is_blocked(self) -> bool:  # C: cdef, noexcept
        """Return whether the module offers a token without space for it."""
        return not self.is_input and not self.is_open and self._outputs[self._answered] != 0

    def move(self) -> None:  # C: cdef
        """Move a token, or a row."""
        self.rows += 1
        for lane in self.lanes:  # C: Lane
            if not lane.is_empty():
                is_element = not lane.is_stop()
                self.tokens += 1
                self.elements += is_element
                self.in_fiber = is_element and self._has_stops
            if self.is_input:
                lane.channel.pop()
            else:
                lane.push()

    def is_begun(self) -> bool:  # C: noexcept
        """Return whether an input has a token in any lane."""
        for lane in self.lanes:  # noqa: SIM110  (compiled)  # C: Lane
            if lane.channel.can_pop():
                return True
        return False

    def waits_at(self) -> Channel | None:
        """Return the first channel that blocks the transfer: without a token, or without space.

        A channel without space then wakes the module's adapter when it has space.
        """
        if self._ahead > 0:
            return None if self._has_room() else self.first.channel
        for lane in self.lanes:  # C: Lane
            open_ = lane.channel.can_pop() if self.is_input else lane.channel.can_push()  # C: bint
            if not open_:
                return lane.channel
        return None

    def token(self) -> Transfer:  # C: lane=Lane, cpdef
        """Return the token that moves; for a bundle, a token for each lane."""
        if not self.is_bundle:
            return self.first.token()
        return tuple([lane.token() for lane in self.lanes])

    def stalls(self) -> tuple[int, ...]:
        """Return the accounting states of a component that waits here, or at any port of the array."""
        states: list[int] = []
        for lane in self.lanes:  # C: Lane
            channel = lane.channel  # C: Channel
            states += (
                (channel.reader_state, channel.any_reader_state)
                if self.is_input
                else (channel.writer_state, channel.any_writer_state)
            )
        return tuple([state for state in dict.fromkeys(states) if state >= FIRST_STALL])
