# cython: infer_types=True
"""Packing of elements into lines, contiguously or padded to whole rows, as part of a component."""

from __future__ import annotations


class LinePacker:  # C: final
    """The position of consecutive elements in the lines that they fill, without their contents.

    A component writes a line when the next element completes it, and at the end if a line is partly filled.

    Args:
        element_bytes: bytes of an element, at most ``line_bytes``.

    Raises:
        ValueError: if ``element_bytes`` is not from 1 to ``line_bytes``.
    """

    def __init__(self, line_bytes: int, element_bytes: int) -> None:
        if not 1 <= element_bytes <= line_bytes:
            raise ValueError(f"an element of {element_bytes} bytes should fit a line of {line_bytes} bytes")
        self.line_bytes = line_bytes
        self.element_bytes = element_bytes
        self.bytes = 0  # bytes added so far, with padding

    def reset(self) -> None:  # C: noexcept
        """Start again with an empty line."""
        self.bytes = 0

    def completes_line(self) -> bool:  # C: noexcept
        """Return whether the next element contains the last byte of a line."""
        return self.bytes % self.line_bytes + self.element_bytes >= self.line_bytes

    def elements_before(self, line: int) -> int:  # C: noexcept
        """Return the number of further elements before the one that fills line ``line``.

        Line 0 is the line of the next byte.
        """
        missing = (line + 1) * self.line_bytes - self.bytes % self.line_bytes
        return (missing + self.element_bytes - 1) // self.element_bytes - 1

    def has_partial_line(self) -> bool:  # C: noexcept
        """Return whether the current line has bytes but is not full."""
        return self.bytes % self.line_bytes > 0

    def line_offset(self) -> int:  # C: noexcept
        """Return the byte offset of the line of the next byte; the line to write, if ``completes_line``."""
        return self.line_number() * self.line_bytes

    def line_number(self) -> int:  # C: noexcept
        """Return the number of the line of the next byte, from 0 on."""
        return self.bytes // self.line_bytes

    def add(self) -> None:  # C: noexcept
        """Add an element."""
        self.bytes += self.element_bytes

    def pads(self, row_bytes: int) -> bool:  # C: noexcept
        """Return whether padding to a whole row of ``row_bytes`` completes a begun line.

        ``row_bytes`` must divide ``line_bytes``.
        """
        return self.has_partial_line() and self._row_end(row_bytes) % self.line_bytes == 0

    def pad(self, row_bytes: int) -> None:  # C: noexcept
        """Pad to a whole row of ``row_bytes``, so that the next element begins a row."""
        self.bytes = self._row_end(row_bytes)

    def _row_end(self, row_bytes: int) -> int:  # C: noexcept
        return (self.bytes + row_bytes - 1) // row_bytes * row_bytes
