"""What an adapter makes of a module that acts by itself: for how long, and from when on."""

import pytest

from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.interface import Interface, Stream
from sim import ANY, Input, Kernel, SimulationError
from sim.testing import StreamSource, data_tokens

INTERFACE = Interface("late", (Stream("in", "in", "input", {"coordinate": 8}),))


class Late:
    """A module that takes a token some cycles after the first in which it sees it."""

    def __init__(self, wait):
        self.wait = wait
        self.seen = 0
        self.pins = {"in_valid": 0}

    def cycle(self, changed):
        self.pins.update(changed)
        ready = self.seen == self.wait
        self.seen = self.seen + 1 if self.pins["in_valid"] and not ready else 0
        return {"in_ready": int(ready)}

    def idle(self, _cycles):
        return 1, self.cycle({})


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
