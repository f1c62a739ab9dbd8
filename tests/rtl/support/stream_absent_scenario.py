"""The blocks for values of which some are absent."""

import math
import random
from dataclasses import replace

from nested import EMPTY_TOKEN, mapped, nested, stream
from stream_base import LEAVES, FilledScenario, StreamScenario
from stream_values_scenario import _places, _words, number_of

from fiberscope.hw.rtl.kit.interface import Token as Load
from fiberscope.hw.streams.absent_values_rtl import KNOWN, NEEDS, FillingAluParameters, MarkedArrayParameters
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.value_type import INTEGER
from fiberscope.sim import Component
from fiberscope.sim.testing import Token

EMPTIES = (0, -1, 7, 1 << 16, -(1 << 16))
TYPES = (INTEGER, INTEGER, "float32", "bfloat16")


def _empty(generator: random.Random) -> dict[str, object]:
    values = generator.choice(TYPES)
    infinite = 0 if values == INTEGER else generator.choice([-1, 0, 1])
    return {"values": values, "empty": generator.choice(EMPTIES), "infinite": infinite}


def _array(generator: random.Random) -> MarkedArrayParameters:
    sizes = generator.choice([1, 3, 64]), generator.choice([6, 20, 62]), generator.choice([20, 32, 53])
    return MarkedArrayParameters(*sizes, **_empty(generator))


def _marking(name: str, given: MarkedArrayParameters, words: list[float]) -> Component:
    array = ArrayLoad(name, words)
    array.empty = given.empty_value
    return array


ARRAY = FilledScenario(
    "marked_array",
    _array,
    _places,
    (),
    contents=_words,
    made=_marking,
    loads=lambda words: [Load(0, place, 0, word) for place, word in enumerate(words)],
)
LARGE_ARRAY = replace(
    ARRAY,
    draw=lambda generator: MarkedArrayParameters(
        generator.choice([300, 1000]), 62, 64 - 11, values="float64", infinite=generator.choice([-1, 1])
    ),
)


def _alu(generator: random.Random) -> FillingAluParameters:
    operation, needs = generator.choice(KNOWN), generator.choice(NEEDS)
    return FillingAluParameters(operation, needs, generator.choice([20, 32, 53]), **_empty(generator))


def _operands(generator: random.Random, given: FillingAluParameters) -> dict[str, list[Token]]:
    """Values that are often equal, N, and absent values; what is computed of whole numbers fits.

    A product of whole numbers is never minus zero.
    """
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    limit = (1 << given.value_bits - 1) - 1
    most = min(math.isqrt(limit) // 2, limit // max(1, 2 * abs(given.empty)))
    least = 0 if given.operation != "mul" else 1
    signs = [1] if given.operation == "mul" and given.empty == 0 else [1, -1]

    def whole() -> float:
        return float(generator.choice(signs) * generator.randint(least, generator.choice([1, 3, most])))

    def operand(side: int) -> Token:
        if generator.random() < 0.2 and not (side and given.operation == "mul"):
            return generator.choice([EMPTY_TOKEN, (DATA, 0, 1, given.empty_value)])
        if generator.random() < 0.2 and given.operation != "mul":
            return (DATA, 0, 0, given.empty_value)
        return (DATA, 0, 0, whole() if given.values == INTEGER else number_of(generator, given, 0))

    return {
        f"in_val[{side}]": stream(mapped(lists, depth + 1, lambda _, side=side: operand(side)), depth)
        for side in range(2)
    }


ALU = StreamScenario("filling_alu", _alu, _operands, ())
LARGE_ALU = replace(
    ALU,
    draw=lambda generator: FillingAluParameters(
        generator.choice(["add", "min", "differs"]),
        generator.choice(NEEDS),
        values="float64",
        infinite=generator.choice([-1, 1]),
    ),
)
