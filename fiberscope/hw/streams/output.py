# cython: infer_types=True
"""An output stream of a block, which all of its consumers read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.streams.kept import NEVER
from fiberscope.hw.streams.tokens import ABSENT, DATA, DONE, EMPTY, STOP
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel

KINDS = 4
COUNTED = (("data", DATA), ("stops", STOP), ("empties", EMPTY), ("dones", DONE))


class OutputStream:  # C: final
    """The channels to all consumers of a stream; each consumer gets every token in the same cycle.

    The tokens of a stream without a consumer are only counted.

    Args:
        name: name of the output port.
        channels: channels to the consumers; may be empty.
    """

    def __init__(self, name: str, channels: Sequence[Channel]) -> None:
        self.name = name  # C: str
        self.channels = list(channels)
        self.consumers = len(self.channels)
        self.first: Channel | None = self.channels[0] if self.channels else None  # most streams have only one
        self.tokens = array("q", bytes(8 * KINDS))  # number of tokens sent so far, by kind
        self.tile_level = NEVER  # C: public long; lowest level of the stops that end a tile
        self.tiles = 0  # C: public long; number of tiles that ended

    def first_full(self) -> Channel | None:
        """Return the first channel that is full in this cycle, or None if no channel is.

        The block is woken when that channel has a free slot.
        """
        for index in range(self.consumers):
            channel = inline.channel(self.channels[index])
            if not channel.can_push():
                return channel
        return None

    def push(self, kind: int, payload: int = 0, value: float = 0.0) -> None:
        """Send a token to all consumers, whose channels must all have a free slot.

        Args:
            kind: ``DATA``, ``STOP``, ``EMPTY`` or ``DONE``.
            payload: coordinate, reference or word of bits of an element; level of a stop.
            value: value of an element in a stream of values.

        Raises:
            ChannelError: if a channel is full.
        """
        self.tokens[kind] += 1
        self.tiles += kind == STOP and payload >= self.tile_level
        if self.consumers > 0:
            inline.channel(self.first).push(kind, payload, 0, value)
        for index in range(1, self.consumers):
            inline.push(self.channels, index, kind, payload, value)

    def push_absent(self, payload: int, value: float) -> None:
        """Send the value of a missing element, marked ``ABSENT``, to all consumers.

        Args:
            payload: ``INTEGER`` if the public simulator holds the value as an integer, else 0.
        """
        self.push_words(DATA, payload, ABSENT, value)

    def forward(self, head: Channel) -> None:
        """Send the visible token of a channel, with all of its words, to all consumers."""
        self.push_words(head.control(), head.coordinate(), head.reference(), head.value())

    def push_words(self, kind: int, payload: int, reference: int, value: float) -> None:
        """Send a token with a reference word, such as ``ABSENT``, to all consumers."""
        self.tokens[kind] += 1
        self.tiles += kind == STOP and payload >= self.tile_level
        for index in range(self.consumers):
            inline.channel(self.channels[index]).push(kind, payload, reference, value)

    def push_part(self, payload: int, remaining_parts: int) -> None:
        """Send a part of a word of bits to all consumers; only the last part counts as a token.

        Args:
            payload: 64 bits of the word.
            remaining_parts: number of parts of the word that follow; it becomes the value of the token.
        """
        self.tokens[DATA] += remaining_parts == 0
        for index in range(self.consumers):
            inline.push(self.channels, index, DATA, payload, remaining_parts)

    def counters(self) -> dict[str, int]:
        """Return the number of tokens sent by kind, with names such as ``out_crd_stops``."""
        return {f"{self.name}_{label}": self.tokens[kind] for label, kind in COUNTED}
