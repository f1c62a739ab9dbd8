"""Ports of a module as two arrays of 64-bit words, one for the inputs and one for the outputs.

Each field of a port has a word of its own, and a field of more than 64 bits has several. An adapter writes
the inputs and reads the outputs; the backend that runs the module reads the inputs and writes the outputs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fiberscope.hw.rtl.kit.codec import WORD
from fiberscope.hw.rtl.kit.interface import CLOCKING, Direction, Interface, Wire


@dataclass(frozen=True)
class Piece:
    """Bits of a wire in one word: a field, or a part of a wide field.

    Args:
        wire: name of the wire.
        low: lowest of the bits in the wire.
        width: number of bits, 1 to 64.
    """

    wire: str
    low: int
    width: int


def pieces(wires: Iterable[Wire], fields: Mapping[str, int]) -> list[Piece]:
    """Divide wires into pieces; the piece at index i is in word i.

    Args:
        fields: for each wire with adjacent fields of several lanes, the bits of one field; other wires are
            divided after 64 bits.
    """
    steps = ((wire, fields.get(wire.name, WORD)) for wire in wires)
    return [
        Piece(wire.name, low, min(step, wire.width - low))
        for wire, step in steps
        for low in range(0, wire.width, step)
    ]


class Words:
    """The words of a module's ports, initially 0, without clock and reset.

    Args:
        interface: the ports.

    ``inputs`` and ``outputs`` are the arrays; ``layout`` has, for each direction, the piece of each word.
    ``unknown`` has the wires that are X or Z in this cycle, with their bits as text; these bits are 0 in the
    words.
    """

    def __init__(self, interface: Interface) -> None:
        fields = dict(field for stream in interface.streams for field in stream.packed())
        wires = [wire for wire in interface.wires() if wire.name not in CLOCKING]
        self.layout: dict[Direction, list[Piece]] = {
            "input": pieces((wire for wire in wires if wire.direction == "input"), fields),
            "output": pieces((wire for wire in wires if wire.direction == "output"), fields),
        }
        self.inputs = array("Q", bytes(8 * len(self.layout["input"])))
        self.outputs = array("Q", bytes(8 * len(self.layout["output"])))
        self.unknown: dict[str, str] = {}

    def place(self, direction: Direction, wire: str, low: int = 0) -> int:
        """Return the index of the word with the piece of a wire that begins at bit ``low``.

        Args:
            direction: whether the wire is an input or an output of the module.
            wire: name of the wire.
            low: lowest bit of the piece; for a field of several lanes, the lowest bit of the lane.

        Raises:
            StopIteration: no piece of such a wire begins there.
        """
        return next(
            i for i, piece in enumerate(self.layout[direction]) if (piece.wire, piece.low) == (wire, low)
        )

    def driven(self) -> dict[str, int]:
        """Return the bits of every input of the module."""
        return joined(self.layout["input"], self.inputs)

    def seen(self) -> dict[str, int]:
        """Return the bits of every output; 0 where ``unknown`` has X or Z."""
        return joined(self.layout["output"], self.outputs)

    def drive(self, wires: Mapping[str, int]) -> None:
        """Set the given inputs, by name of the wire; the others keep their bits."""
        _split(self.layout["input"], self.inputs, wires)

    def show(self, wires: Mapping[str, int]) -> None:
        """Set the given outputs, by name of the wire; the others keep their bits."""
        _split(self.layout["output"], self.outputs, wires)


def joined(plan: Sequence[Piece], words: Sequence[int]) -> dict[str, int]:
    """Return the bits of every wire from the words of its pieces.

    Args:
        plan: the pieces; those of a wire in ascending order, as ``pieces`` returns them.
        words: the word of each piece.
    """
    wires: dict[str, int] = {}
    for piece, word in zip(plan, words, strict=True):
        # The piece at bit 0 is the first of its wire, and begins the number.
        wires[piece.wire] = wires[piece.wire] | word << piece.low if piece.low else word
    return wires


def _split(plan: Sequence[Piece], words: array[int], wires: Mapping[str, int]) -> None:
    """Write the bits of the given wires to the words of their pieces."""
    for i, piece in enumerate(plan):
        if piece.wire in wires:
            words[i] = wires[piece.wire] >> piece.low & (1 << piece.width) - 1
