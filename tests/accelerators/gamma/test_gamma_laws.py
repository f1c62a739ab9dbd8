"""The laws of the engine, on the whole machine: no order, sleep, mode or neighbour changes a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gamma_bench import configured, run_gamma, tiny
from gamma_reports import SETTINGS, main_report, small_operands
from modes import other_mode
from whole_machines import KERNELS, outcome

from accelerators.gamma import Gamma
from hw.arithmetic import Accumulator
from sim import Kernel

REPORTS = Path(__file__).parent / "support" / "gamma_reports.py"
MACHINES = {
    "tiny": tiny(),
    "tiny, dram": tiny(memory__model="dram"),
    "tiny, through the cache": tiny(scheduler__output="cache", pe__prefetch=False),
    "small": configured(**SETTINGS),
}


@pytest.mark.parametrize("name", MACHINES)
def test_neither_sleep_nor_tick_order_changes_a_run(name):
    a, b = small_operands()
    expected = outcome(run_gamma(MACHINES[name], a, b))
    for options in KERNELS:
        found = outcome(run_gamma(MACHINES[name], a, b, kernel=Kernel(**options)))
        assert found == expected, options


def test_planted_a_part_that_depends_on_the_tick_order_is_found():
    """Accumulators that share a count, and pass their every third product on a cycle late."""
    shared = [0]

    class Telepathic(Accumulator):
        def tick(self, now):
            shared[0] += 1
            return self.busy(now + 1) if shared[0] % 3 == 0 else super().tick(now)

    a, b = small_operands()
    found = []
    for seed in (None, 1, 2):
        shared[0] = 0
        kernel, parts = Kernel(order_seed=seed), {"accumulator": Telepathic}
        found.append(outcome(run_gamma(tiny(pe__count=4), a, b, kernel=kernel, parts=parts)))
    assert found[0] != found[1] or found[0] != found[2]


def test_two_machines_step_by_step_in_turn():
    """Each runs as if it were alone."""
    a, b = small_operands()
    expected = [outcome(run_gamma(parameters, *pair)) for parameters, pair in pairs(a, b)]
    machines = [Gamma(parameters, *pair) for parameters, pair in pairs(a, b)]
    limit, running = 0, True
    while running:
        limit += 7
        runs = [machine.kernel.run(cycle_limit=limit) for machine in machines]
        running = not all(run.complete for run in runs)
        assert limit < 1_000_000
    assert [outcome(machine) for machine in machines] == expected


def pairs(a, b):
    """Two machines with their operands."""
    return [(tiny(), (a, b)), (configured(**SETTINGS), (b, a))]


def test_compiled_and_uncompiled_give_the_same_report():
    ours, others = json.loads(main_report()), other_mode(REPORTS)
    hosts = [ours.pop("host"), others.pop("host")]
    if not any(host["compiled"] for host in hosts):
        pytest.skip("the engine has not been compiled here")
    assert {host["compiled"] for host in hosts} == {True, False}
    assert ours == others


def test_two_runs_give_the_same_report_byte_for_byte():
    documents = [json.loads(main_report()) for _ in range(2)]
    for document in documents:
        assert document.pop("host")["seconds"] > 0
    assert json.dumps(documents[0]) == json.dumps(documents[1])
