"""The blocks of loops on lanes: the pace of the lanes, and the look-up of all that they hold."""

from __future__ import annotations

import random
from dataclasses import replace

from nested import EMPTY_TOKEN, mapped, nested, number, stream
from stream_base import LEAVES, FilledScenario, StreamScenario

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.lane_seek import LaneSeek
from fiberscope.hw.streams.lane_seek_rtl import LaneSeekParameters, words_of
from fiberscope.hw.streams.lanes_rtl import LanesParameters
from fiberscope.hw.streams.tokens import STOP
from fiberscope.sim.testing import Token


def _lanes(generator: random.Random) -> LanesParameters:
    return LanesParameters(
        lanes=generator.choice([1, 2, 3, 8]),
        level=generator.randint(0, 2),
        ticks=generator.choice([1, 2, 7, 8]),
        sized=generator.randint(0, 1),
        elements=generator.choice([1, 5, 16]),
        reference_bits=generator.choice([5, 32, 62]),
    )


def _steps(generator: random.Random, given: LanesParameters, leaves: int = LEAVES) -> dict[str, list[Token]]:
    """Steps, and their sizes, which may also be less than the elements that pass; an N here and there."""
    depth = given.level + generator.randint(0, 2)

    def leaf(_nothing: None) -> Token:
        far = generator.random() < 0.05
        return EMPTY_TOKEN if far else number(generator.randrange(1 << given.reference_bits))

    tokens = stream(mapped(nested(generator, depth, leaves, 9), depth + 1, leaf), depth)
    if not given.sized:
        return {"in_stream": tokens}
    count = sum(token[0] == STOP and token[1] >= given.level for token in tokens)
    most = min(given.elements, 3 * given.lanes)
    sizes = [number(generator.choice([0, generator.randint(0, most), most])) for _ in range(count)]
    return {"in_stream": tokens, "in_sizes": sizes}


LANES = StreamScenario("lanes", _lanes, _steps, ())
LARGE_LANES = replace(
    LANES,
    draw=lambda generator: LanesParameters(
        generator.choice([20, 1000]), 1, generator.choice([300, 512]), generator.randint(0, 1), 1 << 16, 62
    ),
    # Few steps if a cycle of the lanes is long
    inputs=lambda generator, given: _steps(generator, given, min(30, 2 + 10_000 // given.ticks)),
)


def _seek(generator: random.Random) -> LaneSeekParameters:
    factor, constant = generator.choice(
        [(1, 0), (1, 0), (1, 3), (1, -2), (2, 0), (-1, 7), (-1, 7), (-2, -1), (0, 2)]
    )
    divisor, modulus = generator.choice([(1, 0), (1, 0), (1, 5), (3, 0), (3, 5), (4, 8)])
    return LaneSeekParameters(
        folds=generator.choice([1, 2, 5]),
        banks=generator.choice([1, 3, 8, 9]),
        held=generator.choice([9, 31, 32]),
        fibers=generator.choice([1, 2, 7]),
        size=generator.choice([1, 7, 8, 16]),
        elements=generator.choice([8, 16, 40]),
        factor=factor,
        divisor=divisor,
        modulus=modulus,
        constant=constant,
        coordinate_bits=generator.choice([5, 16, 55]),
        reference_bits=generator.choice([6, 32, 62]),
    )


def _fibers(generator: random.Random, fibers: int, longest: int, most: int, span: int) -> Level:
    """Fibers of which many are empty or as long as can be, with coordinates below a span."""
    segments, crds = [0], list[int]()
    for _ in range(fibers):
        count = min(generator.choice([0, longest // 2, longest, longest]), most - len(crds), span)
        crds += sorted(generator.sample(range(span), count))
        segments.append(len(crds))
    return Level(segments, crds)


def _contents(generator: random.Random, given: LaneSeekParameters) -> tuple[LaneSeekParameters, LaneSeek]:
    """A lookup; many of the coordinates that elements seek are within the searched fibers, and some far."""
    near = given.size * given.divisor + 3
    span = min(1 << given.coordinate_bits, generator.choice([near, near, near, 1 << 50]))
    held = _fibers(generator, given.folds, given.banks, given.held, span)
    other = _fibers(generator, given.fibers, given.size, given.elements, given.size)
    return given, _made("contents", given, held, other)


def _made(name: str, given: LaneSeekParameters, held: Level, other: Level) -> LaneSeek:
    return LaneSeek(name, held, other, given.factor, given.divisor, given.modulus, given.constant)


def _references(
    generator: random.Random, given: LaneSeekParameters, leaves: int = LEAVES // 2
) -> dict[str, list[Token]]:
    """Fibers of both levels in streams of one shape, an N here and there; the held fiber often stays."""
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, leaves, 9)
    inputs = {}
    for way, fibers in enumerate((given.folds, given.fibers)):
        last = [0]

        def leaf(_nothing: None, fibers: int = fibers, last: list[int] = last, way: int = way) -> Token:
            if way or generator.random() < 0.3:
                last[0] = generator.randrange(fibers)
            return EMPTY_TOKEN if generator.random() < 0.05 else number(last[0])

        inputs[f"in_ref{way}"] = stream(mapped(lists, depth + 1, leaf), depth)
    return inputs


SEEK = FilledScenario(
    "lane_seek",
    _seek,
    _references,
    (),
    contents=_contents,
    made=lambda name, given, contents: _made(name, given, contents[1].level, contents[1].other),
    loads=lambda contents: words_of(contents[1], contents[0].size, contents[0].banks),
)
LARGE_SEEK = replace(
    SEEK,
    draw=lambda generator: LaneSeekParameters(
        20, generator.choice([64, 65]), 900, 60, 128, 5000, 1, 1, 128, 0, 55, 62
    ),
    inputs=lambda generator, given: _references(generator, given, 30),
)
