"""Claims of a channel: each token leaves once, in order, after the latency."""

from __future__ import annotations

from itertools import pairwise

import pyrtl

from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.twin import Signal, index_bits
from fiberscope.rtl.formal.properties import End, Properties, all_of, any_of, count, implies


class Queue:
    """Words in the channel, the oldest first, and the age of each in cycles.

    Args:
        parameters: parameters of the channel.
        source, sink: its input and output.

    Attributes:
        latency: latency of the channel in cycles.
        count: number of words in the channel.
        words: the words; those from position ``count`` on are not valid.
        ages: cycles since each word was taken, at most ``latency``.
    """

    def __init__(self, parameters: ChannelParameters, source: End, sink: End) -> None:
        capacity, self.latency = parameters.capacity, parameters.latency
        comes, leaves = source.moves, sink.moves
        self.count = pyrtl.Register(index_bits(capacity + 1), "queue_count")
        self.words = [pyrtl.Register(len(source.word), f"queue_{i}") for i in range(capacity)]
        self.ages = [pyrtl.Register(index_bits(self.latency + 1), f"age_{i}") for i in range(capacity)]
        self.count.next <<= (self.count + comes - leaves)[: len(self.count)]
        behind = zip([*self.words[1:], self.words[-1]], [*self.ages[1:], self.ages[-1]], strict=True)
        for i, (word, age, (next_word, next_age)) in enumerate(
            zip(self.words, self.ages, behind, strict=True)
        ):
            came, since = comes & (self.count - leaves == i), pyrtl.select(leaves, next_age, age)
            word.next <<= pyrtl.select(came, source.word, pyrtl.select(leaves, next_word, word))
            older = pyrtl.select(since == self.latency, since, (since + 1)[: len(since)])
            age.next <<= pyrtl.select(came, pyrtl.Const(1, len(age)), older)

    def of_age(self, age: int) -> list[Signal]:
        """Return, by position, whether there is a word of this age."""
        return [(self.count > i) & (own == age) for i, own in enumerate(self.ages)]

    def came_one_by_one(self) -> Signal:
        """Return whether every word has an age, and no two words arrived in the same cycle.

        Words whose age has reached the latency may be equally old.
        """
        pairs = enumerate(pairwise(self.ages))
        older = [implies(self.count > i + 1, (a > b) | (b == self.latency)) for i, (a, b) in pairs]
        return all_of([implies(self.count > i, age != 0) for i, age in enumerate(self.ages)] + older)


def add_channel(parameters: ChannelParameters, properties: Properties) -> None:
    """Claim that each word leaves once, in order, unchanged, after the latency; that a free slot is offered.

    The other claims equate the registers of the channel with the ``Queue``; the induction needs them.
    """
    capacity, latency = parameters.capacity, parameters.latency
    source, sink = properties.end("in"), properties.end("out")
    queue = Queue(parameters, source, sink)
    held = properties.inner("held")
    properties.claim("takes_while_there_is_space", source.ready == (queue.count < capacity))
    properties.claim("shows_what_is_due", sink.valid == queue.of_age(latency)[0])
    properties.claim("shows_the_oldest", sink.word == queue.words[0], when=sink.valid)
    properties.claim("held", (held == queue.count) & (queue.count <= capacity))
    properties.claim("one_by_one", queue.came_one_by_one())
    slots = _slots(capacity, properties)
    properties.claim(
        "slots", all_of([implies(queue.count > i, queue.words[i] == slot) for i, slot in enumerate(slots)])
    )
    if capacity > 1:
        head, tail = properties.inner("head"), properties.inner("tail")
        properties.claim("places", (head < capacity) & (tail == _around(head + queue.count, capacity)))
    if latency > 1:
        properties.claim("shown", properties.inner("shown") == count(queue.of_age(latency)))
    for age in range(1, latency):
        wire = properties.inner(f"under_way_{age - 1:02}")
        properties.claim(f"under_way_{age}", wire == any_of(queue.of_age(age)))
    properties.cover("full", held == capacity)
    properties.cover("empty_again", (held == 0) & properties.previous(held != 0))


def _slots(capacity: int, properties: Properties) -> list[Signal]:
    """Return the words in the slots, the oldest first."""
    if capacity == 1:
        return [properties.inner("slot")]
    words, head = properties.words("slots"), properties.inner("head")
    return [pyrtl.mux(_around(head + place, capacity), *words) for place in range(capacity)]


def _around(place: Signal, capacity: int) -> Signal:
    """Return a position below ``2 * capacity`` modulo the capacity."""
    return pyrtl.select(place >= capacity, place - capacity, place)[: index_bits(capacity)]
