"""A module beside its component: outputs decide, inputs are noted, the protocol is checked."""

import pytest

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.hw.stream import STOP, STREAM
from fiberscope.sim import Component, Input, Kernel, Output
from fiberscope.sim.testing import StreamSink, StreamSource

FIELDS = {"control": 1, "coordinate": 8, "value": 64}
INTERFACE = Interface("pass", (Stream("in", "in", "input", FIELDS), Stream("out", "out", "output", FIELDS)))
TOKENS = [(0, 3, 0, 1.5), (0, 5, 0, -0.0), (1, 0, 0, 0.0), (0, 2, 0, 4.0), (1, 0, 0, 0.0), (1, 0, 0, 0.0)]
STALLS = ((0, 2, 0, 0, 3, 0), (4, 0, 0, 6, 0, 0))  # of the source, and of the sink
DRAIN = 8


class Pass(Component):
    """Passes a token on in the cycle in which it is seen, if there is space."""

    PORTS = (Input("in", STREAM), Output("out", STREAM))

    def elaborate(self):
        self.source, self.sink = self.channel("in"), self.channel("out")

    def tick(self, now):
        if not self.source.can_pop():
            return self.idle()
        if not self.sink.can_push():
            return self.wait_output(self.sink)
        self.sink.push(*self.source.token(0))
        self.source.pop()
        return self.busy(now + 1)


class Module:
    """The same as a module; a subclass has a fault, or takes its inputs in other cycles."""

    def __init__(self):
        self.words = Words(INTERFACE)
        self.count = self.held_for = self.cycles = 0
        self.queue = []

    def cycle(self):
        driven = self.words.driven()
        token = {name[3:]: bits for name, bits in driven.items() if name.startswith("in_")}
        token.pop("valid")
        valid, ready = bool(driven["in_valid"]), bool(driven["out_ready"])
        take, offer, token = self.act(valid, ready, token)
        self.words.show({"in_ready": int(take), "out_valid": int(offer)})
        self.words.show({f"out_{name}": bits if offer else 0 for name, bits in token.items()})
        self.held_for = self.held_for + 1 if offer and not ready else 0
        self.count += offer and ready
        self.cycles += 1

    def idle(self, _cycles):
        self.cycle()
        return 1

    def signals(self):
        return {}

    def act(self, valid, ready, token):
        """Whether it takes its input and offers an output, and which."""
        return valid and ready, valid, token


class StopsEarly(Module):
    """Takes a stop when it shows, and sends it from a register."""

    def act(self, valid, ready, token):
        if self.queue:
            stop = self.queue[0]
            if ready:
                self.queue.clear()
            return False, True, stop
        if valid and token["control"] and not ready:
            self.queue.append(token)
            return True, True, token
        return super().act(valid, ready, token)


class StopsWithGarbage(Module):
    def act(self, valid, ready, token):
        return super().act(valid, ready, token | ({"coordinate": 7} if token["control"] else {}))


class WrongValue(Module):
    def act(self, valid, ready, token):
        return super().act(valid, ready, token | ({"value": token["value"] ^ 1} if self.count == 3 else {}))


class LosesSign(Module):
    def act(self, valid, ready, token):
        return super().act(valid, ready, token | {"value": token["value"] & (1 << 63) - 1})


class Late(Module):
    """Sends a token a cycle late, the first that need not wait for space."""

    def act(self, valid, ready, token):
        late = valid and ready and not self.held_for and not self.queue
        if late:
            self.queue.append(None)
        return super().act(valid and not late, ready, token)


class Swallows(Module):
    """Takes the last token, and does not send it."""

    def act(self, valid, ready, token):
        take, offer, token = super().act(valid, ready, token)
        return take, offer and self.count < len(TOKENS) - 1, token


class Repeats(Module):
    """Sends the last token twice."""

    def act(self, valid, ready, token):
        take, offer, token = super().act(valid, ready, token)
        if take and self.count == len(TOKENS) - 1:
            self.queue.append(token)
        elif self.queue and self.count == len(TOKENS):
            return take, True, self.queue[0]
        return take, offer, token


class Withdraws(Module):
    """Offers a token for one cycle, and again when there is space."""

    def act(self, valid, ready, token):
        return super().act(valid and (ready or not self.held_for), ready, token)


class Changes(Module):
    """Shows the value only when there is space."""

    def act(self, valid, ready, token):
        return super().act(valid, ready, token if ready else token | {"value": 0})


class WaitsForReady(Module):
    """Offers a token only when there is space, which breaks no rule of a plain port."""

    def act(self, valid, ready, token):
        return super().act(valid and ready, ready, token)


def exercise(module, *, sleep):
    """What is noted of a module, and how many tokens came out."""
    kernel = Kernel(sleep=sleep)
    kernel.clock("core", 10**9)
    kind = type("Stand", (Adapter,), {"PORTS": Pass.PORTS})
    source = kernel.add(StreamSource("source", TOKENS, STALLS[0]))
    adapter = kernel.add(kind("unit", INTERFACE, module(), drain=DRAIN))
    adapter.shadow = lambda: Pass("unit")
    sink = kernel.add(StreamSink("sink", STALLS[1]))
    kernel.connect(source, "out", adapter, "in", capacity=2)
    kernel.connect(adapter, "out", sink, "in", capacity=1)
    kernel.run()
    return adapter.exercise(), [token for _cycle, token in sink.received]


KINDS = {
    Module: (None, None, None),
    StopsEarly: (None, "in is taken by the RTL alone", None),
    StopsWithGarbage: (None, None, None),
    WaitsForReady: (None, None, None),
    WrongValue: (
        "out is control=0 coordinate=2 value=4.0 of the component, control=0 coordinate=2 value=4.",
        None,
        None,
    ),
    LosesSign: (
        "out is control=0 coordinate=5 value=-0.0 of the component, control=0 coordinate=5 value=0.0 of",
        None,
        None,
    ),
    Late: (
        "out is control=0 coordinate=3 value=1.5 of the component, nothing of the RTL",
        "in is taken by the component alone",
        None,
    ),
    Swallows: ("out is control=1 coordinate=0 value=0.0 of the component, nothing of the RTL", None, None),
    Repeats: ("out is nothing of the component, control=1 coordinate=0 value=0.0 of the RTL", None, None),
    Withdraws: (None, None, "out_valid falls before the token is taken"),
    Changes: (None, None, "out_value changes from 0 to "),
}


@pytest.mark.parametrize("sleep", [True, False])
@pytest.mark.parametrize("module", KINDS)
def test_a_module_is_judged_by_its_outputs(module, sleep):
    noted, _received = exercise(module, sleep=sleep)
    for event, text in zip((noted.output, noted.input, noted.violation), KINDS[module], strict=True):
        if text is None:
            assert event is None
        else:
            assert text in event[1]
            assert event[1].startswith(f"unit: in cycle {event[0]}, ")


@pytest.mark.parametrize("module", KINDS)
def test_what_is_noted_does_not_depend_on_sleep(module):
    asleep, awake = (exercise(module, sleep=sleep)[0] for sleep in (True, False))
    assert (asleep.output, asleep.input, asleep.violation) == (awake.output, awake.input, awake.violation)


@pytest.mark.parametrize("module", [Withdraws, Changes, StopsEarly, WaitsForReady])
def test_a_broken_handshake_is_named_though_every_token_is_right(module):
    _noted, received = exercise(module, sleep=True)
    assert received == TOKENS
    assert TOKENS[-1][0] == STOP
