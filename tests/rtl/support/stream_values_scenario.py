"""The blocks of the stream machine that work on values: streams of nested lists of numbers."""

import math
import random
from dataclasses import replace
from typing import Any

from nested import EMPTY_TOKEN, mapped, nested, number, stream, value
from stream_base import LEAVES, FilledScenario, StreamScenario

from fiberscope.hw.rtl.kit.interface import Token as Load
from fiberscope.hw.rtl.kit.sram import COMBINATIONAL, MEMORY_KINDS, REGISTERED
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.registered_memory import RegisteredArray
from fiberscope.hw.streams.tokens import DATA, VAL
from fiberscope.hw.streams.values_rtl import (
    EMPTY_FIBERS,
    OPERATIONS,
    REDUCTIONS,
    AluParameters,
    ArrayParameters,
    ScalarReducerParameters,
)
from fiberscope.hw.streams.writers import ValuesWriter
from fiberscope.hw.streams.writers_rtl import ValuesWriterParameters
from fiberscope.hw.value_type import INTEGER
from fiberscope.sim import Input
from fiberscope.sim.testing import Token

ARRAYS = {COMBINATIONAL: ArrayLoad, REGISTERED: RegisteredArray}
EXTREMES = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, 1e-310, 3e38)


def number_of(generator: random.Random, given: Any, bits: int) -> float:
    """A value of the type: an integer of so many bits, of any sign; or a float, whose sums often cancel."""
    if given.values == INTEGER:
        most = 1 << bits >> 1
        return float(generator.randrange(-most, most) if most else 0)
    if generator.random() < 0.05:
        return given.value_type.round_value(generator.choice(EXTREMES))
    few = generator.choice([1, 3, 8, given.value_field.width])
    significand = generator.choice([-1, 1]) * (generator.getrandbits(few) + generator.choice([0, 1, 1 << 8]))
    return given.value_type.round_value(math.ldexp(significand, generator.randint(-12, 4)))


def values_of(generator: random.Random, depth: int, lists: Any, given: Any, bits: int) -> list[Token]:
    """A stream of such values."""
    return stream(mapped(lists, depth + 1, lambda _: value(number_of(generator, given, bits))), depth)


def summed_bits(given: Any, spare: int) -> int:
    """Bits of values of which so many bits more hold every sum: none where a sum has no more."""
    return max(0, min(given.value_bits, given.sum_bits - spare))


class WriterOfValues(ValuesWriter):
    """One that is told so by its port, where the source's port may carry anything."""

    PORTS = (Input("in_val", VAL),)


def _written(generator: random.Random, given: Any) -> dict[str, list[Token]]:
    depth = generator.randint(0, 3) if given.entries >= LEAVES else 0
    leaves = min(LEAVES, given.entries)
    return {
        "in_val": values_of(generator, depth, nested(generator, depth, leaves, 9), given, given.value_bits)
    }


VALUES_WRITER = FilledScenario(
    "values_writer",
    lambda generator: ValuesWriterParameters(
        generator.randint(LEAVES, 1 << 16), generator.choice([1, 8, 32, 53])
    ),
    _written,
    (),
    made=lambda name, _given, _contents: WriterOfValues(name),
)
LARGE_VALUES_WRITER = replace(VALUES_WRITER, draw=lambda _: ValuesWriterParameters(1 << 16, 53))


def _alu(generator: random.Random) -> AluParameters:
    bits = generator.choice([2, 8, 26])
    return AluParameters(generator.choice(list(OPERATIONS)), bits, generator.choice([2 * bits, 52]))


def _factors(generator: random.Random, given: AluParameters) -> dict[str, list[Token]]:
    """Numbers of both signs, or at least 0 with empty tokens among them: a product is never minus zero."""
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    most = 1 << min(given.value_bits, given.result_bits + 1 >> 1) - 1
    signed = generator.random() < 0.5 and most > 1

    def operand(_leaf: None) -> Token:
        if given.values != INTEGER:
            return EMPTY_TOKEN if generator.random() < 0.1 else value(number_of(generator, given, 0))
        if signed:
            return value(float(generator.choice([-1, 1]) * generator.randint(1, most - 1)))
        return EMPTY_TOKEN if generator.random() < 0.1 else value(float(generator.randrange(most)))

    return {f"in_val[{side}]": stream(mapped(lists, depth + 1, operand), depth) for side in range(2)}


def _reducer(generator: random.Random) -> ScalarReducerParameters:
    bits = generator.choice([2, 8, 32, 44])
    empty = generator.choice(EMPTY_FIBERS)
    return ScalarReducerParameters(generator.choice(["sum", *REDUCTIONS]), empty, bits, bits + 9)


def _summands(generator: random.Random, given: ScalarReducerParameters) -> dict[str, list[Token]]:
    depth = generator.randint(0, 3)
    lists = nested(generator, depth, LEAVES, 9)
    bits = summed_bits(given, 9) if given.operation == "sum" else given.value_bits
    tokens = values_of(generator, depth, lists, given, bits)
    return {"in_val": [EMPTY_TOKEN if t[0] == DATA and generator.random() < 0.05 else t for t in tokens]}


ALU = StreamScenario("alu", _alu, _factors, ())
LARGE_ALU = replace(ALU, draw=lambda generator: AluParameters(generator.choice(list(OPERATIONS)), 26, 52))
REDUCER = StreamScenario("scalar_reducer", _reducer, _summands, ())
LARGE_REDUCER = replace(
    REDUCER,
    draw=lambda generator: ScalarReducerParameters(
        generator.choice(list(REDUCTIONS)), generator.choice(EMPTY_FIBERS), 43, 53
    ),
)


def _array(generator: random.Random) -> ArrayParameters:
    sizes = generator.choice([1, 3, 64]), generator.choice([6, 20, 62]), generator.choice([2, 32, 53])
    return ArrayParameters(*sizes, memory=generator.choice(MEMORY_KINDS))


def _places(generator: random.Random, given: ArrayParameters) -> dict[str, list[Token]]:
    depth = generator.randint(0, 3)

    def leaf(_nothing: None) -> Token:
        return EMPTY_TOKEN if generator.random() < 0.1 else number(generator.randrange(given.entries))

    return {"in_ref": stream(mapped(nested(generator, depth, LEAVES, 9), depth + 1, leaf), depth)}


def _words(generator: random.Random, given: ArrayParameters) -> list[float]:
    return [number_of(generator, given, given.value_bits) for _ in range(given.entries)]


ARRAY = FilledScenario(
    "array",
    _array,
    _places,
    (),
    contents=_words,
    made=lambda name, given, words: ARRAYS[given.memory](name, words),
    loads=lambda words: [Load(0, place, 0, word) for place, word in enumerate(words)],
)
LARGE_ARRAY = replace(
    ARRAY,
    draw=lambda generator: ArrayParameters(
        generator.choice([900, 1500]), 16, 53, memory=generator.choice(MEMORY_KINDS)
    ),
)
