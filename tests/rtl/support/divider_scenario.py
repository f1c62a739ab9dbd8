"""The divider: random fibers of dividends, each fiber with a divisor of its own."""

from __future__ import annotations

import random

from fiber_streams import STOP_TOKEN
from scenario import Scenario
from streams import Token

from hw.divider import Divider
from hw.rtl.divider import DividerParameters

TOKENS = 220  # about so many a seed


def _parameters(generator: random.Random) -> DividerParameters:
    width = generator.choice([1, 2, 5, 8, 13, 32, 62])
    return DividerParameters(
        width=width,
        bits_per_stage=generator.randint(1, width),
        value_bits=generator.choice([0, 32, 64]),
    )


def _inputs(generator: random.Random, given: DividerParameters) -> dict[str, list[Token]]:
    divisors: list[Token] = []
    dividends: list[Token] = []
    while len(dividends) < TOKENS:
        divisor = generator.choice([0, 1, *(number(generator, given) for _ in range(6))])
        divisors.append((0, divisor, 0, 0.0))
        for _ in range(generator.choice([0, 1, generator.randint(0, 30)])):
            value = generator.randrange(-4096, 4096) / 8 if given.value_bits else 0.0
            dividends.append((0, number(generator, given), 0, value))
        dividends.append(STOP_TOKEN)
    return {"divisors": divisors, "dividends": dividends}


def number(generator: random.Random, given: DividerParameters) -> int:
    """An unsigned integer of at most the width, small ones as often as large ones."""
    return generator.getrandbits(generator.randint(1, given.width))


SCENARIO = Scenario(
    "divider",
    lambda name, given: Divider(name, given.width, given.bits_per_stage),
    _parameters,
    _inputs,
    ("results",),
)
