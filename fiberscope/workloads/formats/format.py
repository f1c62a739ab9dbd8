"""Base class of formats: the arrays of a tensor with their widths, and encoded tensors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats.bit_packing import (
    LINE_BITS,
    LINE_BYTES,
    Items,
    Words,
    item_type,
    pack_items,
    unpack_items,
)
from fiberscope.workloads.formats.numbers import check_width, convert_to_numbers, convert_to_words
from fiberscope.workloads.tensor import SparseTensor

MAX_ITEMS = 2**31  # items of an encoded array

Coordinates = tuple[Integers, ...]  # by rank
Counts = Mapping[str, float]  # nonzeros, entries, blocks ...: determine a layout with the shape


class Span(NamedTuple):
    """An array of a layout: the number of its items, possibly an expectation, and the bits of an item."""

    name: str
    length: float
    width: int

    @property
    def bits(self) -> float:
        """Return the total bits of the array."""
        return self.length * self.width


Layout = Sequence[Span]


@dataclass(frozen=True)
class Field:
    """An array of an encoded tensor.

    Args:
        name: ``row_ptr``, ``col_ids``, ``values`` ...
        width: bits of an item.
        items: unsigned integers; values as bit patterns.
    """

    name: str
    width: int
    items: Items

    @property
    def bits(self) -> int:
        """Return the total bits of the array."""
        return len(self.items) * self.width


def index_bits(size: float) -> int:
    """Return the bits that distinguish ``size`` things, at least 1."""
    return max(1, (round(size) - 1).bit_length())


class Format(ABC):
    """Base class of compression formats. Formats of the same name and parameters are equal.

    A subclass defines ``code``, ``name``, ``layout``, ``items`` and ``points``. If a layout depends on more
    than the number of nonzeros, the subclass also overrides ``count_names``, ``counts`` and
    ``expected_counts``. ``encode`` calls ``check``, ``counts``, ``layout`` and ``items``, in this order, for
    a tensor without explicit zeros. ``decode`` calls ``points``.
    """

    code: int  # format number in a header

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name of the format."""

    @property
    def parameter(self) -> int:
        """Return the width of runs or the block size, for a header."""
        return 0

    def check(self, shape: Sequence[int]) -> None:  # noqa: B027 - most hold any shape
        """Check that the format can represent a shape.

        Raises:
            WorkloadError: the format cannot represent the shape.
        """

    def holds(self, shape: Sequence[int]) -> bool:
        """Return whether ``check`` accepts a shape."""
        try:
            self.check(shape)
        except WorkloadError:
            return False
        return True

    @abstractmethod
    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return the arrays of a tensor, in stored order.

        Args:
            shape: shape of the tensor.
            counts: the numbers of ``counts``, or expectations.
            bits: bits of a value.
        """

    def count_names(self, shape: Sequence[int]) -> Sequence[str]:
        """Return the names of ``counts``, in the order of a header."""
        return ("nonzeros",)

    def counts(self, tensor: SparseTensor) -> dict[str, int]:
        """Return the numbers that determine the layout, by name, for a tensor without explicit zeros."""
        return {"nonzeros": tensor.nonzeros}

    def expected_counts(self, shape: Sequence[int], density: float) -> dict[str, float]:
        """Return the expected ``counts`` if each position is nonzero with probability ``density``, 0 to 1."""
        return {"nonzeros": density * math.prod(shape)}

    @abstractmethod
    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items of each array, by the name of its span in the layout.

        Args:
            tensor: the tensor, without explicit zeros.
            words: the value of each entry as a bit pattern.
        """

    @abstractmethod
    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the sorted coordinates of nonzeros by rank, and the values as bit patterns."""

    def size_bits(self, tensor: SparseTensor, bits: int) -> int:
        """Return the exact size in bits, without header and without explicit zeros.

        Args:
            bits: bits of a value.

        Raises:
            WorkloadError: the format cannot represent the tensor.
        """
        return int(sum(span.bits for span in self.layout_of(tensor, bits)))

    def layout_of(self, tensor: SparseTensor, bits: int) -> Layout:
        """Return the arrays of a tensor without their items.

        Raises:
            WorkloadError: the format cannot represent the tensor.
        """
        self.check(tensor.shape)
        return self.layout(tensor.shape, self.counts(tensor.without_zeros()), bits)

    def expected_bits(self, shape: Sequence[int], density: float, bits: int) -> float:
        """Return the expected size in bits if each position is nonzero with probability ``density``.

        Args:
            shape: shape of the tensor.
            density: the probability, from 0 to 1.
            bits: bits of a value.

        Raises:
            WorkloadError: the format cannot represent the shape, or the density is outside 0 to 1.
        """
        self.check(shape)
        if not 0 <= density <= 1:
            raise WorkloadError(f"a density of {density:g}", fix="it is between 0 and 1")
        return sum(span.bits for span in self.layout(shape, self.expected_counts(shape, density), bits))

    def encode(self, tensor: SparseTensor, bits: int = 32) -> Encoded:
        """Encode a tensor, exact to the bit, without its explicit zeros.

        Args:
            bits: bits of a value: 8, 16 or 32.

        Raises:
            WorkloadError: the format cannot represent the tensor, or values cannot have this width.
        """
        self.check(tensor.shape)
        check_width(bits)
        nonzeros = tensor.without_zeros()
        counts = self.counts(nonzeros)
        layout = self.layout(nonzeros.shape, counts, bits)
        if (longest := max(layout, key=lambda span: span.length)).length > MAX_ITEMS:
            fault = f"{self.name}: {longest.name} of {int(longest.length):,} items; at most {MAX_ITEMS:,}"
            raise WorkloadError(f"{fault} are made", fix="only its size can be computed")
        items = self.items(nonzeros, convert_to_words(nonzeros.values, bits))
        fields = [
            Field(name, width, np.asarray(items[name]).astype(item_type(width), copy=False))
            for name, _, width in layout
        ]
        return Encoded(self, nonzeros.shape, bits, counts, tuple(fields))

    def decode(self, encoded: Encoded) -> SparseTensor:
        """Decode an encoded tensor."""
        coordinates, words = self.points(encoded)
        return SparseTensor(encoded.shape, coordinates, convert_to_numbers(words, encoded.bits))

    def pack(self, encoded: Encoded) -> list[Words]:
        """Return the arrays as stored in memory, each in separate lines."""
        return [pack_items(field.items, field.width) for field in encoded.fields]

    def unpack(self, words: Words, layout: Layout, counts: Counts) -> list[Items]:
        """Return the items of consecutive packed arrays, in the order of the layout.

        Args:
            words: the arrays of ``pack``, concatenated.
            layout: the arrays without their items.
            counts: the numbers that determine the layout.
        """
        fields: list[Items] = []
        start = 0  # first word of the array, which begins a line of 8 words
        for _, count, width in layout:
            lines = -(-int(count) * width // LINE_BITS)
            fields.append(unpack_items(words[start : start + 8 * lines], int(count), width))
            start += 8 * lines
        return fields

    def packed_bits(self, layout: Layout) -> list[int]:
        """Return the bits of each array that has separate lines."""
        return [int(span.bits) for span in layout]

    def line_bytes(self, layout: Layout) -> int:
        """Return the bytes of the lines of a layout, which a transfer moves."""
        return sum(-(-bits // LINE_BITS) * LINE_BYTES for bits in self.packed_bits(layout))


@dataclass(frozen=True, eq=False)
class Encoded:
    """An encoded tensor, exact to the bit.

    Args:
        shape: shape of the tensor.
        bits: bits of a value.
        counts: numbers that determine the layout; ``nonzeros`` is first.
        fields: the arrays, in stored order.
    """

    format: Format
    shape: tuple[int, ...]
    bits: int
    counts: Mapping[str, int]
    fields: tuple[Field, ...]

    def __getitem__(self, name: str) -> Items:
        """Return the items of the field ``name``.

        Raises:
            KeyError: there is no such field.
        """
        for field in self.fields:
            if field.name == name:
                return field.items
        raise KeyError(name)

    @property
    def nonzeros(self) -> int:
        """The number of nonzero values."""
        return self.counts["nonzeros"]

    @property
    def layout(self) -> Layout:
        """Return the arrays without their items."""
        return [Span(field.name, len(field.items), field.width) for field in self.fields]

    @property
    def size_bits(self) -> int:
        """Return the exact size in bits without the header."""
        return sum(self.format.packed_bits(self.layout))

    @property
    def line_bytes(self) -> int:
        """Return the bytes of all lines, without the header. Each array begins on a line."""
        return self.format.line_bytes(self.layout)

    def packed(self) -> bytes:
        """Return the arrays as stored in memory, without the header."""
        return b"".join(words.tobytes() for words in self.format.pack(self))

    def decode(self) -> SparseTensor:
        """Decode the tensor."""
        return self.format.decode(self)

    def difference(self, other: Encoded) -> str | None:
        """Describe the first item in which two encodings differ; None if they are equal."""
        if (self.format, self.shape, self.bits) != (other.format, other.shape, other.bits):
            return f"{self.format.name} of {self.shape} is not {other.format.name} of {other.shape}"
        for left, right in zip(self.fields, other.fields, strict=True):
            if left.width != right.width or len(left.items) != len(right.items):
                sizes = [f"{len(field.items)} items of {field.width} bits" for field in (left, right)]
                return f"{left.name}: {sizes[0]}, not {sizes[1]}"
            wrong = np.flatnonzero(left.items != right.items)
            if len(wrong):
                item = int(wrong[0])
                return f"{left.name}[{item}] is {left.items[item]}, not {right.items[item]}"
        return None
