"""The laws of the engine, on the whole machine: no order, sleep or mode changes a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from extensor_bench import run_extensor, small_operands, tiny
from extensor_reports import main_report
from modes import other_mode
from whole_machines import KERNELS, outcome

from accelerators.extensor.pe import IntersectingCore
from sim import Kernel

REPORTS = Path(__file__).parent / "support" / "extensor_reports.py"
MACHINES = {
    "tiny": tiny(),
    "tiny, dram": tiny(memory__model="dram"),
    "one of everything": tiny(pe__count=1, llb__intersectors=1, stream__lines=1, memory__channels=1),
    "no skipping, one half": tiny(intersection="two_finger", llb__halves=1),
    "wide": tiny(pe__count=8, llb__intersectors=8, llb__port=64, tile__m=1),
}


def inexact_operands():
    """Values whose sums depend on the order in which they are added."""
    a, b = small_operands()
    for matrix in (a, b):
        matrix.data[:] = [0.1 * (i % 7) + 1e-3 * i for i in range(len(matrix.data))]
    return a, b


@pytest.mark.parametrize("name", MACHINES)
def test_neither_sleep_nor_tick_order_changes_a_run(name):
    expected = outcome(run_extensor(MACHINES[name], *inexact_operands()))
    for options in KERNELS:
        found = outcome(run_extensor(MACHINES[name], *inexact_operands(), kernel=Kernel(**options)))
        assert found == expected, options


def test_planted_a_part_that_depends_on_the_tick_order_is_found():
    """Cores that share a count, and take a cycle more for every third product."""
    shared = [0]

    class Telepathic(IntersectingCore):
        def tick(self, now):
            shared[0] += 1
            return self.busy(now + 1) if shared[0] % 3 == 0 else super().tick(now)

    found = []
    for seed in (None, 1, 2):
        shared[0] = 0
        kernel = Kernel(order_seed=seed)
        machine = run_extensor(tiny(), *small_operands(), parts={"core": Telepathic}, kernel=kernel)
        found.append(outcome(machine))
    assert found[0] != found[1] or found[0] != found[2]


def test_compiled_and_uncompiled_give_the_same_report():
    ours, others = json.loads(main_report()), other_mode(REPORTS)
    hosts = [ours.pop("host"), others.pop("host")]
    if not any(host["compiled"] for host in hosts):
        pytest.skip("the engine has not been compiled here")
    assert {host["compiled"] for host in hosts} == {True, False}
    assert ours == others
    assert ours["verification"]["passed"] is True
