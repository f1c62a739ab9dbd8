# cython: infer_types=True
"""Packs elements into lines, one behind the other; a part of a component."""

from __future__ import annotations


class LinePacker:  # C: final
    """Elements that follow one another without a gap, and the lines that they fill.

    A line may go out when an element ``fills`` it, and at the end where one is ``begun``.

    Args:
        line_bytes: of a line.
        element_bytes: of an element; no more than a line.

    Raises:
        ValueError: if an element is larger than a line.
    """

    def __init__(self, line_bytes: int, element_bytes: int) -> None:
        if not 1 <= element_bytes <= line_bytes:
            raise ValueError(f"an element of {element_bytes} bytes should fit a line of {line_bytes} bytes")
        self.line_bytes = line_bytes
        self.element_bytes = element_bytes
        self.bytes = 0  # of the elements so far

    def begin(self) -> None:  # C: noexcept
        """Begin with an empty line."""
        self.bytes = 0

    def fills(self) -> bool:  # C: noexcept
        """Return whether the next element brings the last byte of a line."""
        return self.bytes % self.line_bytes + self.element_bytes >= self.line_bytes

    def elements_before(self, lines: int) -> int:  # C: noexcept
        """Return the number of elements before the one that fills the line behind so many more lines."""
        missing = (lines + 1) * self.line_bytes - self.bytes % self.line_bytes
        return (missing + self.element_bytes - 1) // self.element_bytes - 1

    def begun(self) -> bool:  # C: noexcept
        """Return whether a line has been begun and is not full."""
        return self.bytes % self.line_bytes > 0

    def line(self) -> int:  # C: noexcept
        """Return where the line of the next byte begins, counted from the first byte."""
        return self.number() * self.line_bytes

    def number(self) -> int:  # C: noexcept
        """Return the number of that line, counted from the first."""
        return self.bytes // self.line_bytes

    def add(self) -> None:  # C: noexcept
        """An element joins."""
        self.bytes += self.element_bytes

    def pads(self, row_bytes: int) -> bool:  # C: noexcept
        """Return whether a row of so many bytes, which divide a line, ends a line that was begun."""
        return self.begun() and self._row_end(row_bytes) % self.line_bytes == 0

    def pad(self, row_bytes: int) -> None:  # C: noexcept
        """The next element begins such a row."""
        self.bytes = self._row_end(row_bytes)

    def _row_end(self, row_bytes: int) -> int:  # C: noexcept
        return (self.bytes + row_bytes - 1) // row_bytes * row_bytes
