"""Channels whose writer pushes ahead of the clock: the reader sees each token as if pushed in time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.sim import ANY, Channel, ChannelError, Clock, Component, Input, Kernel, Output
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.testing import StreamSink

GAPS = st.lists(st.integers(1, 300), min_size=1, max_size=20)


class Sender(Component):
    """Pushes tokens in the cycles that ``gaps`` lie between, all of them in cycle 0 if it goes ahead."""

    PORTS = (Output("out", ANY),)

    def __init__(self, name, gaps, ahead):
        super().__init__(name)
        self.due = [sum(gaps[:place]) for place in range(len(gaps))]
        self.ahead = ahead
        self.sent = 0

    def elaborate(self):
        self.out = self.channel("out")
        self.out.widen(len(self.due))

    def tick(self, now):
        while self.sent < len(self.due) and (self.ahead or self.due[self.sent] == now):
            self.out.push_at(self.due[self.sent], 0, self.sent, 2 * self.sent, self.sent / 4)
            self.sent += 1
        return self.idle() if self.sent == len(self.due) else self.busy(self.due[self.sent])


def received(gaps, ahead, latency, hertz):
    sender, sink = Sender("sender", gaps, ahead), StreamSink("sink", (1,))
    kernel = Kernel()
    kernel.add(sender, kernel.clock("sender's", 6))
    kernel.add(sink, kernel.clock("sink's", hertz) if hertz != 6 else None)
    kernel.connect(sender, "out", sink, "in", capacity=1, latency=latency)
    kernel.run()
    return sink.received


@given(GAPS, st.integers(1, 4), st.sampled_from([2, 3, 4, 6, 9]))
def test_a_reader_sees_each_token_in_its_cycle(gaps, latency, hertz):
    assert received(gaps, True, latency, hertz) == received(gaps, False, latency, hertz)
    assert len(received(gaps, True, latency, hertz)) == len(gaps)


def test_a_channel_is_widened_while_it_is_empty():
    sender, sink = Sender("sender", [1, 1, 1], True), StreamSink("sink", (1,))
    kernel = Kernel()
    kernel.clock("core", 6)
    kernel.add(sender)
    kernel.add(sink)
    channel = kernel.connect(sender, "out", sink, "in", capacity=2)
    kernel.step()
    assert (channel.capacity, channel.occupancy) == (3, 3)
    with pytest.raises(ChannelError, match=r"sink.in: widened with tokens in it \(3\)"):
        channel.widen(8)


class Popper(Component):
    """Pops what it sees, and notes whether its channel says so."""

    PORTS = (Input("in", ANY),)

    def elaborate(self):
        self.source = self.channel("in")
        self.noted = []

    def tick(self, now):
        before = self.source.popped_now()
        if not self.source.can_pop():
            return self.idle()
        self.source.pop()
        self.noted.append((before, self.source.popped_now(), self.source.free()))
        return self.busy(now + 1)


def test_a_channel_says_that_a_token_was_popped_and_has_no_room_for_it_until_the_next_cycle():
    sender, popper = Sender("sender", [1, 1, 1], True), Popper("popper")
    kernel = Kernel()
    kernel.clock("core", 6)
    kernel.add(sender)
    kernel.add(popper)
    kernel.connect(sender, "out", popper, "in", capacity=3)
    kernel.run()
    assert popper.noted == [(False, True, 0), (False, True, 1), (False, True, 2)]


@given(
    st.integers(1, 5),
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["push", "pop", "writer", "reader"]), st.integers(1, 3)), max_size=60),
)
def test_a_writer_behind_its_reader_finds_the_slots_of_a_plain_list(capacity, latency, actions):
    """A slot that was popped in cycle c is free for the writer from its cycle c + 1 on."""
    writer, reader = Clock("writer", 1), Clock("reader", 1)
    channel = Channel("channel", capacity, latency, ANY)
    channel.attach(writer, 0, reader, 0)
    channel.let_reader_ahead()
    writer.advance(0)
    reader.advance(0)
    arrivals, pops = [], []  # cycles in which each token is seen, and in which each was popped

    def free(cycle):
        return capacity - len(arrivals) + sum(popped < cycle for popped in pops)

    for action, number in actions:
        if action == "push" and free(writer.cycle) > 0:
            channel.push(0)
            arrivals.append(writer.cycle + latency)
        elif action == "pop" and len(pops) < len(arrivals) and arrivals[len(pops)] <= reader.cycle:
            channel.pop()
            pops.append(reader.cycle)
        elif action == "reader":
            reader.advance(reader.cycle + number)
        elif action == "writer":
            writer.advance(min(writer.cycle + number, reader.cycle))
        assert channel.free() == free(writer.cycle)
        for slots in range(1, capacity + 1):
            first = min((c for c in (0, *(p + 1 for p in pops)) if free(c) >= slots), default=MAX_TIME)
            assert channel.free_from(slots) == first
            assert channel.fits(slots) == (free(writer.cycle) >= slots)
