"""The prefix sum: random arrays, in every form."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from fiber_streams import STOP_TOKEN
from pairs import Pair
from scenario import Scenario
from streams import Token

from hw.prefix_sum import FORMS, PrefixSum
from hw.rtl.prefix_sum import PrefixSumParameters

ROWS = 60  # about so many a seed
LANES = (1, 2, 3, 4, 5, 7, 8, 11)


class LanedScenario(Scenario):
    """A scenario with as many outputs as the parameters have lanes."""

    def pair(self, seed: int, parameters: Any = None, *arguments: Any, **options: Any) -> Pair:
        """See ``Scenario``."""
        parameters = parameters or self.drawn(seed)
        outputs = tuple(f"sums[{lane}]" for lane in range(parameters.lanes))
        return replace(super().pair(seed, parameters, *arguments, **options), outputs=outputs)


def _parameters(generator: random.Random) -> PrefixSumParameters:
    return PrefixSumParameters(
        form=generator.choice(FORMS),
        lanes=generator.choice(LANES),
        width=generator.choice([1, 8, 32, 62]),
        reference_bits=generator.choice([0, 1, 16, 64]),
        value_bits=generator.choice([0, 32, 64]),
    )


def rows_of(generator: random.Random, given: PrefixSumParameters, rows: int) -> list[list[Token]]:
    """About so many rows: arrays of random lengths, many of them whole rows, each with its stops."""
    found: list[list[Token]] = []
    while len(found) < rows:
        length = generator.choice([0, 1, given.lanes, 2 * given.lanes, generator.randint(0, 7 * given.lanes)])
        numbers = [_element(generator, given) for _ in range(length)]
        numbers += [STOP_TOKEN] * (given.lanes - length % given.lanes)
        found += [numbers[i : i + given.lanes] for i in range(0, len(numbers), given.lanes)]
    return found


def _element(generator: random.Random, given: PrefixSumParameters) -> Token:
    reference_limit = 1 << (given.reference_bits - 1) if given.reference_bits else 0
    reference = generator.randrange(-reference_limit, reference_limit) if reference_limit else 0
    value = generator.randrange(-4096, 4096) / 8 if given.value_bits else 0.0
    number = generator.getrandbits(generator.randint(1, given.width))
    return (0, number, reference, value)


def lanes_of(rows: list[list[Token]]) -> dict[str, list[Token]]:
    """The tokens of each lane."""
    return {f"lanes[{lane}]": list(tokens) for lane, tokens in enumerate(zip(*rows, strict=True))}


SCENARIO = LanedScenario(
    "prefix_sum",
    lambda name, given: PrefixSum(name, given.form, given.lanes, given.width),
    _parameters,
    lambda generator, given: lanes_of(rows_of(generator, given, ROWS)),
    (),
)
