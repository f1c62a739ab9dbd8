"""What holds for every machine: no order, sleep, mode or neighbour changes a run; its counts are pinned."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from machine_case import cases
from machine_golden import numbers
from machine_reports import report_of
from modes import other_mode
from vcd_reader import read_vcd
from whole_machines import KERNELS, outcome, run_to_end

from fiberscope import accelerators
from fiberscope.sim import Kernel
from fiberscope.sim.testing import check_accounting
from fiberscope.sim.trace import write_vcd

REPORTS = Path(__file__).parent / "support" / "machine_reports.py"
CASES = cases()
every_machine = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_make = pytest.mark.parametrize(
    ("case", "variant"),
    [
        pytest.param(case, variant, id=f"{name}, {variant}")
        for name, case in CASES.items()
        for variant in case.variants
    ],
)


def test_every_accelerator_is_here():
    assert {case.accelerator for case in CASES.values()} >= set(accelerators.names())


@every_make
def test_neither_sleep_nor_tick_order_changes_a_run(case, variant):
    operands = case.inexact_operands()
    expected = outcome(run_to_end(case.build(variant, operands)))
    for options in KERNELS:
        found = outcome(run_to_end(case.build(variant, operands, kernel=Kernel(**options))))
        assert found == expected, options


@every_machine
def test_planted_a_part_that_depends_on_the_tick_order_is_found(case):
    """Parts that share a count, and do nothing in their every third tick."""
    part, variant = case.planted
    shared = [0]

    class Telepathic(case.kind.parts[part]):
        def tick(self, now):
            shared[0] += 1
            return self.busy(now + 1) if shared[0] % 3 == 0 else super().tick(now)

    found = []
    for seed in (None, 1, 2):
        shared[0] = 0
        kernel, parts = Kernel(order_seed=seed), {part: Telepathic}
        found.append(outcome(run_to_end(case.build(variant, case.operands(), kernel=kernel, parts=parts))))
    assert any(one != other for one, other in pairwise(found))


@every_machine
def test_two_machines_step_by_step_in_turn(case):
    """Each runs as if it were alone."""
    variants, operands = list(case.variants)[:2], case.operands()
    expected = [outcome(run_to_end(case.build(variant, operands))) for variant in variants]
    machines = [case.build(variant, operands) for variant in variants]
    limit, running = 0, True
    while running:
        limit += 7
        runs = [machine.kernel.run(cycle_limit=limit) for machine in machines]
        running = not all(run.complete for run in runs)
        assert limit < 1_000_000
    assert [outcome(machine) for machine in machines] == expected


@pytest.fixture(scope="module")
def reports_of_the_other_mode():
    return other_mode(REPORTS)


@every_machine
def test_compiled_and_uncompiled_give_the_same_report(case, reports_of_the_other_mode):
    ours = report_of(case)
    others = dict(reports_of_the_other_mode[next(name for name in CASES if CASES[name] is case)])
    hosts = [ours.pop("host"), others.pop("host")]
    if not any(host["compiled"] for host in hosts):
        pytest.skip("the engine has not been compiled here")
    assert {host["compiled"] for host in hosts} == {True, False}
    assert {report.pop("environment")["build"] is None for report in (ours, others)} == {True, False}
    assert ours == others  # the sources too
    assert ours["verification"]["passed"] is True


@every_machine
def test_two_runs_give_the_same_report_byte_for_byte(case):
    documents = [report_of(case) for _ in range(2)]
    for document in documents:
        assert document.pop("host")["seconds"] > 0
    assert json.dumps(documents[0]) == json.dumps(documents[1])


@every_make
def test_the_accounting_of_every_component_adds_up(case, variant):
    machine = run_to_end(case.build(variant, case.operands()))
    check_accounting(machine.kernel.statistics())
    done, work = machine.progress()
    assert done == work > 0


@every_make
def test_asking_twice_changes_nothing(case, variant):
    """Neither what a run left behind nor its answer, whatever was made of that."""
    machine = run_to_end(case.build(variant, case.operands()))
    before = outcome(machine)
    assert outcome(machine) == before


@every_machine
def test_every_part_has_a_scope_in_the_waveform(case, tmp_path):
    machine = case.build("tiny", case.operands())
    with write_vcd(machine.kernel, tmp_path / "out.vcd"):
        machine.kernel.run()
    scopes = {name.rpartition(".")[0] for name in read_vcd(tmp_path / "out.vcd").signals}
    assert scopes >= set(machine.kernel.statistics())


@every_machine
def test_cycles_bytes_and_counters_are_those_that_are_kept(case):
    """Set FIBERSCOPE_UPDATE_GOLDEN=1 to keep those found; the commit says why they changed."""
    found = {variant: numbers(run_to_end(case.build(variant, case.operands()))) for variant in case.variants}
    if os.environ.get("FIBERSCOPE_UPDATE_GOLDEN"):
        text = yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110)
        case.golden.write_text(f"# Kept by tests/accelerators/test_machines.py.\n{text}", encoding="utf-8")
    assert found == yaml.safe_load(case.golden.read_text(encoding="utf-8"))
