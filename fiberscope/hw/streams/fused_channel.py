"""A channel of a fused chain, as words in an array. ``fused_channel.pxd`` has the forms that C inlines.

``fiberscope.hw.streams.fused_records`` has the layout. ``channel`` is the first word of the channel's record,
and ``values`` is the same memory as ``words``, as doubles.
"""

from __future__ import annotations

from array import array

from fiberscope.hw.streams.fused_records import (
    ARRIVAL,
    CAPACITY,
    LATENCY,
    MASK,
    POPPED,
    POPPED_AT,
    PUSHED,
    SLOT_BITS,
    SLOTS,
    TOKEN,
    VALUE,
)
from fiberscope.sim.constants import MAX_TIME


def slot(words: array[int], channel: int, number: int) -> int:
    """Return the first word of the slot of a token, by its number (the tokens pushed before it)."""
    return words[channel + SLOTS] + ((number & words[channel + MASK]) << SLOT_BITS)


def head(words: array[int], channel: int) -> int:
    """Return the first word of the slot of the next token, the oldest that was not popped."""
    return slot(words, channel, words[channel + POPPED])


def is_empty(words: array[int], channel: int) -> bool:
    """Return whether the next token is unknown: all pushed tokens were popped."""
    return words[channel + PUSHED] == words[channel + POPPED]


def arrival(words: array[int], channel: int) -> int:
    """Return the cycle from which the next token is visible; ``MAX_TIME`` if it is unknown."""
    return MAX_TIME if is_empty(words, channel) else words[head(words, channel) + ARRIVAL]


def token(words: array[int], channel: int) -> int:
    """Return the next token: its payload above the bits of its kind. The channel must not be empty."""
    return words[head(words, channel) + TOKEN]


def value(words: array[int], values: memoryview[float], channel: int) -> float:
    """Return the value of the next token. The channel must not be empty."""
    return values[head(words, channel) + VALUE]


def pop(words: array[int], channel: int, cycle: int) -> None:
    """Pop the next token in a cycle in which it is visible."""
    words[head(words, channel) + POPPED_AT] = cycle
    words[channel + POPPED] += 1


def push(
    words: array[int], values: memoryview[float], channel: int, cycle: int, pushed: int, number: float
) -> None:
    """Append a token with a value, in a cycle in which a slot is free; nothing checks the slot.

    Args:
        words, values, channel: the memory and the channel.
        cycle: cycle of the push; the token is visible after the latency of the channel.
        pushed: the token, as ``token`` returns it.
        number: its value.
    """
    start = slot(words, channel, words[channel + PUSHED])
    words[start + TOKEN] = pushed
    words[start + ARRIVAL] = cycle + words[channel + LATENCY]
    values[start + VALUE] = number
    words[channel + PUSHED] += 1


def free_from(words: array[int], channel: int) -> int:
    """Return the cycle from which a slot is free for the next token; ``MAX_TIME`` if it is unknown."""
    number = words[channel + PUSHED] - words[channel + CAPACITY]  # of the pop that frees the slot
    if number < 0:  # a slot is still unused; a channel without a bound has the capacity ``MAX_TIME``
        return 0
    if number >= words[channel + POPPED]:
        return MAX_TIME
    # The ring has at least as many slots as the capacity, so no later token has overwritten the record.
    return words[slot(words, channel, number) + POPPED_AT] + 1
