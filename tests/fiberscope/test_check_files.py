"""The files ``check.yaml`` as data: what a machine moves is in them, each byte once."""

from collections import Counter
from typing import Any

import pytest

import fiberscope
from fiberscope.explore import check as study
from fiberscope.explore.check import FILE
from fiberscope.run.find_machine import find

SMALL = "uniform:rows=20,cols=20,nonzeros=60"
MACHINES = ("gamma", "outerspace", "sigma", "extensor", "graphicionado")
NO_COUNTERPART = {"sigma": {"Z"}}  # the trace of SIGMA writes no product to DRAM


def rules_of(machine: str) -> Any:
    return study._read_rules(find(machine).folder / FILE, machine)


@pytest.mark.parametrize("machine", MACHINES)
def test_all_that_a_machine_moves_is_compared_once(machine: str) -> None:
    compared = Counter(name for rule in rules_of(machine).traffic for name in rule.event)
    moved = fiberscope.simulate(machine, SMALL).traffic.keys() - NO_COUNTERPART.get(machine, set())
    assert compared == dict.fromkeys(moved, 1)


def test_partial_fibers_are_among_what_gamma_moves_for_its_product() -> None:
    """Mergers of two ways, and a cache too small for the partial fibers of long rows."""
    settings = {"pe.count": 2, "pe.radix": 2, "fibercache.size": "8 KiB", "fibercache.banks": 1}
    a, b = "uniform:rows=40,cols=400,nonzeros=2400,seed=1", "uniform:rows=400,cols=400,nonzeros=4000"
    report = fiberscope.simulate("gamma", a, b, settings=settings)
    (rule,) = (rule for rule in rules_of("gamma").traffic if rule.tensor == "Z")
    partial = report.traffic["partial"].moved_bytes
    assert partial > 0
    row = study._compare(rule, study._collect_bytes(report), {})
    assert row.event == report.traffic["Z"].moved_bytes + partial
    assert "partial fibers" in row.reason


LADDERS = [  # machine, workload, its settings, and the rungs that take cycles off there
    ("gamma", "uniform:rows=60,cols=60,nonzeros=300", {}, (0, 1)),
    ("gamma", "uniform:rows=60,cols=60,nonzeros=300", {}, (2, 3)),
    ("gamma", "rmat:scale=7,nonzeros=1500", {}, (4,)),
    ("sigma", "gemm:m=400,n=4,k=4,a=0.9,b=0.9", {}, (0, 1, 3)),
    ("sigma", "gemm:m=128,n=8,k=200,a=0.3,b=0.3", {}, (2,)),
    ("extensor", "uniform:rows=60,cols=60,nonzeros=300", {}, (0, 1, 2, 3, 4)),
    ("graphicionado", "rmat:scale=8,nonzeros=2000", {}, (0, 1, 2, 3, 4)),
    (
        "outerspace",
        "uniform:rows=30,cols=30,nonzeros=150",
        {"tile.count": 2, "l1.count": 1, "tile.pe": 4, "tile.merge_pe": 2},
        (0, 1, 2, 3),
    ),
]


@pytest.mark.parametrize(
    ("machine", "workload", "settings", "rungs"),
    LADDERS,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rung_of_a_ladder_takes_cycles_off(
    machine: str, workload: str, settings: dict[str, int], rungs: tuple[int, ...]
) -> None:
    ladder = rules_of(machine).ladder

    def cycles(climbed: int) -> int:
        changed: dict[str, object] = {**settings}
        for rung in ladder[:climbed]:
            changed |= rung.settings
        return fiberscope.simulate(machine, workload, settings=changed).cycles

    taken = {climbed: cycles(climbed) for rung in rungs for climbed in (rung, rung + 1)}
    for rung in rungs:
        assert taken[rung + 1] < taken[rung], ladder[rung].part


def test_every_rung_has_a_workload() -> None:
    tested = {(machine, rung) for machine, _workload, _settings, rungs in LADDERS for rung in rungs}
    assert tested == {(name, rung) for name in MACHINES for rung in range(len(rules_of(name).ladder))}
