"""The accumulator: fibers with runs of equal coordinates, of whole numbers up to the largest or of floats."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from fiber_streams import STOP_TOKEN
from pairs import End, random_channel
from scenario import Scenario
from stream_values_scenario import number_of, summed_bits

from fiberscope.hw.fibers.arithmetic_rtl import AccumulatorParameters
from fiberscope.hw.rtl.kit.arithmetic import VALUES
from fiberscope.hw.value_type import INTEGER
from fiberscope.sim import Component, Kernel
from fiberscope.sim.testing import StreamSink, Token, random_stalls

FIBERS = 50


def _parameters(generator: random.Random) -> AccumulatorParameters:
    bits = generator.choice([1, 8, 32, 45])
    return AccumulatorParameters(
        coordinate_bits=generator.choice([1, 8, 62]),
        value_bits=bits,
        sum_bits=min(53, bits + 8),
        values=generator.choice(VALUES),
    )


def _inputs(
    generator: random.Random, given: AccumulatorParameters, fibers: int = FIBERS, longest: int = 12
) -> dict[str, list[Token]]:
    tokens: list[Token] = []
    whole = given.values == INTEGER
    most = 1 << summed_bits(given, 8) >> 1  # the sum of all of them fits
    for _ in range(fibers):
        span = 1 << generator.randint(1, given.coordinate_bits)
        places = sorted(generator.randrange(span) for _ in range(generator.randint(0, longest)))
        largest = generator.random() < 0.2
        for place in places:
            value = float(-most) if largest and whole else number_of(generator, given, summed_bits(given, 8))
            tokens.append((0, place, 0, value))
        tokens.append(STOP_TOKEN)
    return {"products": tokens}


def _around(
    kernel: Kernel, scope: str, end: Callable[[str], End], generator: random.Random
) -> Sequence[Component]:
    """A sink behind a channel that has room for two tokens at the least."""
    stalls = random_stalls(generator.randrange(1 << 30), often=generator.choice([0.0, 0.1, 0.5]))
    sink = kernel.add(StreamSink(f"{scope}.sink_sums", stalls))
    channel = random_channel(generator)
    kernel.connect(*end("sums"), sink, "in", **channel | {"capacity": channel["capacity"] + 1})
    return [sink]


SCENARIO = Scenario("accumulator", _parameters, _inputs, (), _around)
LARGE = replace(
    SCENARIO,
    draw=lambda _: AccumulatorParameters(),
    inputs=lambda generator, given: _inputs(generator, given, 5, 200),
)
