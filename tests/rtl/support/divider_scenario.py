"""The divider: random arrays of dividends, each with a divisor of its own."""

import random
from dataclasses import replace

from rows_scenario import (
    LANES,
    MANY_LANES,
    MANY_LANES_ROWS,
    LanedScenario,
    by_lane,
    random_arrays,
    random_number,
    random_value,
)

from fiberscope.hw.lanes.divider_rtl import DividerParameters
from fiberscope.sim.testing import Token

ROWS = 60


def _parameters(generator: random.Random) -> DividerParameters:
    width = generator.choice([1, 2, 5, 8, 13, 32, 62])
    return DividerParameters(
        lanes=generator.choice(LANES),
        width=width,
        bits_per_stage=generator.randint(1, width),
        value_bits=generator.choice([0, 32, 64]),
    )


def _large(generator: random.Random) -> DividerParameters:
    return DividerParameters(lanes=generator.choice(MANY_LANES), width=16, bits_per_stage=4)


def _inputs(generator: random.Random, given: DividerParameters, rows: int = ROWS) -> dict[str, list[Token]]:
    def element() -> Token:
        value = random_value(generator, given.value_bits)
        return (0, random_number(generator, given.width), 0, value)

    arrays = random_arrays(generator, given.lanes, rows, element)
    divisors = [generator.choice([0, 1, random_number(generator, given.width)]) for _ in arrays]
    return {"divisors": [(0, divisor, 0, 0.0) for divisor in divisors]} | by_lane("dividends", arrays)


SCENARIO = LanedScenario("divider", _parameters, _inputs, ("results",))
LARGE = replace(
    SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, MANY_LANES_ROWS)
)
