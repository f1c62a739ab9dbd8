"""The filter on bitmaps, and the running counts of ones: random words, thin and full ones."""

import random
from collections.abc import Iterator
from dataclasses import replace

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
from fiberscope.hw.stream import COLUMN, ROW
from fiberscope.sim.testing import Token

SLICES = 18
ROWS = 60


def _regor(generator: random.Random) -> RegorParameters:
    return RegorParameters(
        vectors=generator.randint(1, 4),
        words=generator.randint(1, 3),
        width=generator.choice([1, 8, 32, 62]),
        reference_bits=generator.choice([0, 16, 64]),
    )


def _large_regor(generator: random.Random) -> RegorParameters:
    lanes, words = generator.choice(MANY_LANES), generator.choice([1, 4])
    return RegorParameters(lanes // words, words)


def _words(generator: random.Random, width: int) -> Iterator[int]:
    """Words that are as thin, or as full, as each other."""
    ands = generator.randrange(5)
    while True:
        word = generator.getrandbits(width)
        for _ in range(ands):
            word &= generator.getrandbits(width)
        yield word


def _slices(generator: random.Random, given: RegorParameters, slices: int = SLICES) -> dict[str, list[Token]]:
    """Columns, then rows, slice by slice; the last row of vectors is filled up."""
    limit = (1 << given.reference_bits) // 2
    vectors: list[list[Token]] = []
    for _ in range(slices):
        for kind in (COLUMN, ROW):
            words = _words(generator, given.width)
            for _ in range(generator.choice([0, 1, 4, 9])):
                reference = generator.randrange(-limit, limit) if limit and kind == ROW else 0
                vectors.append([(kind, next(words), reference, 0.0) for _ in range(given.words)])
    vectors += [[(ROW, 0, 0, 0.0)] * given.words] * (-len(vectors) % given.vectors)
    tokens = [word for vector in vectors for word in vector]
    rows = [tokens[first : first + given.lanes] for first in range(0, len(tokens), given.lanes)]
    return by_lane("bitmaps", [rows])


def _popcount(generator: random.Random) -> PrefixPopcountParameters:
    return PrefixPopcountParameters(
        form=generator.choice(FORMS),
        lanes=generator.choice(LANES),
        width=generator.choice([1, 8, 32, 62]),
        sum_width=generator.choice([1, 6, 32, 62]),
        value_bits=generator.choice([0, 32, 64]),
        registers=generator.randint(0, 1),
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
LARGE_REGOR = replace(
    REGOR, draw=_large_regor, inputs=lambda generator, given: _slices(generator, given, 8 * given.vectors)
)
PREFIX_POPCOUNT = LanedScenario("prefix_popcount", _popcount, _arrays, ("counts",))
LARGE_PREFIX_POPCOUNT = replace(
    PREFIX_POPCOUNT,
    draw=_large_popcount,
    inputs=lambda generator, given: _arrays(generator, given, MANY_LANES_ROWS),
)
