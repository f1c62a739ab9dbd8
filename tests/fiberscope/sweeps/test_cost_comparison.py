"""Sums of areas and energies are compared only with sums over the same parts."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.cost_comparison import CostComparison

PARTS = st.lists(st.sampled_from(["wires", "host", "pe.merger: merger(radix=24, stages=6)"]), unique=True)
AREAS = ("area_um2", "area_um2 * seconds", "area_um2 < 40e6")
ENERGIES = ("energy_pj", "edp", "ed2p", "sqrt(edp)")


def row(without: list[str], radix: int = 24, **sums: float | None) -> Mapping[str, object]:
    """A row of a store whose sums of both kinds lack the same parts."""
    missing = dict.fromkeys(("area_without", "energy_without"), "; ".join(without))
    numbers = {"area_um2": 1.0, "energy_pj": 2.0, "edp": 3.0, "ed2p": 4.0, **sums}
    settings = json.dumps({"pe.radix": radix})
    return {"machine": "gamma", "workload": "a", "settings": settings, **missing, **numbers}


def refused(comparison: CostComparison, measure: str, found: Mapping[str, object]) -> str:
    """Why a row is refused; empty if it is not."""
    try:
        comparison.check(measure, found)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("measure", [*AREAS, *ENERGIES])
@given(first=PARTS, second=PARTS)
def test_sums_are_compared_if_they_lack_the_same_parts(
    measure: str, first: list[str], second: list[str]
) -> None:
    comparison = CostComparison()
    comparison.check(measure, row(first))
    refusal = refused(comparison, measure, row(second))
    assert (refusal == "") == (set(first) == set(second))
    assert "\n" not in refusal
    assert not refusal or any(part in refusal for part in set(first) ^ set(second))


def test_each_workload_is_compared_by_itself_and_other_measures_are_not_checked() -> None:
    comparison = CostComparison()
    assert refused(comparison, "edp", row(["wires"])) == ""
    assert refused(comparison, "edp", {**row([]), "workload": "b"}) == ""
    assert refused(comparison, "cycles", row([])) == ""
    assert refused(comparison, "area_um2", row([])) == ""


def test_a_sum_that_is_null_names_the_part_without_a_figure() -> None:
    merger = "pe.merger: merger(radix=24, stages=6)"
    with pytest.raises(InputError) as refused:
        CostComparison().check("area_um2", row(["wires", merger], area_um2=None))
    assert str(refused.value) == (
        f"area_um2: is null, as {merger} has no figure, for gamma with pe.radix=24; "
        "measure it with fiberscope rtl netlists, or give another measure"
    )
