"""Formats of tasks on streams, and of elements in lines of memory, for RTL.

In the event model, a token of a task is only a number, and the components look up the task in a shared table
(``TaskInputs``). In RTL, the token also carries the task's entries of this table.

A line of memory holds its first element in its lowest bits. Each element has its coordinate below its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyrtl

from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.rtl.kit.arithmetic import ValueParameters
from fiberscope.hw.rtl.kit.interface import Content, Field, Payload, float_bits, float_of
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.trees import follows
from fiberscope.hw.rtl.kit.twin import Signal, resized

INDEX_BITS = 32  # width of the number of a task, of a scale, of a row and of an element
ELEMENTS = (8, 16)  # possible sizes of an element in a line, in bytes
NUMBER_BITS = 32  # width of a coordinate, and of a value that is an integer
OUTPUT = "output"  # the field with data for the writer of the task's fiber
WRITER_FIELDS: Content = {OUTPUT: Payload(INDEX_BITS + 1)}
SCALES = "scales"
# The fields with a word for each input; the word of input 0 is lowest.
INPUT_FIELDS = ("sources", "firsts", "ends", SCALES)


class TaskInput(NamedTuple):
    """An input of a task: a fiber that the task combines.

    Args:
        source: number of the input, as in ``TaskInputs.inputs``; negative for a partial fiber.
        first: first element of the fiber; for a row that has not been located, the number of the row.
        end: the element after the last one of the fiber, once it has been located.
        scale: factor of the elements of a row; of no effect for a partial fiber.
    """

    source: int
    first: int
    end: int
    scale: float


@dataclass(frozen=True)
class Tasks:
    """Format of the tokens of a stream of tasks.

    Args:
        radix: largest number of fibers that a task combines.
        scale: field of a scale.
    """

    radix: int
    scale: Field

    @property
    def widths(self) -> Mapping[str, int]:
        """Return the width in bits of each word of an input, by field."""
        return dict.fromkeys(INPUT_FIELDS, INDEX_BITS) | {SCALES: self.scale.width}

    @property
    def content(self) -> Content:
        """Return the fields of a task token.

        ``reference`` is the number of the task, negative after the last task; ``count`` is the number of its
        inputs.
        """
        words = {name: Payload(width * self.radix) for name, width in self.widths.items()}
        return {"reference": INDEX_BITS, "count": Payload(self.radix.bit_length()), **words, **WRITER_FIELDS}

    def words(self, fields: Mapping[str, Signal]) -> list[dict[str, Signal]]:
        """Return the words of each input of a task token with these fields, by field."""
        return [
            {name: fields[name][width * i : width * (i + 1)] for name, width in self.widths.items()}
            for i in range(self.radix)
        ]

    def bits(self, inputs: Sequence[TaskInput], output: int) -> dict[str, int]:
        """Return the values of all fields of a task token except its number.

        Args:
            inputs: the inputs, at most ``radix``.
            output: value of the field ``OUTPUT``.

        Raises:
            ValueError: if a scale does not fit its field.
        """
        rows = [(*entry[:-1], word_of(self.scale, entry.scale)) for entry in inputs]
        words = {
            name: joined([row[i] for row in rows], width)
            for i, (name, width) in enumerate(self.widths.items())
        }
        return {"count": len(inputs), **words, OUTPUT: output}


def joined(numbers: Sequence[int], width: int) -> int:
    """Return numbers packed into one word, the first lowest, each in two's complement with ``width`` bits."""
    return sum((number & (1 << width) - 1) << width * i for i, number in enumerate(numbers))


def word_of(number: Field, value: float) -> int:
    """Return the bits of a value in its field.

    Args:
        number: the field.

    Raises:
        ValueError: if the field cannot represent the value.
    """
    whole = number.kind == "whole"
    bits = float_bits(value + 0.0 if whole else value)  # + 0.0 makes -0.0 to 0.0: an integer has no -0
    if not number.codec.fits(bits):
        raise ValueError(f"{value} is no {'whole number' if whole else number.kind} of {number.width} bits")
    return int(number.codec.encode(bits))


class Element(NamedTuple):
    """An element of a fiber: its coordinate and its value."""

    coordinate: int
    value: float


@dataclass(frozen=True)
class Elements:
    """Layout of elements in lines; no element straddles two lines.

    Args:
        line_bytes: bytes of a line, a power of two, at least ``2 * element_bytes``.
        element_bytes: bytes of an element, a power of two, at least 8.
        value: field of a value; the bits of an element above it are zero.
    """

    line_bytes: int
    element_bytes: int
    value: Field

    @property
    def count(self) -> int:
        """Return the number of elements in a line."""
        return self.line_bytes // self.element_bytes

    @property
    def bits(self) -> int:
        """Return the width of the number of an element within its line."""
        return (self.count - 1).bit_length()

    def lanes(self, line: Signal) -> list[tuple[Signal, Signal]]:
        """Return the coordinate and the value of each element of a line."""
        lows = range(0, 8 * self.line_bytes, 8 * self.element_bytes)
        middle, end = NUMBER_BITS, NUMBER_BITS + self.value.width
        return [(line[low : low + middle], line[low + middle : low + end]) for low in lows]

    def lane(self, coordinate: Signal, value: Signal) -> Signal:
        """Return the bits of an element in a line."""
        return pyrtl.concat(value.zero_extended(8 * self.element_bytes - NUMBER_BITS), coordinate)

    def ends_in(self, line: Signal, end: Signal) -> Signal:
        """Return whether element ``end`` - 1 is in the line with this number.

        The comparison with ``follows`` avoids the carry chain of the subtraction.
        """
        upper = end[self.bits :]
        return pyrtl.select(end[: self.bits] == 0, follows(upper, line), upper == line)

    def packed(self, elements: Sequence[Element]) -> int:
        """Return the line with these elements, as an integer.

        Raises:
            ValueError: if a value does not fit its field.
        """
        words = [
            word_of(self.value, element.value) << NUMBER_BITS | element.coordinate for element in elements
        ]
        return joined(words, 8 * self.element_bytes)

    def unpacked(self, line: int) -> list[Element]:
        """Return the elements of a line, which is given as an integer; the inverse of ``packed``."""
        codec, coordinate = self.value.codec, (1 << NUMBER_BITS) - 1
        words = [line >> 8 * self.element_bytes * i for i in range(self.count)]
        values = [float_of(codec.decode(word >> NUMBER_BITS & codec.mask)) for word in words]
        return [Element(word & coordinate, value) for word, value in zip(words, values, strict=True)]


class LineParameters(ValueParameters):
    """Base of the parameters of modules that exchange lines of elements with a cache."""

    line_bytes: int
    element_bytes: int
    value_bits = NUMBER_BITS

    @property
    def elements(self) -> Elements:
        """Return the layout of elements in lines."""
        return Elements(self.line_bytes, self.element_bytes, self.value_field)

    @property
    def memory_port(self) -> MemoryPort:
        """Return the format of the port to the cache."""
        return MemoryPort(line_bits=8 * self.line_bytes)


def line_offset(number: Signal, line_bytes: int) -> Signal:
    """Return the byte offset of a line within its tensor, which is the lower part of an address.

    Args:
        number: number of the line, from the start of the tensor.
        line_bytes: bytes of a line, a power of two.
    """
    offset = pyrtl.concat(number, pyrtl.Const(0, line_bytes.bit_length() - 1))
    return resized(offset, TENSOR_SHIFT)
