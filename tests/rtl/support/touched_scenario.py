"""The touched bitmap: rounds in which nothing is set, a bit here and there, the same ones again, or most."""

import random
from dataclasses import replace
from typing import Any

from fiber_streams import STOP_TOKEN
from pairs import Pair
from rows_scenario import LanedScenario

from fiberscope.hw.memory.touched import CLEAR, FIND, WIDTHS
from fiberscope.hw.memory.touched_rtl import TouchedBitmapParameters
from fiberscope.sim.testing import Token

SETS = 300


class BitmapScenario(LanedScenario):
    """Whose outputs are an array, and the count of a round."""

    def pair(self, seed: int, *arguments: Any, **options: Any) -> Pair:
        """See ``Scenario``."""
        pair = super().pair(seed, *arguments, **options)
        return replace(pair, outputs=[*pair.outputs, "ready"])


def _parameters(generator: random.Random) -> TouchedBitmapParameters:
    return TouchedBitmapParameters(
        bits=generator.choice([1, 31, 33, 64, 130]),
        width=generator.choice([*WIDTHS[:1] * 3, *WIDTHS]),
        writers=generator.choice([1, 1, 2]),
        readers=generator.randint(1, 2),
        count_bits=generator.choice([12, 32]),
    )


def _large(generator: random.Random) -> TouchedBitmapParameters:
    bits, width, writers = generator.choice([(256, 32, 5), (1024, 32, 1), (3000, 64, 1)])
    return TouchedBitmapParameters(bits, width, writers, writers)


def _inputs(
    generator: random.Random, given: TouchedBitmapParameters, sets: int = SETS
) -> dict[str, list[Token]]:
    writers: list[list[Token]] = [[] for _ in range(given.writers)]
    scans: list[Token] = []
    while sum(map(len, writers)) < sets:
        base = generator.randrange(given.bits)
        span = generator.choice([1, 8, given.bits])
        for tokens in writers:
            count = generator.choice([0, 1, 5, 5, 40] if given.writers < 16 else [0, 0, 1])
            bits = ((base + generator.randrange(span)) % given.bits for _ in range(count))
            tokens += [(0, bit, 0, 0.0) for bit in bits]
            tokens.append(STOP_TOKEN)
        scans.append((CLEAR if generator.random() < 0.2 else FIND, 0, 0, 0.0))
    return {f"sets[{i}]": tokens for i, tokens in enumerate(writers)} | {"scans": scans}


SCENARIO = BitmapScenario("touched", _parameters, _inputs, ("found",), lanes="readers")
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 200))
