"""Machines whose parts are made of units, the twins of these in an HDL simulator in their place."""

from pathlib import Path

import pytest

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
MACHINES = {
    "sigma": ("adder_network,benes,regor,prefix_popcount", *SIGMA),
    "outerspace": ("sorted_head,bump_allocator,node_writer", *OUTERSPACE),
    "extensor": ("intersector", *EXTENSOR),
    PRODUCT: ("skip_ahead", *LANE),
}


@pytest.mark.parametrize(
    "machine", [pytest.param(name, marks=() if name == "sigma" else pytest.mark.slow) for name in MACHINES]
)
def test_the_report_with_units_as_rtl_is_the_same_in_every_entry(machine, simulator, printed, here):
    units, matrix, settings = MACHINES[machine]
    made = [f"--set={setting}" for setting in settings]
    out = printed("rtl", "loop", units, machine, matrix, f"--sim={simulator}", *made)
    assert out.splitlines()[-1].startswith("identical in all ")
