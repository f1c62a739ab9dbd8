"""Points in a space: all of a grid, and samples that are where they should be."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fiberscope.explore.sweeps.space import RandomPoints, Range, combine_points

SHARES = st.integers(0, 2**20 - 1).map(lambda parts: parts / 2**20)  # floats are slow to draw
WHOLE = st.integers(1, 10**6)


def spanned(**keys: object) -> Range:
    return Range.model_validate(keys)


def test_a_grid_is_combined_each_with_each_and_with_lists() -> None:
    lists = [[{"c": 1}, {"c": 2}], [{"d": 5}]]
    points = list(combine_points({"a": [1, 2], "b": ["x"]}, lists))
    assert points == [{"a": a, "b": "x", "c": c, "d": 5} for a in (1, 2) for c in (1, 2)]
    assert list(combine_points({}, [])) == [{}]


@given(WHOLE, WHOLE, st.integers(1, 1000), st.sampled_from(["linear", "log"]), SHARES, SHARES)
def test_a_range_is_kept_to_in_steps_and_in_order(
    low: int, more: int, step: int, scale: str, one: float, other: float
) -> None:
    span = spanned(**{"from": low, "to": low + more, "step": step, "scale": scale})
    first, second = span.compute_value(min(one, other)), span.compute_value(max(one, other))
    assert low <= first <= second <= low + more
    assert isinstance(first, int)
    assert (first - low) % step == 0
    assert (second - low) % step == 0


def test_every_number_of_a_range_is_drawn() -> None:
    span = spanned(**{"from": 2, "to": 5})
    assert [span.compute_value(share / 8) for share in range(8)] == [2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize(
    ("low", "high", "step", "expected"),
    [
        (1, 3, 0.5, [1, 1.5, 2, 2.5, 3]),
        (0.1, 0.5, 0.1, [0.1, 0.2, 0.3, 0.4, 0.5]),
        (1, 10, 4, [1, 5, 9]),
        (1, 3, 5, [1]),
    ],
)
def test_samples_and_searches_have_the_numbers_of_the_steps(
    low: float, high: float, step: float, expected: list[float]
) -> None:
    span = spanned(**{"from": low, "to": high, "step": step})
    drawn = [span.compute_value((part + 0.5) / 240) for part in range(240)]
    assert sorted({round(number, 9) for number in drawn}) == expected
    counts = Counter(round(number, 9) for number in drawn)
    assert set(counts.values()) == {240 // len(expected)}
    distribution = pytest.importorskip("fiberscope.explore.sweeps.search_space").build_distribution("a", span)
    steps = round((distribution.high - distribution.low) / distribution.step)
    found = [round(distribution.low + number * distribution.step, 9) for number in range(steps + 1)]
    assert found == expected


@pytest.mark.parametrize(("low", "high"), [(1, 2.5), (0.5, 2)])
def test_a_range_with_a_fraction_at_either_end_is_of_fractions(low: float, high: float) -> None:
    span = spanned(**{"from": low, "to": high})
    assert [span.compute_value(share) for share in (0.0, 0.25, 0.5)] == [
        low,
        low + 0.25 * (high - low),
        (low + high) / 2,
    ]


def test_a_log_scale_draws_small_ones_as_often() -> None:
    span = spanned(**{"from": 1.0, "to": 10000.0, "scale": "log"})
    assert math.isclose(span.compute_value(0.5), 100.0)


def test_sizes_have_units() -> None:
    span = spanned(**{"from": "64KiB", "to": "3MiB", "step": "64KiB"})
    assert {span.compute_value(share / 100) % 65536 for share in range(100)} == {0}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"from": 3, "to": 1}, "no number lies between 3 and 1"),
        ({"from": 0, "to": 1, "scale": "log"}, "a log scale begins above 0"),
        ({"from": 0, "to": 1, "step": 0}, "a step is above 0"),
    ],
)
def test_a_range_that_cannot_be_is_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        spanned(**keys)


@given(st.integers(1, 40), st.integers(0, 5))
def test_a_latin_hypercube_has_a_point_in_each_part_of_each_range(count: int, seed: int) -> None:
    sample = RandomPoints(
        count=count, seed=seed, over={"a": spanned(**{"from": 0, "to": count - 1}), "b": [1, 2]}
    )
    points = list(sample.points())
    assert sorted(point["a"] for point in points) == list(range(count))
    assert abs(sum(point["b"] == 1 for point in points) - count / 2) <= 1
    assert points == list(sample.points())


def test_a_random_sample_is_its_seeds() -> None:
    over = {"a": spanned(**{"from": 0, "to": 10**9})}
    drawn = [
        list(RandomPoints(count=5, over=over, method="random", seed=seed).points()) for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
