"""The merge core: rows of random lists, columns alike now and then, as many lists as there are entries."""

import heapq
import random
from dataclasses import replace

from fiber_streams import random_float
from scenario import Scenario

from fiberscope.hw.fibers.sorted_head import FORMS
from fiberscope.hw.fibers.sorted_head_rtl import SortedHeadParameters
from fiberscope.hw.rtl.kit.sram import MEMORY_KINDS
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.testing import Token

ROWS = 60
Fiber = list[tuple[int, float]]  # columns and values


def _parameters(generator: random.Random) -> SortedHeadParameters:
    return SortedHeadParameters(
        form=generator.choice(FORMS),
        entries=generator.choice([1, 2, 3, 4, 5, 8, 11]),
        column_bits=generator.choice([2, 8, 42]),
        value_bits=generator.choice([0, 32, 64]),
        memory=generator.choice(MEMORY_KINDS),
    )


def _large(generator: random.Random) -> SortedHeadParameters:
    form, entries = generator.choice([(FORMS[0], 64), (FORMS[1], 64), (FORMS[1], 170)])
    return SortedHeadParameters(form, entries, memory=generator.choice(MEMORY_KINDS))


def _inputs(
    generator: random.Random, given: SortedHeadParameters, rows: int = ROWS, longest: int = 6
) -> dict[str, list[Token]]:
    inputs: dict[str, list[Token]] = {"tasks": [], "elements": []}
    for row in range(rows):
        count = generator.choice([0, 1, given.entries, generator.randint(0, given.entries)])
        span = 1 << generator.randint(1, given.column_bits)
        lengths = [1, longest, *generator.choice([(), (0,)])]  # in half of the rows no list is empty
        lists = [_list(generator, given, span, generator.choice(lengths)) for _ in range(count)]
        inputs["tasks"].append((0, count, row, 0.0))
        inputs["elements"] += _tokens(lists)
    return inputs


def _list(generator: random.Random, given: SortedHeadParameters, span: int, length: int) -> Fiber:
    """Columns that increase, at the most so many, and values."""
    columns = sorted({generator.randrange(span) for _ in range(length)})
    return [(column, random_float(generator) if given.value_bits else 0.0) for column in columns]


def _tokens(lists: list[Fiber]) -> list[Token]:
    """Heads, or stops of empty lists, in any order of lists; then what follows behind each that leaves."""
    heads = [_element(lists, number, 0) for number in range(len(lists))]
    keyed = [
        [(column, -number, place) for place, (column, _) in enumerate(fiber)]
        for number, fiber in enumerate(lists)
    ]
    return heads + [_element(lists, -number, place + 1) for _, number, place in heapq.merge(*keyed)]


def _element(lists: list[Fiber], number: int, place: int) -> Token:
    if place == len(lists[number]):
        return (STOP, 0, number, 0.0)
    return (DATA, lists[number][place][0], number, lists[number][place][1])


SCENARIO = Scenario("sorted_head", _parameters, _inputs, ("merged", "successors"))
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 5, 2))
