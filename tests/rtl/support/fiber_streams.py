"""Random fibers and merges from a seeded generator, as tokens."""

import math
import random

from fiberscope.sim.testing import Token

SPECIAL = (-0.0, math.inf, -math.inf, math.nan, 2.0**-149, 2.0**127)  # floats that 32 bits hold too
STOP_TOKEN: Token = (1, 0, 0, 0.0)
Fiber = list[Token]


def random_float(generator: random.Random) -> float:
    """A float that 32 bits hold, a special one now and then."""
    if generator.randrange(8) == 0:
        return generator.choice(SPECIAL)
    return generator.randrange(-4096, 4096) / 8


def random_fiber(generator: random.Random, length: int, coordinate_bits: int, reference_bits: int) -> Fiber:
    """At most ``length`` elements with increasing coordinates, and a stop."""
    span = 1 << coordinate_bits
    coordinates = sorted({generator.randrange(span) for _ in range(length)})
    limit = 1 << (reference_bits - 1)
    return [
        (0, coordinate, generator.randrange(-limit, limit), random_float(generator))
        for coordinate in coordinates
    ] + [STOP_TOKEN]


def merge_inputs(
    generator: random.Random, radix: int, merges: int, longest: int, coordinate_bits: int, reference_bits: int
) -> dict[str, list[Token]]:
    """Tokens at each port of a merger for some merges; spans are narrow now and then, so that ties occur."""
    inputs: dict[str, list[Token]] = {"tasks": []} | {f"ways[{way}]": [] for way in range(radix)}
    for _ in range(merges):
        fan_in = generator.choice([0, 1, radix, generator.randint(0, radix)])
        inputs["tasks"].append((0, fan_in, 0, 0.0))
        span = generator.randint(1, coordinate_bits)
        for way in range(fan_in):
            length = generator.choice([0, 1, generator.randint(0, longest)])
            inputs[f"ways[{way}]"] += random_fiber(generator, length, span, reference_bits)
    return inputs
