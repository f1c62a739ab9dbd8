"""A task as units of RTL hand it on: beside its number what the event model's table has of it.

And elements as lines of memory hold them: side by side from the lowest bits up, in each the coordinate below
the value, which is a whole number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyrtl

from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.rtl.kit.interface import Content, Field, Payload
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.twin import Signal

__all__ = [
    "INDEX_BITS",
    "INPUT",
    "NUMBER",
    "NUMBER_BITS",
    "OUTPUT",
    "Element",
    "Elements",
    "OfLines",
    "TaskInput",
    "Tasks",
    "joined",
    "line_offset",
]

INDEX_BITS = 32  # of the number of a task, of a scale, of a row and of an element
NUMBER_BITS = 32  # of a coordinate, and of a value
NUMBER = Field("value", NUMBER_BITS, "whole")
OUTPUT = "output"  # the field for what the fiber's writer has to know
OUTPUT_BITS = INDEX_BITS + 1
INPUT = ("sources", "firsts", "ends", "scales")  # the fields with a word for each input, input 0 lowest


class TaskInput(NamedTuple):
    """What a task knows of a fiber that it combines.

    ``source`` is as in ``TaskInputs``. A fiber that has been found is elements ``first`` to ``end``; of a row
    that has not, ``first`` is its number. ``scale`` is a whole number, of a partial fiber any.
    """

    source: int
    first: int
    end: int
    scale: int


@dataclass(frozen=True)
class Tasks:
    """Streams of tasks.

    Args:
        radix: fibers that a task may combine.
    """

    radix: int

    @property
    def content(self) -> Content:
        """A task with its fibers; the reference is its number, below 0 behind the last one."""
        words = dict.fromkeys(INPUT, Payload(INDEX_BITS * self.radix))
        return {"reference": INDEX_BITS, "count": Payload(self.radix.bit_length()), **words, **self.output}

    @property
    def output(self) -> Content:
        """What the fiber's writer has to know."""
        return {OUTPUT: Payload(OUTPUT_BITS)}

    def words(self, fields: Mapping[str, Signal]) -> list[dict[str, Signal]]:
        """By input, its words."""
        places = [slice(INDEX_BITS * i, INDEX_BITS * (i + 1)) for i in range(self.radix)]
        return [{name: fields[name][place] for name in INPUT} for place in places]

    def bits(self, inputs: Sequence[TaskInput], output: int) -> dict[str, int]:
        """The fields beside a task's number."""
        columns = zip(INPUT, zip(*inputs, strict=True), strict=True)
        words = {name: joined(column, INDEX_BITS) for name, column in columns}
        return {"count": len(inputs), **words, OUTPUT: output}


def joined(numbers: Sequence[int], width: int) -> int:
    """Numbers side by side, the first lowest, each in two's complement."""
    return sum((number & (1 << width) - 1) << width * i for i, number in enumerate(numbers))


class Element(NamedTuple):
    """A coordinate and a whole number."""

    coordinate: int
    value: int


@dataclass(frozen=True)
class Elements:
    """Elements in lines, none of which straddles two.

    Args:
        line_bytes, element_bytes: powers of two; of an element 8 at the least, of a line twice that.
    """

    line_bytes: int
    element_bytes: int

    @property
    def count(self) -> int:
        """In a line."""
        return self.line_bytes // self.element_bytes

    @property
    def bits(self) -> int:
        """That tell the elements of a line apart."""
        return (self.count - 1).bit_length()

    def lanes(self, line: Signal) -> list[tuple[Signal, Signal]]:
        """Coordinate and value of each element of a line."""
        lows = range(0, 8 * self.line_bytes, 8 * self.element_bytes)
        return [
            (line[low : low + NUMBER_BITS], line[low + NUMBER_BITS : low + 2 * NUMBER_BITS]) for low in lows
        ]

    def lane(self, coordinate: Signal, value: Signal) -> Signal:
        """An element as it lies in a line."""
        return pyrtl.concat(value.sign_extended(8 * self.element_bytes - NUMBER_BITS), coordinate)

    def packed(self, elements: Sequence[Element]) -> int:
        """The line of these elements."""
        width = 8 * self.element_bytes
        return joined([element.value << NUMBER_BITS | element.coordinate for element in elements], width)

    def unpacked(self, line: int) -> list[Element]:
        """The elements of a line."""
        mask, half = (1 << NUMBER_BITS) - 1, 1 << NUMBER_BITS - 1
        words = [line >> 8 * self.element_bytes * i for i in range(self.count)]
        return [Element(word & mask, ((word >> NUMBER_BITS & mask) ^ half) - half) for word in words]


class OfLines:
    """Of parameters: what moves elements in lines between a cache and itself."""

    line_bytes: int
    element_bytes: int

    @property
    def elements(self) -> Elements:
        """In lines."""
        return Elements(self.line_bytes, self.element_bytes)

    @property
    def memory(self) -> MemoryPort:
        """The port to the cache."""
        return MemoryPort(line_bits=8 * self.line_bytes)


def line_offset(number: Signal, line_bytes: int) -> Signal:
    """Where the line of a number lies within its tensor: the lower part of an address."""
    offset = pyrtl.concat(number, pyrtl.Const(0, line_bytes.bit_length() - 1))
    return offset.zero_extended(max(len(offset), TENSOR_SHIFT))[:TENSOR_SHIFT]
