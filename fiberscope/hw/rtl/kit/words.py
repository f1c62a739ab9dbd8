"""A module's ports as two arrays of words: the plan of which field of which stream stands where.

It is made once; from there on whoever runs the module and whoever stands around it meet in the arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fiberscope.hw.rtl.kit.codec import WORD
from fiberscope.hw.rtl.kit.interface import CLOCKING, Direction, Interface, Wire

__all__ = ["Piece", "Words", "joined", "pieces"]


@dataclass(frozen=True)
class Piece:
    """Bits of a wire that have a word to themselves: a field, or as much of something wide as goes in."""

    wire: str
    low: int
    width: int


def pieces(wires: Iterable[Wire], fields: Mapping[str, int]) -> list[Piece]:
    """The wires in pieces, each of which has the next word.

    Args:
        wires: what is laid out.
        fields: bits of each field of a wire that holds several side by side, by its name.
    """
    steps = ((wire, fields.get(wire.name, WORD)) for wire in wires)
    return [
        Piece(wire.name, low, min(step, wire.width - low))
        for wire, step in steps
        for low in range(0, wire.width, step)
    ]


class Words:
    """The words of a module's ports, all 0 at first; clock and reset are not among them.

    Args:
        interface: the ports.

    ``inputs`` and ``outputs`` are the arrays, ``layout`` has for each direction which piece is in which word.
    ``unknown`` has the wires that are X or Z in the present cycle, with their bits as text; they count as 0.
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
        """The word of the piece of a wire that begins at this bit."""
        return next(
            i for i, piece in enumerate(self.layout[direction]) if (piece.wire, piece.low) == (wire, low)
        )

    def driven(self) -> dict[str, int]:
        """The bits at every input of the module."""
        return joined(self.layout["input"], self.inputs)

    def seen(self) -> dict[str, int]:
        """The bits at every output."""
        return joined(self.layout["output"], self.outputs)

    def drive(self, wires: Mapping[str, int]) -> None:
        """Set inputs, those that are named."""
        _split(self.layout["input"], self.inputs, wires)

    def show(self, wires: Mapping[str, int]) -> None:
        """Set outputs, those that are named."""
        _split(self.layout["output"], self.outputs, wires)


def joined(plan: Sequence[Piece], words: Sequence[int]) -> dict[str, int]:
    """The bits of every wire, of which the words hold the pieces."""
    wires: dict[str, int] = {}
    for piece, word in zip(plan, words, strict=True):
        wires[piece.wire] = wires[piece.wire] | word << piece.low if piece.low else word
    return wires


def _split(plan: Sequence[Piece], words: array[int], wires: Mapping[str, int]) -> None:
    for i, piece in enumerate(plan):
        if piece.wire in wires:
            words[i] = wires[piece.wire] >> piece.low & (1 << piece.width) - 1
