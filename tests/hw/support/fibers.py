"""Fibers as tokens, and when a source of the shared bench delivers them."""

from itertools import accumulate

from hypothesis import strategies as st

from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.sim.testing import random_stalls

STOP_TOKEN = (STOP, 0, 0, 0.0)
EMPTY_TOKEN = (EMPTY, 0, 0, 0.0)
ROOM = 4096  # a capacity that no test here fills, so that nothing is held back


def fiber_tokens(elements):
    """Tokens of one fiber of (coordinate, reference, value) and its stop."""
    return [(DATA, *element) for element in elements] + [STOP_TOKEN]


def values():
    """Doubles of many sizes, so that the order of additions shows."""
    return st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


def stalls_of(seed, number):
    """Pauses of source ``number`` of ``run_block(seed=seed)``."""
    return (0,) if seed is None else random_stalls(1000 * seed + number)


def pushed_at(count, seed, number):
    """Cycles in which source ``number`` of ``run_block(seed=seed)`` pushes if its channel never fills."""
    stalls = stalls_of(seed, number)
    pauses = [1 + stalls[index % len(stalls)] for index in range(count)]
    return list(accumulate(pauses[:-1], initial=0)) if count else []


def check_accounting_of(outcome, name, **expected):
    """Check busy, idle, input_stall and output_stall of one component, those that are given."""
    statistics = outcome.statistics[name]
    found = {key: getattr(statistics, key) for key in expected}
    assert found == expected, f"{name}: {found}, not {expected}"
