"""A task as units of RTL hand it on: beside its number what the event model's table has of it.

And elements as lines of memory hold them: side by side from the lowest bits up, in each the coordinate below
the value.
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

INDEX_BITS = 32  # of the number of a task, of a scale, of a row and of an element
ELEMENTS = (8, 16)  # bytes that an element may take in a line
NUMBER_BITS = 32  # of a coordinate, and of a value that is a whole number
OUTPUT = "output"  # the field for what the fiber's writer has to know
OF_WRITER: Content = {OUTPUT: Payload(INDEX_BITS + 1)}
SCALES = "scales"
INPUT = ("sources", "firsts", "ends", SCALES)  # the fields with a word for each input, input 0 lowest


class TaskInput(NamedTuple):
    """Input of a task: its data on a fiber that it combines.

    ``source`` is as in ``TaskInputs``. A fiber that has been found is elements ``first`` to ``end``; of a row
    that has not, ``first`` is its number. ``scale`` is a value, of a partial fiber any.
    """

    source: int
    first: int
    end: int
    scale: float


@dataclass(frozen=True)
class Tasks:
    """Streams of tasks.

    Args:
        radix: fibers that a task may combine.
        scale: the field of a scale.
    """

    radix: int
    scale: Field

    @property
    def widths(self) -> Mapping[str, int]:
        """Return the widths of an input's words."""
        return dict.fromkeys(INPUT, INDEX_BITS) | {SCALES: self.scale.width}

    @property
    def content(self) -> Content:
        """A task with its fibers; the reference is its number, below 0 behind the last one."""
        words = {name: Payload(width * self.radix) for name, width in self.widths.items()}
        return {"reference": INDEX_BITS, "count": Payload(self.radix.bit_length()), **words, **OF_WRITER}

    def words(self, fields: Mapping[str, Signal]) -> list[dict[str, Signal]]:
        """Return the words of each input."""
        return [
            {name: fields[name][width * i : width * (i + 1)] for name, width in self.widths.items()}
            for i in range(self.radix)
        ]

    def bits(self, inputs: Sequence[TaskInput], output: int) -> dict[str, int]:
        """The fields beside a task's number."""
        rows = [(*entry[:-1], word_of(self.scale, entry.scale)) for entry in inputs]
        words = {
            name: joined([row[i] for row in rows], width)
            for i, (name, width) in enumerate(self.widths.items())
        }
        return {"count": len(inputs), **words, OUTPUT: output}


def joined(numbers: Sequence[int], width: int) -> int:
    """Numbers side by side, the first lowest, each in two's complement."""
    return sum((number & (1 << width) - 1) << width * i for i, number in enumerate(numbers))


def word_of(number: Field, value: float) -> int:
    """The bits of a value in its field, in which a whole number's zero has no sign.

    Raises:
        ValueError: it is no whole number of so many bits.
    """
    whole = number.kind == "whole"
    bits = float_bits(value + 0.0 if whole else value)
    if not number.codec.fits(bits):
        raise ValueError(f"{value} is no {'whole number' if whole else number.kind} of {number.width} bits")
    return int(number.codec.encode(bits))


class Element(NamedTuple):
    """A coordinate and a value."""

    coordinate: int
    value: float


@dataclass(frozen=True)
class Elements:
    """Elements in lines, none of which straddles two.

    Args:
        line_bytes, element_bytes: powers of two; of an element 8 at the least, of a line twice that.
        value: the field of a value, behind which an element's bits are zero.
    """

    line_bytes: int
    element_bytes: int
    value: Field

    @property
    def count(self) -> int:
        """Return the number of pointers in a line."""
        return self.line_bytes // self.element_bytes

    @property
    def bits(self) -> int:
        """Return the bits that distinguish the elements of a line."""
        return (self.count - 1).bit_length()

    def lanes(self, line: Signal) -> list[tuple[Signal, Signal]]:
        """Coordinate and value of each element of a line."""
        lows = range(0, 8 * self.line_bytes, 8 * self.element_bytes)
        middle, end = NUMBER_BITS, NUMBER_BITS + self.value.width
        return [(line[low : low + middle], line[low + middle : low + end]) for low in lows]

    def lane(self, coordinate: Signal, value: Signal) -> Signal:
        """An element as it lies in a line."""
        return pyrtl.concat(value.zero_extended(8 * self.element_bytes - NUMBER_BITS), coordinate)

    def ends_in(self, line: Signal, end: Signal) -> Signal:
        """Return whether the last element before an end is in a line; there is no subtraction."""
        upper = end[self.bits :]
        return pyrtl.select(end[: self.bits] == 0, follows(upper, line), upper == line)

    def packed(self, elements: Sequence[Element]) -> int:
        """The line of these elements.

        Raises:
            ValueError: a value is none of such a field.
        """
        words = [
            word_of(self.value, element.value) << NUMBER_BITS | element.coordinate for element in elements
        ]
        return joined(words, 8 * self.element_bytes)

    def unpacked(self, line: int) -> list[Element]:
        """The elements of a line."""
        codec, coordinate = self.value.codec, (1 << NUMBER_BITS) - 1
        words = [line >> 8 * self.element_bytes * i for i in range(self.count)]
        values = [float_of(codec.decode(word >> NUMBER_BITS & codec.mask)) for word in words]
        return [Element(word & coordinate, value) for word, value in zip(words, values, strict=True)]


class OfLines(ValueParameters):
    """Base of the parameters of what moves elements in lines between a cache and itself."""

    line_bytes: int
    element_bytes: int
    value_bits = NUMBER_BITS

    @property
    def elements(self) -> Elements:
        """Return the layout of elements in lines."""
        return Elements(self.line_bytes, self.element_bytes, self.value_field)

    @property
    def memory_port(self) -> MemoryPort:
        """The port to the cache."""
        return MemoryPort(line_bits=8 * self.line_bytes)


def line_offset(number: Signal, line_bytes: int) -> Signal:
    """Return the offset of a line within its tensor: the lower part of an address."""
    offset = pyrtl.concat(number, pyrtl.Const(0, line_bytes.bit_length() - 1))
    return resized(offset, TENSOR_SHIFT)
