"""The blocks of dense levels."""

import random
from dataclasses import replace

from nested import EMPTY_TOKEN, mapped, nested, number, stream
from stream_base import LEAVES, StreamScenario

from fiberscope.hw.streams.dense_rtl import DenseScannerParameters
from fiberscope.hw.streams.locator_rtl import LocatorParameters
from fiberscope.sim.testing import Token


def _dense_scanner(generator: random.Random) -> DenseScannerParameters:
    return DenseScannerParameters(
        size=generator.choice([0, 1, 2, 3, 7, 8]),
        coordinate_bits=generator.choice([4, 16, 55]),
        reference_bits=generator.choice([12, 32, 62]),
    )


def _fibers(generator: random.Random, given: DenseScannerParameters) -> dict[str, list[Token]]:
    """References of fibers of which all elements can be told."""
    depth = generator.randint(0, 3)
    most = (1 << given.reference_bits) // max(1, given.size) - 1

    def leaf(_nothing: None) -> Token:
        return EMPTY_TOKEN if generator.random() < 0.1 else number(generator.randrange(most))

    return {"in_ref": stream(mapped(nested(generator, depth, LEAVES, 9), depth + 1, leaf), depth)}


def _long_fibers(generator: random.Random, given: DenseScannerParameters) -> dict[str, list[Token]]:
    """Some fibers, of the most elements one."""
    most = min(1 << 50, (1 << given.reference_bits) // max(1, given.size))
    fibers = generator.randint(4, 9) if given.size < 1 << 14 else 1
    return {"in_ref": stream([number(generator.randrange(most)) for _ in range(fibers)], 0)}


DENSE_SCANNER = StreamScenario("dense_scanner", _dense_scanner, _fibers, ())
LARGE_DENSE_SCANNER = replace(
    DENSE_SCANNER,
    draw=lambda generator: DenseScannerParameters(generator.choice([300, 1000]), 55, 62),
    inputs=_long_fibers,
)


def _asked(generator: random.Random, given: LocatorParameters) -> dict[str, list[Token]]:
    """Coordinates, many of them in the level; an N here and there at any of the inputs."""
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    most = min(1 << given.coordinate_bits, generator.choice([given.size + 2, 3 * given.size + 9]))
    fibers = min(1 << 50, (1 << given.reference_bits) // max(1, given.size))

    def of(numbers: int) -> list[Token]:
        def leaf(_nothing: None) -> Token:
            return EMPTY_TOKEN if generator.random() < 0.05 else number(generator.randrange(numbers))

        return stream(mapped(lists, depth + 1, leaf), depth)

    bases = {"in_base": of(fibers)} if given.bases else {}
    return {"in_crd": of(most), "in_ref": of(1 << given.reference_bits), **bases}


LOCATOR = StreamScenario(
    "locator",
    lambda generator: LocatorParameters(
        generator.choice([0, 1, 7, 9]),
        generator.choice([0, 1]),
        generator.choice([4, 16, 55]),
        generator.choice([4, 32, 62]),
    ),
    _asked,
    (),
)
LARGE_LOCATOR = replace(
    LOCATOR,
    draw=lambda generator: LocatorParameters(generator.choice([300, 1000]), generator.choice([0, 1]), 55, 62),
)
