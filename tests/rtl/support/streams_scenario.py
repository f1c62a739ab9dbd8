"""The blocks of the stream machine: streams of nested lists, with empty fibers, bare stops and N."""

import random
from dataclasses import replace

from nested import EMPTY_TOKEN, coordinates, coordinates_of_all, mapped, nested, number, signals, stream
from stream_base import LEAVES, FilledScenario, StreamScenario
from stream_values_scenario import values_of

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.rtl.kit.interface import Token as Load
from fiberscope.hw.rtl.kit.sram import COMBINATIONAL, MEMORY_KINDS, REGISTERED
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.coordinate_dropper_rtl import INNER, VALUES, CoordinateDropperParameters
from fiberscope.hw.streams.hold_rtl import CoordinateHoldParameters
from fiberscope.hw.streams.joiner_rtl import JoinerParameters
from fiberscope.hw.streams.registered_memory import RegisteredScanner
from fiberscope.hw.streams.repeater_rtl import RepeaterParameters, RepeatSignalGeneratorParameters
from fiberscope.hw.streams.scanner_rtl import CompressedScannerParameters
from fiberscope.hw.streams.writers import CompressedWriter
from fiberscope.hw.streams.writers_rtl import CompressedWriterParameters
from fiberscope.sim.testing import Token

SCANNERS = {COMBINATIONAL: CompressedScanner, REGISTERED: RegisteredScanner}


def _scanner(generator: random.Random) -> CompressedScannerParameters:
    return CompressedScannerParameters(
        fibers=generator.choice([1, 2, 7, 40]),
        elements=generator.choice([1, 30, 200]),
        coordinate_bits=generator.choice([8, 32, 55]),
        reference_bits=generator.choice([8, 32, 62]),
        memory=generator.choice(MEMORY_KINDS),
    )


def _level(generator: random.Random, given: CompressedScannerParameters) -> Level:
    """Fibers of which many are empty, together up to all elements."""
    segments, crds = [0], []
    for _ in range(given.fibers):
        longest = generator.choice([0, 1, 3, 6 if given.fibers < 100 else 100])
        crds += coordinates(generator, generator.randint(0, longest), given.coordinate_bits)
        crds = crds[: given.elements]
        segments.append(len(crds))
    return Level(segments, crds)


def _level_loads(level: Level) -> list[Load]:
    """Control 0: a segment; 1: a coordinate."""
    segments = [level.begin(fiber) for fiber in range(level.fibers + 1)]
    crds = [level.coordinate(position) for position in range(segments[-1])]
    return [
        Load(control, place, word, 0.0)
        for control, words in enumerate((segments, crds))
        for place, word in enumerate(words)
    ]


def _references(
    generator: random.Random, given: CompressedScannerParameters, leaves: int = LEAVES
) -> dict[str, list[Token]]:
    depth = generator.randint(0, 3)
    empties = generator.choice([0, 0.2])

    def leaf(_nothing: None) -> Token:
        return EMPTY_TOKEN if generator.random() < empties else number(generator.randrange(given.fibers))

    lists = nested(generator, depth, leaves, 9)
    return {"in_ref": stream(mapped(lists, depth + 1, leaf), depth)}


SCANNER = FilledScenario(
    "compressed_scanner",
    _scanner,
    _references,
    (),
    contents=_level,
    made=lambda name, given, level: SCANNERS[given.memory](name, level),
    loads=_level_loads,
)
LARGE_SCANNER = replace(
    SCANNER,
    draw=lambda generator: CompressedScannerParameters(
        generator.choice([300, 1000]), generator.choice([2000, 5000]), memory=generator.choice(MEMORY_KINDS)
    ),
    inputs=lambda generator, given: _references(generator, given, 60),
)


def _joiner(generator: random.Random, most: int = 4) -> JoinerParameters:
    return JoinerParameters(
        ways=generator.choice([2, 3, most]),
        coordinate_bits=generator.choice([5, 16, 55]),
        reference_bits=generator.choice([4, 32, 62]),
    )


def _operands(
    generator: random.Random, given: JoinerParameters, leaves: int = LEAVES, empties: float = 0.0
) -> dict[str, list[Token]]:
    """Fibers of the same lists: many coordinates in common or none, some empty."""
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, leaves, 12)
    shared = mapped(lists, depth, lambda fiber: coordinates(generator, len(fiber), given.coordinate_bits))
    inputs: dict[str, list[Token]] = {}
    for way in range(given.ways):
        keeps = generator.choice([0.4, 0.95, 0.99])

        def fiber(common: list[int], keeps: float = keeps) -> list[Token]:
            own = coordinates(generator, generator.choice([0, 0, len(common)]), given.coordinate_bits)
            kept = [coordinate for coordinate in common if generator.random() < keeps]
            return [number(coordinate) for coordinate in sorted({*own, *kept})]

        def reference(_coordinate: Token) -> Token:
            empty = generator.random() < empties
            return EMPTY_TOKEN if empty else number(generator.randrange(1 << given.reference_bits))

        crds = mapped(shared, depth, fiber)
        inputs[f"in_crd[{way}]"] = stream(crds, depth)
        inputs[f"in_ref[{way}]"] = stream(mapped(crds, depth + 1, reference), depth)
    return inputs


INTERSECT = StreamScenario(
    "fiber_intersect", _joiner, lambda generator, given: _operands(generator, given, LEAVES // 2), ()
)
LARGE_INTERSECT = replace(
    INTERSECT,
    draw=lambda _: JoinerParameters(ways=8, coordinate_bits=55, reference_bits=62),
    inputs=lambda generator, given: _operands(generator, given, 80),
)
UNION = StreamScenario(
    "fiber_union", _joiner, lambda generator, given: _operands(generator, given, LEAVES // 3, empties=0.1), ()
)
LARGE_UNION = replace(LARGE_INTERSECT, block="fiber_union")


def _dropper(generator: random.Random) -> CoordinateDropperParameters:
    return CoordinateDropperParameters(
        generator.choice(INNER), generator.choice([9, 16, 55]), generator.choice([2, 32, 53])
    )


def _outer_and_inner(
    generator: random.Random, given: CoordinateDropperParameters | CoordinateHoldParameters, empties: float
) -> dict[str, list[Token]]:
    """Coordinates, and for each a fiber, which is often empty; as often as ``empties`` an N."""
    depth = generator.randint(0, 2)
    lists = nested(generator, depth + 1, LEAVES, 9)

    def token(coordinate: int) -> Token:
        return EMPTY_TOKEN if empties and generator.random() >= 1 - empties else number(coordinate)

    def fiber(leaves: list[None]) -> list[Token]:
        return [token(c) for c in coordinates_of_all(generator, leaves, given.coordinate_bits)]

    outer = stream(mapped(lists, depth, fiber), depth)
    if isinstance(given, CoordinateDropperParameters) and given.inner == VALUES:
        inner = values_of(generator, depth + 1, lists, given, given.value_bits)
    else:
        inner = stream(mapped(lists, depth + 1, fiber), depth + 1)
    return {"in_outer": outer, "in_inner": inner}


DROPPER = StreamScenario(
    "coordinate_dropper", _dropper, lambda generator, given: _outer_and_inner(generator, given, 0), ()
)
LARGE_DROPPER = replace(
    DROPPER, draw=lambda generator: CoordinateDropperParameters(generator.choice(INNER), 55, 53)
)
HOLD = StreamScenario(
    "coordinate_hold",
    lambda generator: CoordinateHoldParameters(generator.randint(7, 55)),
    lambda generator, given: _outer_and_inner(generator, given, 0.05),
    (),
)
LARGE_HOLD = replace(HOLD, draw=lambda _: CoordinateHoldParameters(55))


def _coordinates(
    generator: random.Random, given: RepeatSignalGeneratorParameters | CompressedWriterParameters
) -> dict[str, list[Token]]:
    """Coordinates, and now and then an N; no more than a writer has room for."""
    room = min(getattr(given, name, LEAVES) for name in ("fibers", "elements"))
    depth = generator.randint(0, 3) if room >= LEAVES else 0
    lists = nested(generator, depth, min(room, LEAVES), 9)

    def fiber(leaves: list[None]) -> list[Token]:
        crds = coordinates(generator, len(leaves), given.coordinate_bits)
        return [number(crd) if generator.random() < 0.95 else EMPTY_TOKEN for crd in crds]

    return {"in_crd": stream(mapped(lists, depth, fiber), depth)}


def _repeated(
    generator: random.Random, given: RepeaterParameters, leaves: int = LEAVES
) -> dict[str, list[Token]]:
    """References, and for each as many signals as its fiber has elements, often none."""
    depth = generator.randint(0, 2)
    lists = nested(generator, depth + 1, leaves, 9)

    def reference(_fiber: list[None]) -> Token:
        return (
            EMPTY_TOKEN
            if generator.random() < 0.1
            else number(generator.randrange(1 << given.reference_bits))
        )

    outer = mapped(lists, depth + 1, reference)
    inner = mapped(lists, depth + 2, lambda _: number(0))
    return {"in_ref": stream(outer, depth), "in_repsig": signals(stream(inner, depth + 1))}


GENERATOR = StreamScenario(
    "repeat_signal",
    lambda generator: RepeatSignalGeneratorParameters(generator.randint(4, 55)),
    _coordinates,
    (),
)
LARGE_GENERATOR = replace(GENERATOR, draw=lambda _: RepeatSignalGeneratorParameters(55))
REPEATER = StreamScenario(
    "repeater", lambda generator: RepeaterParameters(generator.randint(4, 62)), _repeated, ()
)
LARGE_REPEATER = replace(REPEATER, draw=lambda _: RepeaterParameters(62))
COMPRESSED_WRITER = FilledScenario(
    "compressed_writer",
    lambda generator: CompressedWriterParameters(
        generator.randint(LEAVES, 1 << 16), generator.randint(LEAVES, 1 << 16), generator.choice([9, 32, 55])
    ),
    _coordinates,
    (),
    made=lambda name, _given, _contents: CompressedWriter(name),
)
LARGE_COMPRESSED_WRITER = replace(
    COMPRESSED_WRITER, draw=lambda _: CompressedWriterParameters(1 << 16, 1 << 16, 55)
)
