"""Searches by area and energy answer right where sizes were not measured, and idle hardware is not free."""

from itertools import pairwise
from pathlib import Path

import pytest

import fiberscope

SMALL = "uniform:rows=60,cols=60,nonzeros=240"
RADIXES = (16, 24, 32, 48, 64)


def gamma(**settings):
    return fiberscope.simulate("gamma", SMALL, settings={"pe.count": 4, **settings})


def test_area_grows_with_the_radix_of_a_merger_whether_or_not_it_was_measured():
    areas = [gamma(**{"pe.radix": radix}).area for radix in RADIXES]
    for smaller, larger in pairwise(areas):
        assert smaller.known < larger.known
        assert smaller.upper < larger.upper
    assert {area.without for area in areas} == {()}
    bases = [part.basis for area in areas for part in area.parts if part.name.startswith("pe.merger: merger")]
    assert set(bases) <= {"measured", "law"}


@pytest.mark.slow
def test_a_search_for_the_least_area_answers_the_smallest_radix(tmp_path: Path) -> None:
    """Radix 24 was the answer when its merger, which was never measured, counted nothing."""
    found = fiberscope.search(
        "gamma",
        SMALL,
        {"pe.radix": [16, 24]},
        settings={"pe.count": 4},
        minimise="area_um2",
        points=2,
        store=tmp_path / "s",
        workers=1,
        progress=False,
    )
    assert [design["pe.radix"] for design in found.best] == [16]


def test_more_idle_elements_take_more_energy_and_area() -> None:
    few, many = gamma(), gamma(**{"pe.count": 64})
    assert few.operations["multiply"] == many.operations["multiply"]
    assert few.energy.total_pj < many.energy.total_pj
    assert few.energy.upper_pj < many.energy.upper_pj
    assert few.area.known < many.area.known
