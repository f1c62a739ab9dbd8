"""The bank with its data array: patterns that are written and read back, against a plain dict."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from bank_bench import Bench, Request, lines_of, requests
from pairs import check_pair
from scenarios import LARGE, LARGE_SEEDS, SCENARIOS

from fiberscope.hw.memory.cache_parameters_rtl import BankParameters
from fiberscope.hw.memory.cache_rtl import BLOCK
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, WRITE, WRITE_THROUGH
from fiberscope.hw.rtl.kit.backend import PyrtlBackend

SHORT = 150  # requests
CROWDED = range(40, 46)
SMALL = BankParameters(banks=1, sets=2, ways=2, misses=2, targets=2)


def with_lines(given):
    return replace(given, data="array", stages=max(2, given.stages))


def benched(given, tokens, seed, *, watched=False, **chances):
    """What the bench has counted, all lines being right."""
    generator = random.Random(seed)
    bench = Bench(
        given,
        PyrtlBackend(BLOCK.twin(given), seed, watched=watched),
        requests(tokens, given, generator),
        generator,
    )
    bench.chances |= chances
    bench.run()
    return bench.events


def read(given, operations):
    """The lines that come back for operations and line numbers, sent one behind another."""
    sent = [
        Request(operation, tag, number * given.line_bytes, lines_of(-1 - tag, given.line_bits))
        for tag, (operation, number) in enumerate(operations)
    ]
    bench = Bench(given, PyrtlBackend(BLOCK.twin(given), 1), sent, random.Random(1))
    replies = {}

    def note(wires):
        replies[wires["replies_coordinate"]] = wires["replies_line"]
        bench.due.pop(wires["replies_coordinate"])

    bench._replies = note
    bench.run()
    return replies


def of_scenario(scenario, seed, most):
    given = with_lines(scenario.drawn(seed))
    return benched(given, scenario.inputs(random.Random(seed), given)["requests"][:most], seed)


@cache
def crowded(seed):
    """Reads of lines that were fetched, most of which find no target left and wait for them to come."""
    generator = random.Random(seed)
    given = replace(SMALL, ways=4, misses=4, targets=1, stages=generator.choice([2, 3]))
    operations = []
    for _ in range(40):
        a, b, c = generator.sample(range(12), 3)
        last = generator.choice([READ, CONSUME, WRITE])
        operations += [(FETCH, a), (FETCH, b), (READ, c), (READ, a), (last, b)]
    tokens = [(operation, tag, 64 * line, 0.0) for tag, (operation, line) in enumerate(operations)]
    return benched(given, tokens, seed, watched=True, reply=0.5, serve=0.05)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_read_was_written(seed):
    assert of_scenario(SCENARIOS["bank"], seed, SHORT)["read"] > 10


@pytest.mark.parametrize("seed", CROWDED)
def test_so_it_is_where_requests_wait_for_lines(seed):
    assert crowded(seed)["read"] > 20


@pytest.mark.parametrize(
    ("seed", "most"), [(3, 500), *(pytest.param(seed, 2000, marks=pytest.mark.slow) for seed in LARGE_SEEDS)]
)
def test_so_it_is_at_large_sizes(seed, most):
    events = of_scenario(LARGE["bank"], seed, most)
    assert events["read"] > 100
    assert events["written"] > 30


def test_the_seeds_reach_what_lines_depend_on():
    found = sum(map(crowded, CROWDED), Counter())
    assert min(found[event] for event in ("written", "forwarded", "read again")) > 20


@pytest.mark.parametrize("seed", range(3))
def test_lines_change_no_cycle(seed):
    assert check_pair(SCENARIOS["bank"].pair(seed, with_lines(SCENARIOS["bank"].drawn(seed)))) > 60


def test_a_write_past_the_cache_leaves_the_copy_as_it_is():
    replies = read(SMALL, [(WRITE, 4), (WRITE_THROUGH, 4), (READ, 4)])
    assert replies[2] == lines_of(-1, 512)


def test_a_consumed_line_is_gone():
    replies = read(SMALL, [(WRITE, 4), (CONSUME, 4), (READ, 4)])
    assert replies[1] == lines_of(-1, 512)
    assert replies[2] == lines_of(4, 512)  # as memory has it


def test_an_array_needs_a_stage_in_which_its_ways_are_compared():
    with pytest.raises(ValueError, match="bank: data=array needs 2 or 3 stages: a way is known only"):
        BankParameters(stages=1)
