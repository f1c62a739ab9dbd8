"""Claims of a channel: each token leaves once, in order, after the latency."""

from __future__ import annotations

from itertools import pairwise

import pyrtl

from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.twin import Signal, index_bits
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of, any_of, count, implies


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

    def __init__(self, parameters: ChannelParameters, source: StreamWires, sink: StreamWires) -> None:
        capacity, self.latency = parameters.capacity, parameters.latency
        push, pop = source.fire, sink.fire
        self.count = pyrtl.Register(index_bits(capacity + 1), "queue_count")
        self.words = [pyrtl.Register(len(source.word), f"queue_{i}") for i in range(capacity)]
        self.ages = [pyrtl.Register(index_bits(self.latency + 1), f"age_{i}") for i in range(capacity)]
        self.count.next <<= (self.count + push - pop)[: len(self.count)]
        # the last entry has no successor; its own value stands in, which is not valid after the move
        next_entries = zip([*self.words[1:], self.words[-1]], [*self.ages[1:], self.ages[-1]], strict=True)
        for i, (word, age, (next_word, next_age)) in enumerate(
            zip(self.words, self.ages, next_entries, strict=True)
        ):
            # a word enters behind the last one; if the oldest leaves in this cycle, all words move down
            is_pushed, old_age = push & (self.count - pop == i), pyrtl.select(pop, next_age, age)
            word.next <<= pyrtl.select(is_pushed, source.word, pyrtl.select(pop, next_word, word))
            aged = pyrtl.select(old_age == self.latency, old_age, (old_age + 1)[: len(old_age)])
            age.next <<= pyrtl.select(is_pushed, pyrtl.Const(1, len(age)), aged)  # 1 in the next cycle

    def entries_of_age(self, age: int) -> list[Signal]:
        """Return, by position, whether there is a word of this age."""
        return [(self.count > i) & (entry_age == age) for i, entry_age in enumerate(self.ages)]

    def has_distinct_ages(self) -> Signal:
        """Return whether every word has an age other than 0, and is older than the word behind it.

        Words whose age has reached the latency may be equally old, because ages stop there.
        """
        pairs = enumerate(pairwise(self.ages))
        is_older = [implies(self.count > i + 1, (a > b) | (b == self.latency)) for i, (a, b) in pairs]
        return all_of([implies(self.count > i, age != 0) for i, age in enumerate(self.ages)] + is_older)


def add_channel(parameters: ChannelParameters, properties: Properties) -> None:
    """Claim that each word leaves once, in order, unchanged, after the latency; that a free slot is offered.

    A slot that becomes free in a cycle is offered from the next cycle on. The other claims equate the
    registers of the channel with the ``Queue``; the induction needs them.
    """
    capacity, latency = parameters.capacity, parameters.latency
    source, sink = properties.stream("in"), properties.stream("out")
    queue = Queue(parameters, source, sink)
    occupancy = properties.inner("held")
    properties.claim("takes_while_there_is_space", source.ready == (queue.count < capacity))
    properties.claim("shows_what_is_due", sink.valid == queue.entries_of_age(latency)[0])
    properties.claim("shows_the_oldest", sink.word == queue.words[0], when=sink.valid)
    properties.claim("held", (occupancy == queue.count) & (queue.count <= capacity))
    properties.claim("one_by_one", queue.has_distinct_ages())
    slots = _ordered_slots(capacity, properties)
    properties.claim(
        "slots", all_of([implies(queue.count > i, queue.words[i] == slot) for i, slot in enumerate(slots)])
    )
    if capacity > 1:
        head, tail = properties.inner("head"), properties.inner("tail")
        properties.claim("places", (head < capacity) & (tail == _wrap(head + queue.count, capacity)))
    if latency > 1:
        properties.claim("shown", properties.inner("shown") == count(queue.entries_of_age(latency)))
    for age in range(1, latency):
        wire = properties.inner(f"under_way_{age - 1:02}")
        properties.claim(f"under_way_{age}", wire == any_of(queue.entries_of_age(age)))
    properties.cover("full", occupancy == capacity)
    properties.cover("empty_again", (occupancy == 0) & properties.previous(occupancy != 0))


def _ordered_slots(capacity: int, properties: Properties) -> list[Signal]:
    """Return the words in the slots, the oldest first."""
    if capacity == 1:
        return [properties.inner("slot")]
    slots, head = properties.memory_words("slots"), properties.inner("head")
    return [pyrtl.mux(_wrap(head + position, capacity), *slots) for position in range(capacity)]


def _wrap(position: Signal, capacity: int) -> Signal:
    """Return a position below ``2 * capacity`` modulo the capacity."""
    return pyrtl.select(position >= capacity, position - capacity, position)[: index_bits(capacity)]
