"""Tokens moved ahead of the clock: whoever does not know of it sees what it would have seen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.sim import ANY, Channel, ChannelError, Component, Input, Kernel, Output
from fiberscope.sim.constants import FAR

EXAMPLES = settings(max_examples=60, deadline=None)
TOKENS = 12
GAPS = st.lists(st.sampled_from((0, 0, 0, 1, 2, 7, 30)), min_size=1, max_size=6)
CLOCKS = st.sampled_from([(10**9, 10**9), (10**9, 1_500_000_000), (1_500_000_000, 10**9), (10**9, 10**8)])


class Paced(Component):
    """Moves its k-th token as soon as it may, ``gaps[k]`` cycles behind the one before at the soonest."""

    def __init__(self, name, gaps, count):
        super().__init__(name)
        self.gaps, self.count = gaps, count
        self.moved = []  # (cycle, number)

    def pause(self):
        return self.gaps[len(self.moved) % len(self.gaps)]

    def soonest(self):
        return self.moved[-1][0] + 1 + self.pause() if self.moved else self.pause()


class Source(Paced):
    PORTS = (Output("out", ANY),)

    def tick(self, now):
        if len(self.moved) == self.count:
            return self.idle()
        if now < self.soonest():
            return self.busy(self.soonest())
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, len(self.moved))
        self.moved.append((now, len(self.moved)))
        return self.busy(now + 1)


class SourceAhead(Source):
    def tick(self, now):
        while len(self.moved) < self.count and self.out.free_from(1) < FAR:
            cycle = max(self.soonest(), self.out.free_from(1))
            self.out.push_at(cycle, 0, len(self.moved))
            self.moved.append((cycle, len(self.moved)))
        self.out.want(1)
        return self.idle()


class Bursts(Source):
    """Waits until there is room for ``gaps[k]`` + 1 tokens, and pushes them at once."""

    def tick(self, now):
        if len(self.moved) >= self.count:
            return self.idle()
        need = 1 + self.pause() % self.out.capacity
        if self.out.space() < need:
            self.out.want(need)
            return self.wait_output(self.out)
        for _ in range(need):
            self.out.push(0, len(self.moved))
            self.moved.append((now, len(self.moved)))
        return self.busy(now + 1)


class Sink(Paced):
    PORTS = (Input("tokens", ANY),)

    def tick(self, now):
        if not self.tokens.can_pop():
            return self.idle()
        if now < self.soonest():
            return self.busy(self.soonest())
        self.moved.append((now, self.tokens.coordinate()))
        self.tokens.pop()
        return self.busy(now + 1)


class SinkAhead(Sink):
    def tick(self, now):
        while self.tokens.seen_from() < FAR:
            cycle = max(self.soonest(), self.tokens.seen_from())
            self.moved.append((cycle, self.tokens.coordinate()))
            self.tokens.pop_at(cycle)
        return self.idle()


def joined(source, sink, capacity, latency, hertz, **options):
    kernel = Kernel(**options)
    clocks = [kernel.clock(name, rate) for name, rate in zip(("writer", "reader"), hertz, strict=True)]
    kernel.add(source, clocks[0])
    kernel.add(sink, clocks[0] if hertz[0] == hertz[1] else clocks[1])
    kernel.connect(source, "out", sink, "tokens", capacity=capacity, latency=latency)
    return kernel


def moves(kinds, gaps, capacity, latency, hertz, **options):
    """What both ends of a channel moved, and when."""
    source, sink = kinds[0]("source", gaps[0], TOKENS), kinds[1]("sink", gaps[1], TOKENS)
    kernel = joined(source, sink, capacity, latency, hertz, **options)
    kernel.run()
    assert len(sink.moved) == len(source.moved) >= TOKENS
    return source.moved, sink.moved


@EXAMPLES
@given(st.tuples(GAPS, GAPS), st.integers(1, 9), st.integers(1, 5), CLOCKS, st.sampled_from([None, 1, 2]))
def test_ends_that_run_ahead_move_what_ticking_ones_do(gaps, capacity, latency, hertz, order_seed):
    plain = moves((Source, Sink), gaps, capacity, latency, hertz, sleep=False)
    for kinds in ((SourceAhead, Sink), (Source, SinkAhead), (SourceAhead, SinkAhead)):
        assert moves(kinds, gaps, capacity, latency, hertz, order_seed=order_seed) == plain


@EXAMPLES
@given(st.tuples(GAPS, GAPS), st.integers(1, 9), st.integers(1, 5), CLOCKS, st.sampled_from([None, 1, 2]))
def test_a_writer_of_bursts_does_not_see_that_its_reader_runs_ahead(
    gaps, capacity, latency, hertz, order_seed
):
    plain = moves((Bursts, Sink), gaps, capacity, latency, hertz, sleep=False)
    assert moves((Bursts, SinkAhead), gaps, capacity, latency, hertz, order_seed=order_seed) == plain


@EXAMPLES
@given(GAPS, st.integers(1, 5))
def test_a_channel_without_a_bound_takes_whatever_is_pushed_ahead(gaps, latency):
    plain = moves((Source, Sink), ([0], gaps), None, latency, (10**9, 10**9))
    assert moves((SourceAhead, SinkAhead), ([0], gaps), None, latency, (10**9, 10**9)) == plain


def test_planted_a_reader_that_says_a_cycle_too_soon_is_found():
    class Hasty(SinkAhead):
        def soonest(self):
            return super().soonest() - (len(self.moved) > 5)

    setting = (([0], [2]), 2, 1, (10**9, 10**9))
    assert moves((Bursts, Hasty), *setting) != moves((Bursts, Sink), *setting)


def only_channel(capacity: int) -> Channel:
    kernel = joined(Source("source", [0], 0), Sink("sink", [0], 0), capacity, 2, (10**9, 10**9))
    kernel.build()
    kernel.step()
    return kernel.channels()[0]


def test_no_token_is_pushed_before_its_slot_is_known_to_be_free():
    channel = only_channel(1)
    channel.push_at(5, 0)
    assert channel.free_from(1) == FAR
    with pytest.raises(ChannelError, match="push into a full channel"):
        channel.push_at(6, 0)
    channel.pop_at(9)
    assert channel.free_from(1) == 10
    with pytest.raises(ChannelError, match="push into a full channel"):
        channel.push_at(9, 0)
    channel.push_at(10, 0)
    assert channel.seen_from() == 12


def test_slots_freed_long_ago_tell_nothing_of_those_that_are_taken():
    source = Source("source", [0], 0)
    kernel = joined(source, Sink("sink", [0], 0), 3, 1, (10**9, 10**9))
    kernel.build()
    kernel.step()
    channel = kernel.channels()[0]
    for cycle in range(3):
        channel.push_at(cycle, 0)
    source.wake_at(10)
    while kernel.cycle < 10:
        kernel.step()
    assert (channel.pops, channel.free_from(3)) == (3, 10)
    for cycle in (10, 11):
        channel.push_at(cycle, 0)
    assert (channel.free_from(1), channel.free_from(2)) == (10, FAR)


def test_no_token_is_popped_before_it_is_seen():
    channel = only_channel(1)
    channel.push_at(5, 0)
    with pytest.raises(ChannelError, match="pop with no visible token"):
        channel.pop_at(6)
    channel.pop_at(7)
    assert channel.seen_from() == FAR
