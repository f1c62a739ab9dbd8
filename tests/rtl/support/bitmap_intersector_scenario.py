"""The bitmap intersector: pairs of random bitmaps, thin and full ones, of as many words."""

from __future__ import annotations

import random
from dataclasses import replace

from fiber_streams import STOP_TOKEN
from rows_scenario import LanedScenario

from fiberscope.hw.fibers.bitmap_intersect import WIDTHS
from fiberscope.hw.fibers.bitmap_intersect_rtl import BitmapIntersectorParameters
from fiberscope.sim.testing import Token

PAIRS = 30


def _parameters(generator: random.Random) -> BitmapIntersectorParameters:
    return BitmapIntersectorParameters(
        width=generator.choice(WIDTHS[:4]),
        coordinate_bits=generator.choice([8, 32, 55]),
        reference_bits=generator.choice([9, 64]),
    )


def _large(generator: random.Random) -> BitmapIntersectorParameters:
    return BitmapIntersectorParameters(width=generator.choice(WIDTHS[-2:]))


def _inputs(
    generator: random.Random, given: BitmapIntersectorParameters, pairs: int = PAIRS
) -> dict[str, list[Token]]:
    inputs: dict[str, list[Token]] = {"a": [], "b": []}
    most = min(1 << given.coordinate_bits, 1 << given.reference_bits - 1) // given.width
    for _ in range(pairs):
        words = min(most, generator.choice([0, 1, 3, 20]))
        for tokens in inputs.values():
            density = generator.choice([0.1, 0.5, 1.0])
            for _ in range(words):
                bits = (generator.random() < density for _ in range(given.width))
                tokens.append((0, sum(bit << place for place, bit in enumerate(bits)), 0, 0.0))
            tokens.append(STOP_TOKEN)
    return inputs


SCENARIO = LanedScenario(
    "bitmap_intersector", _parameters, _inputs, ("matches_a", "matches_b"), lanes="width"
)
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 6))
