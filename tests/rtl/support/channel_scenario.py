"""The channel: one of the engine's, between two components that only pass on what comes, at once."""

import random
from collections.abc import Mapping
from dataclasses import replace

from composed_scenario import ComposedScenario
from pairs import Composed
from rows_scenario import random_value

from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.sim import ANY, Component, Input, Kernel, Output
from fiberscope.sim.testing import Token, head

TOKENS = 400


class PassOn(Component):
    """A wire: a token leaves in the cycle in which it comes, if there is space."""

    PORTS = (Input("in", ANY), Output("out", ANY))

    def tick(self, now: int) -> int:
        source, sink = self.channel("in"), self.channel("out")
        if not source.can_pop():
            return self.idle()
        if not sink.can_push():
            return self.wait_output(sink)
        sink.push(*head(source))
        source.pop()
        return self.busy(now + 1)


def _composed(given: ChannelParameters) -> Composed:
    def add(kernel: Kernel, scope: str) -> Mapping[str, tuple[Component, str]]:
        writer, reader = (kernel.add(PassOn(f"{scope}.{name}")) for name in ("writer", "reader"))
        kernel.connect(writer, "out", reader, "in", capacity=given.capacity, latency=given.latency)
        return {"in": (writer, "in"), "out": (reader, "out")}

    return add


def _parameters(generator: random.Random) -> ChannelParameters:
    return ChannelParameters(
        capacity=generator.choice([1, 2, 3, 4, 5, 8, 13]),
        latency=generator.choice([1, 1, 2, 3, 7]),
        control_bits=generator.choice([0, 1, 4]),
        coordinate_bits=generator.choice([1, 16, 55]),
        reference_bits=generator.choice([0, 1, 64]),
        value_bits=generator.choice([0, 32, 64]),
    )


def _large(generator: random.Random) -> ChannelParameters:
    return ChannelParameters(capacity=generator.choice([17, 33, 64]), latency=generator.choice([1, 9, 20]))


def _inputs(generator: random.Random, given: ChannelParameters) -> dict[str, list[Token]]:
    return {"in": [_token(generator, given) for _ in range(TOKENS)]}


def _token(generator: random.Random, given: ChannelParameters) -> Token:
    half = 1 << given.reference_bits >> 1
    return (
        generator.getrandbits(given.control_bits),
        generator.getrandbits(given.coordinate_bits),
        generator.randrange(-half, half) if half else 0,
        random_value(generator, given.value_bits),
    )


SCENARIO = ComposedScenario("channel", _parameters, _inputs, ("out",), composed=_composed)
LARGE = replace(SCENARIO, draw=_large)
