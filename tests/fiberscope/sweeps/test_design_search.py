"""Searches from Python."""

from pathlib import Path

import pytest
from scipy import sparse

import fiberscope
from fiberscope.explore.sweeps.design_search import make_design
from fiberscope.workloads import from_scipy

A = sparse.random_array((30, 30), density=0.1, rng=1, format="csr")
SMALL = "uniform:rows=20,cols=20,nonzeros=60"


def test_a_search_finds_the_best_designs_and_keeps_all_runs(tmp_path: Path) -> None:
    found = fiberscope.search(
        "gamma",
        from_scipy(A, "mine"),
        {"pe.count": (1, 2), "pe.radix": [4]},
        minimise=["cycles", "pe_count"],
        points=2,
        store=tmp_path / "s",
        workers=1,
        progress=False,
    )
    cycles = {count: fiberscope.simulate("gamma", A, pe__count=count, pe__radix=4).cycles for count in (1, 2)}
    assert found.frame().set_index("pe.count")["cycles"].to_dict() == cycles
    assert sorted(found.runs["pe.count"]) == [1, 2]
    assert "pe.radix" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing to search for"),
        ({"minimise": "cycles", "over": {}}, "over: there is nothing to search in"),
        ({"minimise": "cycles", "over": {"pe.cuont": [1]}}, "no parameter pe.cuont; did you mean pe.count"),
        ({"minimise": "cycles", "over": {"pe.count": 3}}, "over: pe.count is 3; it should be a list"),
        ({"minimise": "cycles", "subject_to": "area_um2"}, "area_um2: is no limit"),
        ({"minimise": "cycles", "memory": "much"}, "memory much: "),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_refused_before_a_store_is_made(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    chosen = {"over": {"pe.count": [1, 2]}, "store": tmp_path / "s", **options}
    with pytest.raises((fiberscope.InputError, fiberscope.ConfigurationError), match=message):
        fiberscope.search("gamma", SMALL, **chosen)
    assert not (tmp_path / "s").exists()


def test_the_command_refuses_a_search_without_a_goal_as_before(here: Path, refusal) -> None:
    Path("space.yaml").write_text("pe.count: [1, 2]\n")
    error = refusal("search", "gamma", SMALL, "--over", "space.yaml")
    assert "give --minimise, as in --minimise cycles" in error
    assert not Path("search").exists()


def test_settings_of_a_machine_go_before_those_of_all_runs() -> None:
    machine = {"name": "x", "accelerator": "gamma", "set": {"pe.count": 4}}
    design = make_design(machine, {"settings": {"pe.count": 2, "pe.radix": 8}})
    assert (design.settings, design.name) == ({"pe.count": 4, "pe.radix": 8}, "x")
