"""Scaling between technologies, against the published table of areas and by its laws."""

from math import floor, log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.results.costs.scaling import (
    AREAS,
    ENERGIES,
    LIMITS,
    compute_area_factor,
    compute_energy_factor,
)

NODES = st.sampled_from(sorted(AREAS))
SIZES = st.floats(*LIMITS)
VOLTS = st.floats(0.8, 1.2)


# Of rows of the published table beside that of 45 nm, which is the one that is kept; it has two digits.
@pytest.mark.parametrize(
    ("source", "target", "published"),
    [
        (180, 45, 0.053),
        (180, 32, 0.025),
        (130, 65, 0.23),
        (65, 32, 0.31),
        (32, 45, 2.2),
        (7, 65, 25),
        (16, 7, 0.31),
    ],
)
def test_areas_are_those_of_the_table(source, target, published):
    digit = 10.0 ** (floor(log10(published)) - 1)
    assert compute_area_factor(source, target) == pytest.approx(published, abs=digit)


def test_an_energy_by_hand():
    """Of 45 nm at 0.9 V and of 32 nm at 0.9 V."""
    high, low = 1.018 * 0.81 - 0.3107 * 0.9 + 0.1539, 0.8367 * 0.81 - 0.4341 * 0.9 + 0.1701
    assert compute_energy_factor(45, 0.9, 32, 0.9) == pytest.approx(low / high)


def test_between_two_nodes_the_factor_is_between_theirs_as_a_power():
    """28 nm is log(32/28) / log(32/20) = 0.28410 of the way from 32 to 20."""
    assert compute_area_factor(45, 28) == pytest.approx(0.46 * (0.21 / 0.46) ** 0.28410, rel=1e-4)


@given(SIZES, SIZES, SIZES, VOLTS, VOLTS, VOLTS)
def test_there_and_on_is_the_way_at_once(one, two, three, v1, v2, v3):
    assert compute_area_factor(one, two) * compute_area_factor(two, three) == pytest.approx(
        compute_area_factor(one, three)
    )
    there = compute_energy_factor(one, v1, two, v2) * compute_energy_factor(two, v2, three, v3)
    assert there == pytest.approx(compute_energy_factor(one, v1, three, v3))


@given(SIZES, SIZES)
def test_smaller_is_smaller(one, two):
    low, high = sorted((one, two))
    assert compute_area_factor(45, low) <= compute_area_factor(45, high) * (1 + 1e-12)


def test_both_tables_have_the_same_nodes():
    assert list(AREAS) == list(ENERGIES) == sorted(AREAS)


@pytest.mark.parametrize("volts", [0.5, 0.6, 0.72])
@pytest.mark.parametrize("size", [130.5, 150, 180])
def test_where_an_equation_gives_no_energy_it_is_refused(size, volts):
    with pytest.raises(
        ValueError, match=f"above 130 nm, the equations hold from 0.73 V on, not at {volts} V"
    ):
        compute_energy_factor(45, 0.9, size, volts)


@given(st.floats(LIMITS[0], 130), st.floats(0.5, 2.0))
def test_elsewhere_each_factor_is_positive(size, volts):
    assert compute_energy_factor(45, 0.9, size, volts) > 0
    assert compute_energy_factor(45, 0.9, 180, max(volts, 0.73)) > 0
