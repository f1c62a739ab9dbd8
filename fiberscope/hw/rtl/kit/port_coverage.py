"""Functional coverage of a module's ports: counts of the kinds of events at each stream."""

from __future__ import annotations

from typing import NamedTuple

from fiberscope.hw.rtl.kit.interface import Direction, Interface, Stream
from fiberscope.hw.rtl.kit.words import Words

TOKENS, BACK_TO_BACK, WAITS = "tokens", "back to back", "waits"  # bins of each stream
WIDEST = 2  # bits of a control field, each of whose values has a bin


class _WordPositions(NamedTuple):
    """Positions of ``valid``, ``ready`` and ``control`` of a stream in the words of a module.

    A position is whether the word is in ``Words.inputs``, and its index there. ``control`` is None if the
    stream has no control field with bins.
    """

    valid: tuple[bool, int]
    ready: tuple[bool, int]
    control: tuple[bool, int] | None


class PortCoverage:
    """Counters of events at the streams of a module. Each kind of event is a bin.

    ``tokens`` move; ``back to back`` are tokens in the cycle after another token; ``waits`` begin when an
    offered token is not taken. ``control=1`` counts tokens with this control, of at most two bits. In a
    bundle, a row counts as one token, and its control is that of lane 0.

    Args:
        interface: the ports.
        words: bits of the ports.

    Attributes:
        bins: the counts, by stream and kind.
    """

    def __init__(self, interface: Interface, words: Words) -> None:
        self.bins: dict[str, dict[str, int]] = {}
        self._words = words
        self._positions: dict[str, _WordPositions] = {}
        self._waiting: dict[str, bool] = {}
        self._last_cycle: dict[str, int] = {}  # cycle of the last token
        for stream in interface.streams:
            kinds = [TOKENS, BACK_TO_BACK, WAITS, *_controls(stream)]
            self.bins[stream.label] = dict.fromkeys(kinds, 0)
            self._positions[stream.label] = _word_positions(stream, words)

    def cycle(self, cycle: int) -> None:
        """Count the events at the ports in a cycle, whose bits are in the words; cycles ascend."""
        words = {True: self._words.inputs, False: self._words.outputs}
        for label, positions in self._positions.items():
            (is_valid_input, valid), (is_ready_input, ready) = positions.valid, positions.ready
            if not words[is_valid_input][valid]:
                self._waiting[label] = False
                continue
            bins = self.bins[label]
            if not words[is_ready_input][ready]:
                bins[WAITS] += not self._waiting.get(label, False)
                self._waiting[label] = True
                continue
            self._waiting[label] = False
            bins[TOKENS] += 1
            # With -2, a first token in cycle 0 does not follow another one.
            bins[BACK_TO_BACK] += self._last_cycle.get(label, -2) == cycle - 1
            self._last_cycle[label] = cycle
            if positions.control is not None:
                is_valid_input, control = positions.control
                bins[f"control={words[is_valid_input][control]}"] += 1


def _controls(stream: Stream) -> list[str]:
    """Return the bins of a stream's control values; none if the field is absent or wider than ``WIDEST``."""
    width = stream.widths.get("control", 0)
    return [f"control={value}" for value in range(1 << width)] if 0 < width <= WIDEST else []


def _word_positions(stream: Stream, words: Words) -> _WordPositions:
    """Return the positions of a stream's pins in the words."""
    is_input = stream.direction == "input"
    control = None
    if _controls(stream):
        control = is_input, words.place(stream.direction, stream.wire("control"))
    opposite: Direction = "output" if is_input else "input"
    return _WordPositions(
        (is_input, words.place(stream.direction, stream.wire("valid"))),
        (not is_input, words.place(opposite, stream.wire("ready"))),
        control,
    )
