"""Channels: when a token is seen, when a slot is free, what that makes of throughput, and who is woken."""

import pytest

from fiberscope.sim import ANY, Channel, ChannelError, Component, Input, Kernel, Output, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens


class Writer(Component):
    """Pushes as many tokens a cycle as fit, up to ``burst``, until it has pushed ``count``."""

    PORTS = (Output("out", ANY),)

    def __init__(self, name, count, burst=1):
        super().__init__(name)
        self.count, self.burst = count, burst
        self.pushed = []  # (cycle, number)

    def elaborate(self):
        self.out = self.channel("out")

    def tick(self, now):
        if len(self.pushed) == self.count:
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        for _ in range(min(self.burst, self.count - len(self.pushed))):
            if self.out.can_push():
                self.out.push(0, len(self.pushed), 0, 0.0)
                self.pushed.append((now, len(self.pushed)))
        return self.busy(now + 1)


class Watcher(Component):
    """Pops a token as soon as it is seen, and writes down in which cycles it looked in vain."""

    PORTS = (Input("in", ANY),)

    def __init__(self, name, first=0, burst=1):
        super().__init__(name)
        self.first, self.burst = first, burst
        self.popped, self.in_vain = [], []

    def elaborate(self):
        self.source = self.channel("in")

    def tick(self, now):
        if now < self.first:
            return self.busy(self.first)
        if not self.source.can_pop():
            self.in_vain.append(now)
            return self.idle()
        for _ in range(self.burst):
            if self.source.can_pop():
                self.popped.append((now, self.source.coordinate()))
                self.source.pop()
        return self.busy(now + 1)


def joined(writer, reader, capacity, latency, *, writes_at=10**9, reads_at=10**9, **kernel_options):
    """A kernel with one channel between two components, and that channel."""
    kernel = Kernel(**kernel_options)
    clock = kernel.clock("writer's", writes_at)
    kernel.add(writer, clock)
    kernel.add(reader, clock if reads_at == writes_at else kernel.clock("reader's", reads_at))
    return kernel, kernel.connect(writer, "out", reader, "in", capacity=capacity, latency=latency)


@pytest.mark.parametrize("latency", [1, 2, 3, 7, 300])
def test_a_token_is_seen_exactly_latency_cycles_after_the_push(latency):
    writer, watcher = Writer("writer", 1), Watcher("watcher")
    kernel, _ = joined(writer, watcher, 1, latency, sleep=False)
    kernel.run()
    assert writer.pushed == [(0, 0)]
    assert watcher.popped == [(latency, 0)]
    assert watcher.in_vain[:latency] == list(range(latency)), "it looked in every cycle before"


def test_a_popped_slot_is_free_in_the_next_cycle_and_not_in_the_same():
    writer, watcher = Writer("writer", 2), Watcher("watcher", first=10)
    kernel, _ = joined(writer, watcher, 1, 1)
    kernel.run()
    assert watcher.popped[0] == (10, 0)
    assert writer.pushed[1] == (11, 1)


@pytest.mark.parametrize("order_seed", range(4))
def test_a_slot_popped_in_this_cycle_is_not_free_whoever_ticks_first(order_seed):
    writer, watcher = Writer("writer", 20, burst=2), Watcher("watcher")
    kernel, _ = joined(writer, watcher, 2, 1, order_seed=order_seed)
    kernel.run()
    assert writer.pushed[:4] == [(0, 0), (0, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("latency", [1, 2, 3, 7])
def test_throughput_is_capacity_over_latency_plus_one(capacity, latency):
    """A slot is taken ``latency`` cycles until its token is seen and popped, and one more until free."""
    tokens = 40 * (latency + 1)
    sink = StreamSink("sink")
    kernel, _ = joined(StreamSource("source", data_tokens(range(tokens))), sink, capacity, latency)
    kernel.run()
    arrivals = [cycle for cycle, _ in sink.received]
    per_period = min(capacity, latency + 1)  # tokens in latency + 1 cycles
    periods, rest = divmod(tokens - 1, per_period)
    assert arrivals[-1] - arrivals[0] == periods * (latency + 1) + rest


def test_many_tokens_may_be_pushed_and_popped_in_one_cycle():
    writer, watcher = Writer("writer", 8, burst=4), Watcher("watcher", burst=4)
    kernel, channel = joined(writer, watcher, 8, 3)
    kernel.run()
    assert [cycle for cycle, _ in writer.pushed] == [0] * 4 + [1] * 4
    assert [cycle for cycle, _ in watcher.popped] == [3] * 4 + [4] * 4
    assert (channel.pushes, channel.pops, channel.occupancy) == (8, 8, 0)


def test_a_token_carries_its_four_fields_unchanged():
    token = (-(2**63), 2**63 - 1, -1, 0.1)
    sink = StreamSink("sink")
    kernel, _ = joined(StreamSource("source", [token]), sink, 1, 1)
    kernel.run()
    assert sink.received == [(1, token)]


# Two clocks. 1.5 GHz has its edges at 0, 2, 4, 6 ... thirds of a nanosecond, 1 GHz at 0, 3, 6 ...


def test_a_slow_reader_sees_a_token_at_its_first_edge_at_or_after_the_arrival():
    writer, watcher = Writer("writer", 4), Watcher("watcher", burst=4)
    joined(writer, watcher, 8, 1, writes_at=1_500_000_000, reads_at=10**9)[0].run()
    # Pushed at thirds 0, 2, 4, 6; there at 2, 4, 6, 8; edges of the reader from then on at 3, 6, 6, 9.
    assert watcher.popped == [(1, 0), (2, 1), (2, 2), (3, 3)]


def test_a_fast_reader_sees_a_token_at_its_first_edge_at_or_after_the_arrival():
    writer, watcher = Writer("writer", 3), Watcher("watcher")
    joined(writer, watcher, 8, 1, writes_at=10**9, reads_at=1_500_000_000)[0].run()
    # Pushed at thirds 0, 3, 6; there at 3, 6, 9; edges of the reader from then on at 4, 6, 10.
    assert watcher.popped == [(2, 0), (3, 1), (5, 2)]


@pytest.mark.parametrize(
    ("writes_at", "reads_at", "second"), [(1_500_000_000, 10**9, 2), (10**9, 1_500_000_000, 2)]
)
def test_a_slot_is_free_at_the_writers_first_edge_after_the_pop(writes_at, reads_at, second):
    writer, _ = Writer("writer", 2), None
    joined(writer, Watcher("watcher"), 1, 1, writes_at=writes_at, reads_at=reads_at)[0].run()
    # Popped at third 3 (edges of the writer: 2, 4) or at third 4 (edges: 3, 6).
    assert writer.pushed == [(0, 0), (second, 1)]


def test_a_slot_popped_at_a_common_edge_is_free_only_at_the_next():
    writer = Writer("writer", 2)
    joined(writer, Watcher("watcher", first=2), 1, 1, writes_at=1_500_000_000, reads_at=10**9)[0].run()
    assert writer.pushed == [(0, 0), (4, 1)], "popped at third 6, where the writer has its edge 3"


# Wakes


class PairWriter(Component):
    """Pushes two tokens at once, and waits until there is space for both."""

    PORTS = (Output("out", ANY),)

    def __init__(self, name, pairs):
        super().__init__(name)
        self.pairs = pairs
        self.pushed = []

    def elaborate(self):
        self.out = self.channel("out")

    def tick(self, now):
        if len(self.pushed) == self.pairs:
            return self.idle()
        if not self.has_room():
            return self.wait_output(self.out)
        for number in (0, 1):
            self.out.push(0, 2 * len(self.pushed) + number, 0, 0.0)
        self.pushed.append(now)
        return self.busy(now + 1)

    def has_room(self):
        return self.out.space() >= 2


class FittingPairWriter(PairWriter):
    """The same, woken only when there is space for both."""

    def has_room(self):
        return self.out.fits(2)


@pytest.mark.parametrize("kind", [PairWriter, FittingPairWriter])
@pytest.mark.parametrize("capacity", [2, 3, 4, 5])
@pytest.mark.parametrize("order_seed", [None, 1, 2])
def test_a_writer_that_needs_two_slots_is_woken_when_there_are_two(capacity, order_seed, kind):
    pushed = []
    for sleep in (True, False):
        writer = kind("writer", 10)
        joined(writer, Watcher("watcher"), capacity, 1, sleep=sleep, order_seed=order_seed)[0].run()
        pushed.append(writer.pushed)
    assert pushed[0] == pushed[1]
    assert len(pushed[0]) == 10


class Chooser(PairWriter):
    """Looks how much space there is before the first pair, and then only whether there is any."""

    def tick(self, now):
        if not self.pushed:
            self.pushed.append(self.out.space())
        if len(self.pushed) == 6:
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, 0, 0, 0.0)
        self.pushed.append(now)
        return self.busy(now + 1)


@pytest.mark.parametrize("order_seed", [None, 1, 2])
def test_a_writer_that_asked_for_space_before_is_woken_by_one_slot(order_seed):
    writer = Chooser("writer", 6)
    joined(writer, Watcher("watcher", first=9), 2, 1, order_seed=order_seed)[0].run()
    assert writer.pushed == [2, 0, 1, 10, 11, 12]


class Returner(PairWriter):
    """Fills the channel, sleeps until cycle 10, and then has one token more."""

    def tick(self, now):
        if now < 10:
            for _ in range(self.out.space()):
                self.out.push(0, 0, 0, 0.0)
            return self.busy(10)
        if len(self.pushed) == 1:
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, 0, 0, 0.0)
        self.pushed.append(now)
        return self.busy(now + 1)


@pytest.mark.parametrize("order_seed", range(4))
def test_a_writer_that_asks_after_the_pop_of_the_same_cycle_is_woken_in_the_next(order_seed):
    """The reader pops one token in cycle 10 and the next much later, so that only that pop can wake."""
    writer, sink = Returner("writer", 1), StreamSink("sink", (40,))
    kernel, _ = joined(writer, sink, 2, 10, order_seed=order_seed)
    kernel.run()
    assert sink.received[0][0] == 10
    assert writer.pushed == [11]


def test_a_full_channel_wakes_its_writer_once_and_costs_no_ticks_between():
    writer, watcher = Writer("writer", 3), Watcher("watcher", first=100)
    kernel, _ = joined(writer, watcher, 1, 1)
    kernel.run()
    assert writer.pushed == [(0, 0), (101, 1), (103, 2)]
    assert kernel.ticks < 20


# Misuse


def test_pushing_into_a_full_channel_raises():
    class Pusher(Writer):
        def tick(self, now):
            self.out.push(0, 0, 0, 0.0)
            return self.busy(now + 1)

    kernel, _ = joined(Pusher("pusher", 1), Watcher("watcher", first=50), 2, 1)
    with pytest.raises(ChannelError) as caught:
        kernel.run()
    assert str(caught.value) == "watcher.in: push into a full channel (2 of 2 tokens)"
    assert caught.value.__notes__ == ["at cycle 2 in pusher"]


def test_popping_before_a_token_is_seen_raises():
    class Popper(Watcher):
        def tick(self, now):
            self.source.pop()
            return self.busy(now + 1)

    kernel, _ = joined(Writer("writer", 1), Popper("popper"), 2, 3)
    with pytest.raises(ChannelError) as caught:
        kernel.run()
    assert str(caught.value) == "popper.in: pop with no visible token (1 in flight)"
    assert caught.value.__notes__ == ["at cycle 0 in popper"]


def test_waiting_for_a_channel_of_another_raises():
    class Confused(Writer):
        def tick(self, _now):
            return self.wait_input(self.out)

    kernel, _ = joined(Confused("confused", 1), Watcher("watcher"), 2, 1)
    with pytest.raises(
        SimulationError, match=r"confused waits for input from watcher\.in, which it does not read"
    ):
        kernel.run()


@pytest.mark.parametrize(
    ("wait", "said"), [("wait_input", "input from a port"), ("wait_output", "space at a port")]
)
def test_waiting_at_a_port_that_is_not_connected_raises(wait, said):
    class Unconnected(Writer):
        def tick(self, _now):
            return getattr(self, wait)(None)

    kernel, _ = joined(Unconnected("alone", 1), Watcher("watcher"), 2, 1)
    with pytest.raises(SimulationError, match=f"alone waits for {said} that is not connected"):
        kernel.run()


# Planted faults: the checks above can fail.


def check_latency(make_reader, latency):
    """Raises AssertionError unless what the reader sees is ``latency`` cycles old."""
    reader = make_reader()
    kernel, _ = joined(Writer("writer", 3), reader, 8, latency)
    kernel.run(cycle_limit=20)
    assert [cycle for cycle, _ in reader.popped] == [latency, latency + 1, latency + 2]


class Early:
    """Stands in for a channel and shows its tokens one cycle early."""

    def __init__(self, channel: Channel):
        self.channel, self.seen = channel, 0

    def can_pop(self):
        return self.channel.pushes > self.seen

    def coordinate(self):
        return self.seen

    def pop(self):
        self.seen += 1


class EarlyWatcher(Watcher):
    def elaborate(self):
        self.source = Early(self.channel("in"))

    def tick(self, now):
        super().tick(now)
        return self.busy(now + 1)


def test_the_latency_check_passes_a_true_channel():
    check_latency(lambda: Watcher("watcher"), 4)


def test_planted_a_channel_that_shows_tokens_early_is_found():
    with pytest.raises(AssertionError):
        check_latency(lambda: EarlyWatcher("watcher"), 4)


class TestWithoutABound:
    def test_it_takes_all_tokens_and_keeps_their_order(self):
        writer, watcher = Writer("writer", 1000, burst=1000), Watcher("watcher", first=5)
        kernel, channel = joined(writer, watcher, None, 1)
        kernel.run()
        assert writer.pushed == [(0, number) for number in range(1000)]
        assert watcher.popped == [(5 + number, number) for number in range(1000)]
        assert not channel.bounded

    @pytest.mark.parametrize("latency", [1, 3])
    def test_tokens_keep_all_their_words_as_it_grows_around_its_end(self, latency):
        tokens = [(number, 2 * number, 3 * number, number / 4) for number in range(300)]
        kernel = Kernel()
        kernel.clock("core", 10**9)
        source, sink = kernel.add(StreamSource("source", tokens)), kernel.add(StreamSink("sink", (1,)))
        kernel.connect(source, "out", sink, "in", capacity=None, latency=latency)
        kernel.run()
        assert [token for _cycle, token in sink.received] == tokens
        assert [cycle for cycle, _token in sink.received] == [latency + 2 * place for place in range(300)]

    def test_there_is_space_for_whatever_is_wanted(self):
        writer, watcher = Writer("writer", 1), Watcher("watcher")
        kernel, channel = joined(writer, watcher, None, 1)
        kernel.build()
        assert channel.can_push()
        assert channel.fits(10**15)
        assert channel.space() > 10**15

    def test_a_deadlock_report_names_no_bound(self):
        class Deaf(Watcher):
            def tick(self, now):
                return self.idle()

        kernel, _ = joined(Writer("writer", 3), Deaf("watcher"), None, 1)
        with pytest.raises(SimulationError, match=r"leaves tokens at in: channel watcher.in holds 3 tokens"):
            kernel.run()
