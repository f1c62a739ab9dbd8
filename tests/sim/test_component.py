"""What a component declares it has: ports, counters and signals, said once; and what it may not have."""

import pytest
from vcd_reader import read_vcd

from fiberscope.sim import ANY, Component, Input, Kernel, Output, Protocol, Signal, SimulationError
from fiberscope.sim.component import signals_are_attributes
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens, run_block
from fiberscope.sim.trace import write_vcd

PAIR = Protocol("tile pair", coordinate="a", reference="b")


class Passing(Component):
    PORTS = (Input("ways", ANY, array=True), Input("hints", ANY, optional=True), Output("merged", ANY))
    COUNTERS = ("moved", "looks")
    SIGNALS = (Signal("moved", 8), Signal("looking", 1))

    def __init__(self, name):
        super().__init__(name)
        self.moved = self.looks = 0
        self.looking = False

    def tick(self, now):
        shown = [way for way in self.ways if way.can_pop()]
        self.looking = not shown
        if not shown:
            return self.idle()
        if not self.merged.can_push():
            return self.wait_output(self.merged)
        self.looks += len(shown)
        self.merged.push(0, shown[0].coordinate())
        shown[0].pop()
        self.moved += 1
        return self.busy(now + 1)


def test_declared_ports_counters_and_signals_are_the_attributes_of_their_names():
    block = Passing("block")
    inputs = {f"ways[{way}]": data_tokens(range(way, way + 3)) for way in range(2)}
    outcome = run_block(block, inputs, ["merged"])
    assert block.ways == block.channels("ways")
    assert [block.merged.name, block.hints] == ["sink.merged.in", None]
    assert outcome.statistics["block"].counters == {"moved": 6, "looks": block.looks}
    assert (block.signals(), block.sample()) == (Passing.SIGNALS, (6, True))


@pytest.mark.parametrize("value", ["6", 1 << 63])
def test_a_signal_whose_attribute_is_no_number_is_refused_by_its_name(value):
    block = Passing("block")
    run_block(block, {"ways[0]": data_tokens([1])}, ["merged"])
    block.moved = value
    with pytest.raises(SimulationError, match=r"^block\.moved is no 64-bit integer: "):
        block.sample()


class Stored(Passing):
    def write_signals(self, values):
        values[0], values[1] = self.moved + 100, self.looking
        return 0  # as a compiled method does


class Relisted(Stored):
    SIGNALS = (*Passing.SIGNALS, Signal("looks"))


class Resampled(Relisted):
    def sample(self):
        return (self.moved + 200, self.looking, 0)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (Passing, (6, True), True),
        (Stored, (106, True), False),
        (Relisted, (6, True, 9), True),
        (Resampled, (206, True, 0), False),
    ],
)
def test_signals_listed_in_a_subclass_are_attributes_unless_it_samples_them_itself(
    tmp_path, kind, values, expected
):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block, sink = kernel.add(kind("block")), kernel.add(StreamSink("sink"))
    for way in range(2):
        source = kernel.add(StreamSource(f"source{way}", data_tokens(range(3))))
        kernel.connect(source, "out", block, f"ways[{way}]", capacity=2)
    kernel.connect(block, "merged", sink, "in", capacity=2)
    with write_vcd(kernel, tmp_path / "run.vcd"):
        kernel.run()
    assert signals_are_attributes(kind) is expected
    assert block.sample() == values
    signals = read_vcd(tmp_path / "run.vcd").signals
    assert tuple(signals[f"block.{signal.name}"].changes[-1][1] for signal in kind.SIGNALS) == values


def test_what_a_push_leaves_out_is_zero():
    assert run_block(Passing("block"), {"ways[0]": [(0, 5, 6, 7.0)]}, ["merged"]).tokens("merged") == [
        (0, 5, 0, 0.0)
    ]


@pytest.mark.parametrize("name", ["state", "clock", "cycles", "connected", "since", "index"])
def test_an_attribute_of_the_engine_is_refused_in_one_line(name):
    with pytest.raises(SimulationError) as caught:
        setattr(Component("gamma.mine"), name, [])
    assert str(caught.value) == (
        f"gamma.mine: the attribute {name} is the engine's; give your own another name"
    )


@pytest.mark.parametrize("port", ["tick", "name", "taken"])
def test_a_port_with_the_name_of_another_attribute_is_refused(port):
    class Clash(Component):
        PORTS = (Input(port, ANY),)

        def __init__(self, name):
            super().__init__(name)
            self.taken = 3

    kernel = Kernel()
    kernel.clock("core", 10**9)
    source, clash = kernel.add(StreamSource("source", [])), kernel.add(Clash("clash"))
    kernel.connect(source, "out", clash, port, capacity=1)
    with pytest.raises(SimulationError, match=f"^clash: port {port} has the name of another attribute"):
        kernel.build()


def test_what_is_no_component_is_refused():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    with pytest.raises(SimulationError, match="consists of components, and None is not a component"):
        kernel.add(None)


class TestProtocols:
    def test_are_compared_by_what_they_say(self):
        assert Protocol("tile pair", coordinate="a", reference="b") == PAIR
        assert Protocol("tile pair", coordinate="a") != PAIR

    def test_say_what_they_carry(self):
        assert PAIR.fields == {"coordinate": "a", "reference": "b"}
        assert PAIR.describe() == "tile pair (coordinate: a, reference: b)"
        assert Protocol("done").describe() == str(Protocol("done")) == "done"

    def test_of_one_name_that_differ_are_told_apart_in_full(self):
        class Giver(Component):
            PORTS = (Output("out", PAIR),)

        class Taker(Component):
            PORTS = (Input("pairs", Protocol("tile pair", coordinate="a")),)

        with pytest.raises(SimulationError) as caught:
            Kernel().connect(Giver("giver"), "out", Taker("taker"), "pairs", capacity=1)
        assert str(caught.value) == (
            "giver.out carries tile pair (coordinate: a, reference: b), "
            "but taker.pairs expects tile pair (coordinate: a)"
        )

    def test_anything_else_is_refused_where_the_port_is_declared(self):
        with pytest.raises(TypeError, match="port out must carry a Protocol, not 'tile pair'"):
            Output("out", "tile pair")

    def test_a_channel_knows_the_protocol_of_whichever_end_says_more(self):
        class Giver(Component):
            PORTS = (Output("out", PAIR),)

        kernel = Kernel()
        assert kernel.connect(Giver("a"), "out", StreamSink("b"), "in", capacity=1).protocol == PAIR
        assert kernel.connect(StreamSource("c", []), "out", StreamSink("d"), "in", capacity=1).protocol == ANY


class Chooser(Component):
    """Passes one token from any input to the output of its number, when there is space."""

    PORTS = (Input("ways", ANY, array=True), Output("ends", ANY, array=True))

    def __init__(self, name):
        super().__init__(name)
        self.left = 4

    def tick(self, now):
        if self.left == 0:
            return self.idle()
        shown = [way for way in self.ways if way.can_pop()]
        if not shown:
            return self.wait_any_input(self.ways)
        space = [end for end in self.ends if end.can_push()]
        if not space:
            return self.wait_any_output(self.ends)
        space[0].push(0, shown[0].coordinate())
        shown[0].pop()
        self.left -= 1
        return self.busy(now + 1)


def test_waiting_for_any_of_an_array_blames_none_of_it():
    inputs = {"ways[0]": data_tokens([1, 2]), "ways[1]": data_tokens([3, 4])}
    statistics = run_block(Chooser("chooser"), inputs, ["ends[0]", "ends[1]"], latency=3).statistics
    counts = statistics["chooser"]
    assert (set(counts.input_stall), counts.output_stall) == ({"ways"}, {})


def test_a_deadlock_names_all_that_any_of_would_do():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    chooser = kernel.add(Chooser("chooser"))
    for number in range(2):
        source = kernel.add(StreamSource(f"source{number}", data_tokens([number])))
        kernel.connect(source, "out", chooser, f"ways[{number}]", capacity=1)
        sink = kernel.add(StreamSink(f"sink{number}"))
        kernel.connect(chooser, f"ends[{number}]", sink, "in", capacity=2)
    with pytest.raises(SimulationError) as caught:
        kernel.run()
    assert str(caught.value).endswith(
        "  - chooser waits for a token at any of ways: channel chooser.ways[0] holds 0 of 1 tokens; "
        "channel chooser.ways[1] holds 0 of 1 tokens"
    )


def test_an_idle_component_with_a_timer_runs_then():
    class Timer(Component):
        PORTS = ()

        def __init__(self, name):
            super().__init__(name)
            self.ticked = []

        def tick(self, now):
            self.ticked.append(now)
            if now < 600:
                self.wake_at(now + 300)
            return self.idle()

    kernel = Kernel()
    kernel.clock("core", 10**9)
    timer = kernel.add(Timer("timer"))
    assert kernel.run().cycles == 0
    assert timer.ticked == [0, 300, 600]
