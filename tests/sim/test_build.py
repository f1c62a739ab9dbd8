"""Wiring: what is refused, and in which words."""

import pytest

from fiberscope.sim import (
    ANY,
    BuildError,
    Component,
    Input,
    Kernel,
    Output,
    Protocol,
    Signal,
    SimulationError,
)
from fiberscope.sim.testing import StreamSink, StreamSource

NUMBER = Protocol("number", coordinate="number")
BIT = Protocol("bit", control="bit")


class Adder(Component):
    PORTS = (
        Input("left", NUMBER),
        Input("right", NUMBER),
        Input("ways", NUMBER, array=True, optional=True),
        Output("sum", NUMBER),
        Output("carry", BIT, optional=True),
    )

    def tick(self, _now):
        return self.idle()


class Anything(Component):
    PORTS = (Input("in", ANY), Output("out", ANY))

    def tick(self, _now):
        return self.idle()


@pytest.fixture
def kernel():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    return kernel


@pytest.fixture
def adders(kernel):
    return [kernel.add(Adder(f"adder{number}")) for number in range(3)]


def refusal(call, *arguments, **options):
    """The message with which a call is refused."""
    with pytest.raises(SimulationError) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("output", "input_", "options", "message"),
    [
        ("sun", "left", {}, "adder0 has no output port sun; did you mean sum?"),
        ("xyz", "left", {}, "adder0 has no output port xyz; it has sum, carry"),
        ("sum", "lefty", {}, "adder1 has no input port lefty; did you mean left?"),
        ("left", "left", {}, "adder0 has no output port left; it has sum, carry"),
        ("sum", "ways[", {}, "adder1 has no input port ways[; did you mean ways?"),
        ("sum", "ways", {}, "adder1: port ways must be written ways[i]"),
        ("sum", "left[0]", {}, "adder1: port left[0] must be written left"),
        ("carry", "left", {}, "adder0.carry carries bit, but adder1.left expects number"),
        ("sum", "left", {"capacity": 0}, "adder0.sum to adder1.left: capacity must be at least 1, not 0"),
        ("sum", "left", {"latency": 0}, "adder0.sum to adder1.left: latency must be at least 1, not 0"),
    ],
)
def test_connect_says_what_does_not_match(kernel, adders, output, input_, options, message):
    options = {"capacity": 1, **options}
    assert refusal(kernel.connect, adders[0], output, adders[1], input_, **options) == message
    assert kernel.channels() == [], "a refused connection leaves nothing behind"


def test_a_component_without_ports_says_so(kernel, adders):
    blank = kernel.add(Component("blank"))
    assert refusal(kernel.connect, blank, "out", adders[0], "left", capacity=1) == (
        "blank has no output port out; it has none"
    )


def test_a_port_has_one_channel(kernel, adders):
    kernel.connect(adders[0], "sum", adders[1], "left", capacity=1)
    again = "is connected already: a channel has one writer and one reader"
    assert refusal(kernel.connect, adders[2], "sum", adders[1], "left", capacity=1) == f"adder1.left {again}"
    assert refusal(kernel.connect, adders[0], "sum", adders[1], "right", capacity=1) == f"adder0.sum {again}"


def test_a_port_that_carries_any_connects_to_all(kernel, adders):
    anything = kernel.add(Anything("anything"))
    before = kernel.connect(adders[0], "carry", anything, "in", capacity=1)
    behind = kernel.connect(anything, "out", adders[1], "left", capacity=1)
    assert kernel.wiring.channels == [before, behind]


def test_build_lists_all_faults_at_once(kernel, adders):
    kernel.add(Anything("adder2"))
    stranger = StreamSource("stranger", [])
    kernel.connect(stranger, "out", adders[0], "left", capacity=1)
    kernel.connect(adders[1], "sum", adders[0], "right", capacity=1)
    kernel.connect(adders[0], "sum", adders[1], "ways[2]", capacity=1)
    with pytest.raises(BuildError) as caught:
        kernel.build()
    assert caught.value.faults == (
        "2 components are named adder2",
        "adder1: port left (number) is not connected",
        "adder1: port right (number) is not connected",
        "adder1: the array ways has gaps: ways[0] not connected",
        "adder2: port left (number) is not connected",
        "adder2: port right (number) is not connected",
        "adder2: port sum (number) is not connected",
        "adder2: port in (any) is not connected",
        "adder2: port out (any) is not connected",
        "stranger.out is connected, but its component was not added to the kernel",
    )
    assert str(caught.value).startswith(
        "the machine cannot be built:\n  - 2 components are named adder2\n  - adder1: port left"
    )


def test_two_ports_of_one_name_are_refused(kernel):
    class Doubled(Component):
        PORTS = (Input("data", ANY), Output("data", ANY))

    kernel.add(Doubled("doubled"))
    with pytest.raises(BuildError, match=r"doubled: 2 ports are named data"):
        kernel.build()


def test_counters_and_signals_that_nothing_is_behind_are_refused(kernel):
    class Forgetful(Component):
        COUNTERS = ("counted", "forgotten")
        SIGNALS = (Signal("counted", 8), Signal("lost", 8))

        def elaborate(self):
            self.counted = 0

    class Telling(Forgetful):
        def counters(self):
            return {"forgotten": 0}

        def sample(self):
            return (0, 0)

    kernel.add(Forgetful("forgetful"))
    kernel.add(Telling("telling"))
    with pytest.raises(BuildError) as caught:
        kernel.build()
    assert caught.value.faults == (
        "forgetful: the counter forgotten is no attribute of Forgetful; set it in __init__",
        "forgetful: the signal lost is no attribute of Forgetful; set it in __init__",
    )


def test_a_component_runs_in_one_kernel_once(kernel, adders):
    again = "adder0 is in a kernel already: a component runs once"
    assert refusal(kernel.add, adders[0]) == again
    other = Kernel()
    other.clock("core", 10**9)
    assert refusal(other.add, adders[0]) == again


def test_clocks_are_checked(kernel):
    assert refusal(Kernel().add, Adder("adder")) == (
        "a clock is needed before the first component: kernel.clock(name, hertz)"
    )
    assert refusal(Kernel().run) == refusal(Kernel().add, Adder("adder"))
    assert refusal(kernel.clock, "slow", 0) == "clock slow: its frequency must be above 0 Hz, not 0"
    foreign = Kernel().clock("foreign", 10**9)
    assert refusal(kernel.add, Adder("adder"), foreign) == (
        "adder: the clock foreign belongs to another kernel"
    )


def test_clocks_that_no_base_tick_fits_are_refused(kernel):
    kernel.clock("odd", 1_000_000_007)
    assert refusal(kernel.build) == (
        "clock core: 1000000000 Hz needs 1000000007 base ticks a cycle to fit the other clocks exactly, "
        "above 268435456: choose rounder frequencies"
    )


def test_a_built_machine_cannot_change(kernel):
    kernel.build()
    message = "the machine is built already: add and connect before build()"
    for call, arguments in ((kernel.build, ()), (kernel.add, (Adder("late"),)), (kernel.clock, ("late", 1))):
        assert refusal(call, *arguments) == message
    assert refusal(kernel.connect, None, "out", None, "in", capacity=1) == message


def test_an_exception_while_building_says_in_which_component(kernel):
    class Misspelt(StreamSink):
        def elaborate(self):
            self.source = self.channel("inn")

    source, sink = kernel.add(StreamSource("source", [])), kernel.add(Misspelt("sink"))
    kernel.connect(source, "out", sink, "in", capacity=1)
    with pytest.raises(KeyError) as caught:
        kernel.build()
    assert caught.value.__notes__ == ["while building sink"]


def test_the_base_tick_makes_every_edge_exact():
    kernel = Kernel()
    clocks = [kernel.clock(str(hertz), hertz) for hertz in (10**9, 1_500_000_000, 536_870_912)]
    kernel.build()
    assert [kernel.base_hertz / clock.period for clock in clocks] == [clock.hertz for clock in clocks]
    assert [clock.period for clock in clocks] == [3 << 20, 2 << 20, 3 * 5**9]


def test_channels_of_an_array_come_in_the_order_of_their_index(kernel, adders):
    for index in reversed(range(12)):
        source = kernel.add(StreamSource(f"source{index}", []))
        kernel.connect(source, "out", adders[0], f"ways[{index}]", capacity=index + 1)
    for adder in adders:
        for port in ("left", "right"):
            source = kernel.add(StreamSource(f"{adder.name}.{port}.source", []))
            kernel.connect(source, "out", adder, port, capacity=1)
        kernel.connect(adder, "sum", kernel.add(StreamSink(f"{adder.name}.sink")), "in", capacity=1)
    kernel.build()
    assert [channel.capacity for channel in adders[0].channels("ways")] == list(range(1, 13))
    assert adders[0].optional_channel("carry") is None
    assert adders[0].optional_channel("left").name == "adder0.left"
    assert adders[1].channels("ways") == []
