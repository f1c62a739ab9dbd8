"""What an adapter makes of a module that acts by itself: for how long, and from when on."""

import pytest

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface, Stream, float_bits, float_of
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.sim import ANY, Input, Kernel, Output, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens

INTERFACE = Interface("late", (Stream("in", "in", "input", {"coordinate": 8}),))


class Late:
    """A module that takes a token some cycles after the first in which it sees it."""

    def __init__(self, wait):
        self.wait = wait
        self.seen = 0
        self.words = Words(INTERFACE)

    def cycle(self):
        ready = self.seen == self.wait
        self.seen = self.seen + 1 if self.words.driven()["in_valid"] and not ready else 0
        self.words.show({"in_ready": int(ready)})

    def idle(self, _cycles):
        self.cycle()
        return 1


class Taker(Adapter):
    PORTS = (Input("in", ANY),)

    def __init__(self, backend, drain):
        super().__init__("taker", INTERFACE, backend, drain=drain)
        self.taken = []

    def observe(self, moved):
        self.taken += [token.coordinate for token in moved.values()]


def taken(wait, drain):
    """What is taken of three tokens with a long pause before each but the first."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    source = kernel.add(StreamSource("source", data_tokens([1, 1, 2]), (100,)))
    taker = kernel.add(Taker(Late(wait), drain))
    kernel.connect(source, "out", taker, "in", capacity=2)
    kernel.run()
    return taker.taken


def test_a_module_may_act_for_as_long_after_a_change_at_its_ports():
    assert taken(wait=5, drain=5) == [1, 1, 2]


@pytest.mark.parametrize("drain", [0, 4])
def test_planted_a_module_that_acts_later_is_found(drain):
    with pytest.raises(SimulationError, match=r"deadlock|the module moves in, though nothing at its ports"):
        taken(wait=5, drain=drain)


FULL = {"control": 1, "coordinate": 8, "reference": 4, "value": 64}
NANS = (0x7FF4000000000001, 0x7FF8DEADBEEF0001, 0xFFF0000000000007, 0x8000000000000000)


class Through:
    """A module that is wires from ``in`` to ``out``."""

    def __init__(self, interface):
        self.words = Words(interface)

    def cycle(self):
        driven = self.words.driven()
        self.words.show({"in_ready": driven["out_ready"] & driven["in_valid"]})
        self.words.show({"out" + name[2:]: bits for name, bits in driven.items() if name.startswith("in_")})


@pytest.mark.parametrize(("width", "lost"), [(64, 0), (32, 29)])
def test_a_value_keeps_its_bits_from_channel_to_channel(width, lost):
    sent = [float_of((bits >> lost << lost) - (1 << 64 if bits >> 63 else 0)) for bits in NANS]
    interface = Interface(
        "through",
        tuple(
            Stream(end, end, way, FULL | {"value": width})
            for end, way in (("in", "input"), ("out", "output"))
        ),
    )
    kernel = Kernel()
    kernel.clock("core", 10**9)
    source = kernel.add(StreamSource("source", [(0, 0, -8, value) for value in sent]))
    kind = type("Wires", (Adapter,), {"PORTS": (Input("in", ANY), Output("out", ANY))})
    wires = kernel.add(kind("wires", interface, Through(interface)))
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(source, "out", wires, "in", capacity=2)
    kernel.connect(wires, "out", sink, "in", capacity=2)
    kernel.run()
    assert [float_bits(token[3]) for _cycle, token in sink.received] == [float_bits(value) for value in sent]
