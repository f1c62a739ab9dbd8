"""The prefix sum: random arrays, in every form."""

import random
from dataclasses import replace

from rows_scenario import (
    LANES,
    MANY_LANES_ROWS,
    LanedScenario,
    by_lane,
    random_arrays,
    random_number,
    random_value,
)

from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, SERIAL, WORK_EFFICIENT
from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.sim.testing import Token

ROWS = 60
LARGE_FORMS = ((SERIAL, 16), (WORK_EFFICIENT, 33), (PARALLEL, 64))


def _parameters(generator: random.Random) -> PrefixSumParameters:
    return PrefixSumParameters(
        form=generator.choice(FORMS),
        lanes=generator.choice(LANES),
        width=generator.choice([1, 8, 32, 62]),
        reference_bits=generator.choice([0, 1, 16, 64]),
        value_bits=generator.choice([0, 32, 64]),
    )


def prefix_sum_inputs(
    generator: random.Random, given: PrefixSumParameters, rows: int = ROWS
) -> dict[str, list[Token]]:
    """Random arrays of about so many rows in all."""
    limit = (1 << given.reference_bits) // 2

    def element() -> Token:
        reference = generator.randrange(-limit, limit) if limit else 0
        value = random_value(generator, given.value_bits)
        return (0, random_number(generator, given.width), reference, value)

    return by_lane("lanes", random_arrays(generator, given.lanes, rows, element))


def _large(generator: random.Random) -> PrefixSumParameters:
    form, lanes = generator.choice(LARGE_FORMS)
    return PrefixSumParameters(form=form, lanes=lanes)


SCENARIO = LanedScenario("prefix_sum", _parameters, prefix_sum_inputs, ("sums",))
LARGE = replace(
    SCENARIO,
    draw=_large,
    inputs=lambda generator, given: prefix_sum_inputs(generator, given, MANY_LANES_ROWS),
)
