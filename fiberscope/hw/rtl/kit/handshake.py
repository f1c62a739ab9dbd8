"""A check of the handshake at a module's outputs: a token stays offered, unchanged, until it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.words import Words

__all__ = ["HandshakeMonitor"]


@dataclass(frozen=True)
class _Output:
    """An output stream, the words of its ``ready``, ``valid`` and fields, and its port without the lane."""

    stream: Stream
    ready: int
    valid: int
    fields: Sequence[int]
    port: tuple[str, int]


class HandshakeMonitor:
    """Watches the outputs of a module in every cycle that it runs.

    A token that is offered (``valid`` without ``ready``) must be offered again in the next cycle, with the
    same fields. A lane is exempt where another lane of its port moves a token, since what is left moves up.

    Args:
        name: instance name, for the text.
        interface: the module's ports.
        words: the bits at them.
        arbiters: component's ports at which another token may take the place of the one that is offered.

    Attributes:
        violation: the first cycle in which a token is withdrawn or changed, and a text that names the port
            and what happened; None if there is none.
    """

    def __init__(self, name: str, interface: Interface, words: Words, arbiters: Sequence[str] = ()) -> None:
        self.violation: tuple[int, str] | None = None
        self._name = name
        self._words = words
        self._arbiters = arbiters
        outputs = [stream for stream in interface.streams if stream.direction == "output"]
        self._outputs = [
            _Output(
                stream,
                words.place("input", stream.wire("ready")),
                words.place("output", stream.wire("valid")),
                _fields(words, stream),
                stream.ports[0],
            )
            for stream in outputs
        ]
        self._offered: dict[int, tuple[list[int], dict[str, int]]] = {}  # by output: words, and bits by wire

    def cycle(self, cycle: int) -> None:
        """Compare what is offered in this cycle with what was refused in the cycle before."""
        if self.violation is not None:
            return
        inputs, outputs = self._words.inputs, self._words.outputs
        moved = {output.port for output in self._outputs if inputs[output.ready] and outputs[output.valid]}
        for i, output in enumerate(self._outputs):
            if i in self._offered:
                self._compare(cycle, output, *self._offered.pop(i))
            if outputs[output.valid] and not inputs[output.ready] and output.port not in moved:
                self._offered[i] = [outputs[word] for word in output.fields], self._words.seen()

    def _compare(self, cycle: int, output: _Output, words: list[int], wires: dict[str, int]) -> None:
        stream, outputs = output.stream, self._words.outputs
        if not outputs[output.valid]:
            what = f"{stream.wire('valid')} falls before the token is taken"
        elif output.port[0] not in self._arbiters and words != [outputs[word] for word in output.fields]:
            changes = _changes(stream, wires, self._words.seen())
            if not changes:
                return
            what = f"{changes} before the token is taken"
        else:
            return
        self.violation = cycle, f"{self._name}: in cycle {cycle}, {what}"


def _fields(words: Words, stream: Stream) -> list[int]:
    """Return the words of all fields of a stream."""
    wires = {stream.wire(field) for field in stream.widths}
    return [i for i, piece in enumerate(words.layout["output"]) if piece.wire in wires]


def _changes(stream: Stream, before: dict[str, int], after: dict[str, int]) -> str:
    """Say which field of a token changes, in the first lane with a change; empty if none does."""
    for old, new in zip(stream.lanes_told(before), stream.lanes_told(after), strict=True):
        if old is None or new is None:
            if old != new:
                return f"the mask of {stream.label} changes"
            continue
        for field in new:
            if old[field] != new[field]:
                return f"{stream.wire(field)} changes from {old[field]} to {new[field]}"
    return ""
