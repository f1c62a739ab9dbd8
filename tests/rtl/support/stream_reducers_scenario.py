"""The reducers that see coordinates, and what stands in front of accumulators."""

from __future__ import annotations

import random
from dataclasses import replace

from nested import EMPTY_TOKEN, coordinates, mapped, nested, number, stream
from stream_base import LEAVES, StreamScenario
from stream_values_scenario import values_of

from hw.rtl.streams.fiber_reducer import FiberReducerParameters
from hw.rtl.streams.stop_dropper import CARRIES, VALUES, StopDropperParameters
from hw.streams.tokens import DATA
from sim.testing import Token


def _fiber_reducer(generator: random.Random) -> FiberReducerParameters:
    bits = generator.choice([2, 8, 32, 44])
    return FiberReducerParameters(generator.choice([4, 16, 55]), bits, bits + 9)


def _fibers(generator: random.Random, given: FiberReducerParameters) -> dict[str, list[Token]]:
    """Values, now and then an N, and a coordinate for each of their fibers, many of which are empty."""
    depth = generator.randint(0, 2)
    lists = nested(generator, depth + 1, LEAVES, 9)
    outer = mapped(lists, depth + 1, lambda _: number(generator.randrange(1 << given.coordinate_bits)))
    values = values_of(generator, depth + 1, lists, given.value_bits)
    return {
        "in_crd": stream(outer, depth),
        "in_val": [EMPTY_TOKEN if t[0] == DATA and generator.random() < 0.05 else t for t in values],
    }


FIBER_REDUCER = StreamScenario("fiber_reducer", _fiber_reducer, _fibers, ())
LARGE_FIBER_REDUCER = replace(FIBER_REDUCER, draw=lambda _: FiberReducerParameters(55, 43, 53))


def _with_stops(generator: random.Random, given: StopDropperParameters) -> dict[str, list[Token]]:
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    if given.carries == VALUES:
        tokens = values_of(generator, depth, lists, given.value_bits)
    else:
        tokens = stream(
            mapped(
                lists,
                depth,
                lambda fiber: [number(c) for c in coordinates(generator, len(fiber), given.coordinate_bits)],
            ),
            depth,
        )
    return {"in_stream": [EMPTY_TOKEN if t[0] == DATA and generator.random() < 0.05 else t for t in tokens]}


STOP_DROPPER = StreamScenario(
    "stop_dropper",
    lambda generator: StopDropperParameters(
        generator.choice(CARRIES), generator.choice([9, 16, 55]), generator.choice([2, 32, 53])
    ),
    _with_stops,
    (),
)
LARGE_STOP_DROPPER = replace(
    STOP_DROPPER, draw=lambda generator: StopDropperParameters(generator.choice(CARRIES), 55, 53)
)
