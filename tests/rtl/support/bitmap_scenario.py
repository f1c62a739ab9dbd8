"""The filter on bitmaps, and the running counts of ones: random words, thin and full ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from fiber_streams import STOP_TOKEN
from rows_scenario import (
    LANES,
    MANY_LANES,
    MANY_LANES_ROWS,
    LanedScenario,
    by_lane,
    random_arrays,
    random_value,
)

from fiberscope.hw.lanes.bitmap_rtl import PrefixPopcountParameters, RegorParameters
from fiberscope.hw.lanes.prefix_sum import FORMS
from fiberscope.sim.testing import Token

SLICES = 14
ROWS = 60


def _regor(generator: random.Random) -> RegorParameters:
    return RegorParameters(
        lanes=generator.choice(LANES),
        width=generator.choice([1, 8, 32, 62]),
        reference_bits=generator.choice([0, 16, 64]),
        value_bits=generator.choice([0, 32, 64]),
    )


def _large_regor(generator: random.Random) -> RegorParameters:
    return RegorParameters(lanes=generator.choice(MANY_LANES))


def _words(generator: random.Random, width: int) -> Iterator[int]:
    """Words that are as thin, or as full, as each other."""
    ands = generator.randrange(5)
    while True:
        word = generator.getrandbits(width)
        for _ in range(ands):
            word &= generator.getrandbits(width)
        yield word


def _slices(generator: random.Random, given: RegorParameters, slices: int = SLICES) -> dict[str, list[Token]]:
    limit = (1 << given.reference_bits) // 2
    bitmaps: dict[str, list[list[Token]]] = {"streaming": [], "stationary": []}
    for _ in range(slices):
        for rows in bitmaps.values():
            words = _words(generator, given.width)
            for _ in range(generator.choice([0, 1, 4, 9])):
                reference = generator.randrange(-limit, limit) if limit else 0
                value = random_value(generator, given.value_bits)
                rows.append([(0, next(words), reference, value) for _ in range(given.lanes)])
            rows.append([STOP_TOKEN] * given.lanes)
    plain = [[(control, word, 0, 0.0) for control, word, *_ in row] for row in bitmaps["streaming"]]
    return by_lane("streaming", [plain]) | by_lane("stationary", [bitmaps["stationary"]])


def _popcount(generator: random.Random) -> PrefixPopcountParameters:
    return PrefixPopcountParameters(
        form=generator.choice(FORMS),
        lanes=generator.choice(LANES),
        width=generator.choice([1, 8, 32, 62]),
        sum_width=generator.choice([1, 6, 32, 62]),
        value_bits=generator.choice([0, 32, 64]),
    )


def _large_popcount(generator: random.Random) -> PrefixPopcountParameters:
    return PrefixPopcountParameters(form=generator.choice(FORMS[1:]), lanes=generator.choice(MANY_LANES))


def _arrays(
    generator: random.Random, given: PrefixPopcountParameters, rows: int = ROWS
) -> dict[str, list[Token]]:
    words = _words(generator, given.width)

    def element() -> Token:
        return (0, next(words), 0, random_value(generator, given.value_bits))

    return by_lane("words", random_arrays(generator, given.lanes, rows, element))


REGOR = LanedScenario("regor", _regor, _slices, ("kept",))
LARGE_REGOR = replace(REGOR, draw=_large_regor, inputs=lambda generator, given: _slices(generator, given, 7))
PREFIX_POPCOUNT = LanedScenario("prefix_popcount", _popcount, _arrays, ("counts",))
LARGE_PREFIX_POPCOUNT = replace(
    PREFIX_POPCOUNT,
    draw=_large_popcount,
    inputs=lambda generator, given: _arrays(generator, given, MANY_LANES_ROWS),
)
