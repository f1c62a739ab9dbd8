"""What a reader of many channels sees of all their heads, side by side."""

from hypothesis import given
from hypothesis import strategies as st

from fiberscope.sim import ANY, Component, Input, Kernel
from fiberscope.sim.channel import seen_from
from tests.sim.test_channel import Writer


class Judge(Component):
    """Pops what it sees of many channels, one in two of them; looks at each and at all side by side."""

    PORTS = (Input("inputs", ANY, array=True),)

    def __init__(self, name):
        super().__init__(name)
        self.seen, self.shown = [], []

    def elaborate(self):
        super().elaborate()
        self.seen_from = seen_from(self.inputs)

    def tick(self, now):
        self.seen.append([channel.can_pop() for channel in self.inputs])
        self.shown.append([cycle <= now for cycle in self.seen_from])
        for place, channel in enumerate(self.inputs):
            if channel.can_pop() and (now + place) % 2:
                channel.pop()
        return self.busy(now + 1)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 40), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_who_looks_at_many_channels_side_by_side_sees_what_each_shows(channels, times):
    kernel = Kernel()
    clock, other = kernel.clock("clk", times), kernel.clock("other", 2)
    judge = kernel.add(Judge("judge"), clock=clock)
    for place, (capacity, count, burst) in enumerate(channels):
        writer = kernel.add(Writer(f"writer{place}", count, burst), clock=(clock, other)[place % 2])
        kernel.connect(writer, "out", judge, f"inputs[{place}]", capacity=capacity, latency=1 + place)
    kernel.build()
    kernel.run(cycle_limit=600)
    assert judge.shown == judge.seen
    assert [channel.pops for channel in judge.inputs] == [count for _capacity, count, _burst in channels]
