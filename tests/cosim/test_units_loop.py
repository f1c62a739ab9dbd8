"""Machines whose parts are made of units, each unit's twin in an HDL simulator in its place."""

from pathlib import Path

import pytest

from fiberscope import cli

SIGMA = (
    "gemm:m=20,n=6,k=40,a=0.4,b=0.6",
    [
        *("dpe.count=2", "dpe.multipliers=8", "slice.k=8", "benes.stages=1"),
        *("controller.bits_per_cycle=24", "controller.first_fold=counted"),
    ],
)
OUTERSPACE = (
    "uniform:rows=30,cols=30,nonzeros=150",
    ["tile.count=4", "tile.pe=2", "tile.merge_pe=1", "merge.max_lists=16", "alloc.alpha=0.5"],
)
EXTENSOR = (
    "uniform:rows=60,cols=60,nonzeros=300",
    ["pe.count=2", "pe.tile=40", "tile.m=2", "tile.k=2", "tile.n=2", "memory.model=simple"],
)
PRODUCT = str(Path(__file__).parents[2] / "examples" / "inner_product" / "machine.py")
LANE = ("uniform:rows=20,cols=20,nonzeros=80", ["lane.count=1", "lane.window=4"])
MACHINES = {"sigma": SIGMA, "outerspace": OUTERSPACE, "extensor": EXTENSOR, PRODUCT: LANE}
UNITS = [
    *(("sigma", unit) for unit in ("adder_network", "benes", "regor", "prefix_popcount")),
    (PRODUCT, "skip_ahead"),
    ("extensor", "intersector"),
    *(("outerspace", unit) for unit in ("sorted_head", "bump_allocator", "node_writer")),
]


@pytest.mark.parametrize(("machine", "block"), UNITS)
def test_the_report_with_a_unit_as_rtl_is_the_same_in_every_entry(
    machine, block, simulator, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    matrix, settings = MACHINES[machine]
    made = [f"--set={setting}" for setting in settings]
    assert cli.run(["rtl", "loop", block, machine, matrix, f"--sim={simulator}", *made]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("identical in all ")
