"""The blocks that count and compute coordinates, look them up, and intersect fibers in memories."""

import random
from dataclasses import replace

from nested import EMPTY_TOKEN, mapped, nested, number, stream
from stream_base import LEAVES, FilledScenario, StreamScenario

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.rtl.kit.interface import Token as Load
from fiberscope.hw.streams.counter_rtl import CounterParameters
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.fiber_pairs_rtl import FiberPairsParameters, words_of
from fiberscope.hw.streams.seek import Seek
from fiberscope.hw.streams.seek_rtl import ProjectionParameters, SeekParameters
from fiberscope.hw.streams.tokens import CRD, REF
from fiberscope.sim.testing import Token

MOST, FAR = 1 << 14, 1 << 16


def _counter(generator: random.Random) -> CounterParameters:
    return CounterParameters(
        size=generator.choice([0, 1, 2, 7, 8, 9]),
        step=generator.choice([1, 2, 3, 8]),
        piece=generator.choice([0, 1, 3, 8, 16]),
        coordinate_bits=generator.choice([4, 16, 55]),
        reference_bits=generator.choice([4, 32, 62]),
    )


def _around(
    generator: random.Random, given: CounterParameters, leaves: int = LEAVES
) -> dict[str, list[Token]]:
    """Where pieces begin, some of them behind the end; an N here and there."""
    depth = generator.randint(0, 3)
    most = min(1 << given.reference_bits, generator.choice([given.size + 3, 1 << 50]))

    def leaf(_nothing: None) -> Token:
        begin = generator.choice(
            [generator.randrange(max(1, min(given.size, most))), generator.randrange(most)]
        )
        return EMPTY_TOKEN if generator.random() < 0.1 else number(begin)

    return {"in_ref": stream(mapped(nested(generator, depth, leaves, 9), depth + 1, leaf), depth)}


COUNTER = StreamScenario("counter", _counter, _around, ())


def _long(generator: random.Random, given: CounterParameters) -> dict[str, list[Token]]:
    """Some pieces, the last of which begins behind the end; of the most coordinates one."""
    begins = [generator.randrange(max(1, given.size // 2)) for _ in range(4 if given.size < MOST else 1)]
    return {"in_ref": stream([number(begin) for begin in (*begins, min(given.size, 15))], 0)}


LARGE_COUNTER = replace(
    COUNTER,
    draw=lambda generator: CounterParameters(1000, generator.choice([1, 7]), generator.choice([0, 300]), 55),
    inputs=_long,
)


def _projection(generator: random.Random) -> ProjectionParameters:
    bits = generator.choice([4, 18, 24, 55])
    terms = {
        f"{name}{way}": generator.choice(numbers)
        for way in range(3)
        for name, numbers in (
            ("factor", [0, 1, 1, 3, -2, FAR, -FAR]),
            ("divisor", [1, 2, 3, 7, 8, FAR]),
            ("size", [0, 1, 2, 5, 8, FAR]),
        )
    }
    constant = generator.choice([0, -5, FAR, -FAR] if bits > 16 else [0, 2, -5])
    return ProjectionParameters(generator.randint(1, 3), **terms, constant=constant, coordinate_bits=bits)


def _largest(given: ProjectionParameters, factor: int, divisor: int, size: int) -> int:
    """The largest coordinate of a term with which the sum of all fits."""
    room = ((1 << given.coordinate_bits) - 1 - max(0, given.constant)) // given.ways
    part = (room if factor > 0 else 1 << 60) // max(1, abs(factor))
    bound = (1 << given.coordinate_bits) - 1
    return bound if size and size - 1 <= part else min(bound, (part + 1) * divisor - 1)


def _parts(generator: random.Random, given: ProjectionParameters) -> dict[str, list[Token]]:
    """Coordinates of one shape, an N here and there."""
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    inputs = {}
    for way, term in enumerate(given.terms):
        most = _largest(given, *term)

        def leaf(_nothing: None, most: int = most) -> Token:
            largest = min(most, generator.choice([3, 20, 1 << 20, most]))
            return EMPTY_TOKEN if generator.random() < 0.05 else number(generator.randint(0, largest))

        inputs[f"in_crd[{way}]"] = stream(mapped(lists, depth + 1, leaf), depth)
    return inputs


PROJECTION = StreamScenario("projection", _projection, _parts, ())
LARGE_PROJECTION = replace(
    PROJECTION,
    draw=lambda generator: ProjectionParameters(
        3, 1, generator.choice([1000, 1024]), 0, 7, 10, 1000, FAR, 100, 300, 5, coordinate_bits=55
    ),
)


def _seek(generator: random.Random) -> SeekParameters:
    return SeekParameters(
        fibers=generator.choice([1, 2, 7]),
        size=generator.choice([1, 2, 7, 8, 9, 30]),
        elements=generator.choice([1, 16, 60]),
        along=generator.choice([0, 1, 2, 6]),
        coordinate_bits=generator.choice([4, 16, 55]),
        reference_bits=generator.choice([6, 32, 62]),
    )


def _level(generator: random.Random, given: SeekParameters) -> tuple[SeekParameters, Level]:
    """Fibers of which many are empty or full, together up to all elements."""
    segments, crds = [0], list[int]()
    for _ in range(given.fibers):
        count = min(given.elements - len(crds), generator.choice([0, 1, given.size // 2, given.size]))
        crds += sorted(generator.sample(range(given.size), min(count, given.size)))
        segments.append(len(crds))
    return given, Level(segments, crds)


def _words(contents: tuple[SeekParameters, Level]) -> list[Load]:
    """A word for each coordinate of each fiber."""
    given, level = contents
    words = [(0, 0)] * given.entries
    for fiber in range(level.fibers):
        for position in range(level.begin(fiber), level.end(fiber)):
            words[fiber * given.size + level.coordinate(position)] = 1, position
    return [Load(present, address, position, 0.0) for address, (present, position) in enumerate(words)]


def _sought(generator: random.Random, given: SeekParameters, leaves: int = LEAVES) -> dict[str, list[Token]]:
    """Coordinates, many of them within the fiber, fibers, and what travels along; an N here and there."""
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, leaves, 9)
    most = min(
        1 << given.coordinate_bits, generator.choice([given.size, given.size, given.size + 2, 1 << 50])
    )
    wider = 1 << max(given.coordinate_bits, given.reference_bits)

    def of(numbers: int) -> list[Token]:
        def leaf(_nothing: None) -> Token:
            return EMPTY_TOKEN if generator.random() < 0.05 else number(generator.randrange(numbers))

        return stream(mapped(lists, depth + 1, leaf), depth)

    along = {f"in_carried{place}": of(wider) for place in range(given.along)}
    return {"in_crd": of(most), "in_base": of(given.fibers), **along}


SEEK = FilledScenario(
    "seek",
    _seek,
    _sought,
    (),
    contents=_level,
    made=lambda name, given, contents: Seek(
        name, contents[1], [(CRD, REF)[place % 2] for place in range(given.along)]
    ),
    loads=_words,
)
LARGE_SEEK = replace(
    SEEK,
    draw=lambda generator: SeekParameters(
        40, generator.choice([40, 100]), 2000, generator.choice([1, 3]), 55, 62
    ),
    inputs=lambda generator, given: _sought(generator, given, 60),
)


def _pairs(generator: random.Random) -> FiberPairsParameters:
    return FiberPairsParameters(
        lists=generator.choice([1, 2, 5]),
        rows=generator.choice([1, 3, 8]),
        columns=generator.choice([1, 3, 7]),
        elements=generator.choice([8, 30, 60]),
        size=generator.choice([1, 2, 7, 8, 20]),
        coordinate_bits=generator.choice([4, 16, 55]),
        reference_bits=generator.choice([6, 32, 62]),
    )


def _lists(generator: random.Random, given: FiberPairsParameters) -> tuple[FiberPairsParameters, FiberPairs]:
    """Lists of fibers, some of them empty; each fiber has an element or more."""

    def side(fibers: int) -> list[Level]:
        borders = sorted(generator.randrange(fibers + 1) for _ in range(given.lists - 1))
        segments, crds = [0], list[int]()
        for left in range(fibers, 0, -1):
            most = min(given.size, max(1, given.elements - len(crds) - (left - 1)))
            count = min(generator.choice([1, 1, given.size // 2, given.size]) or 1, most)
            crds += sorted(generator.sample(range(given.size), count))
            segments.append(len(crds))
        return [Level([0, *borders, fibers], [2 * place for place in range(fibers)]), Level(segments, crds)]

    return given, FiberPairs("contents", *side(given.rows), *side(given.columns))


def _references(
    generator: random.Random, given: FiberPairsParameters, leaves: int = LEAVES // 2
) -> dict[str, list[Token]]:
    """Lists of both operands in streams of one shape, an N here and there; few if lists are long."""
    leaves = max(2, min(leaves, 3000 * given.lists // (given.rows * given.columns)))
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, leaves, 9)

    def of(_way: int) -> list[Token]:
        def leaf(_nothing: None) -> Token:
            return EMPTY_TOKEN if generator.random() < 0.05 else number(generator.randrange(given.lists))

        return stream(mapped(lists, depth + 1, leaf), depth)

    return {f"in_ref{way}": of(way) for way in (0, 1)}


class _PairsScenario(FilledScenario):
    """A block that sends stops of two levels more than it receives."""

    deepest = 13


PAIRS = _PairsScenario(
    "fiber_pairs",
    _pairs,
    _references,
    (),
    contents=_lists,
    made=lambda name, _given, contents: FiberPairs(
        name, contents[1].rows, contents[1].row_fibers, contents[1].columns, contents[1].column_fibers
    ),
    loads=lambda contents: words_of(contents[1], contents[0].size),
)
LARGE_PAIRS = replace(
    PAIRS,
    draw=lambda generator: FiberPairsParameters(
        generator.choice([16, 24]), 40, 60, 2000, generator.choice([100, 256]), 55, 62
    ),
    inputs=lambda generator, given: _references(generator, given, 14),
)
