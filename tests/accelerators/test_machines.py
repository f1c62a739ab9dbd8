"""What holds for every machine: no order, sleep, mode or neighbour changes a run; its counts are pinned."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from machine_case import cases, golden
from machine_golden import numbers
from machine_reports import report_of
from modes import other_mode, this_mode
from vcd_reader import read_vcd

from fiberscope import accelerators
from fiberscope.accelerators.testing import check_end, check_order, check_turns, outcome, run_to_end
from fiberscope.sim import Kernel
from fiberscope.sim.trace import write_vcd

SUPPORT = Path(__file__).parent / "support"
REPORTS = SUPPORT / "machine_reports.py"
CASES = cases()
every_machine = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_make = pytest.mark.parametrize(
    ("case", "variant"),
    [
        pytest.param(
            case,
            variant,
            id=f"{name}, {variant}",
            marks=pytest.mark.slow if (name, variant) == ("outerspace", "shipped") else (),
        )
        for name, case in CASES.items()
        for variant in case.variants
    ],
)


def test_every_accelerator_is_here():
    assert {case.accelerator for case in CASES.values()} >= set(accelerators.names())


@every_make
def test_neither_sleep_nor_tick_order_changes_a_run(case, variant):
    check_order(case, variant)


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
    check_turns(case, *list(case.variants)[:2])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process")
def test_a_machine_forked_in_the_midst_of_its_run_ends_alike_in_both_processes():
    """Neither process writes into the other's product."""
    found = this_mode(SUPPORT / "forked_machines.py")
    assert len(found) == sum(len(case.variants) for case in CASES.values())
    assert {name: ends for name, ends in found.items() if any(ends.values())} == {}


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
def test_the_accounting_adds_up_and_asking_twice_changes_nothing(case, variant):
    check_end(case, variant)


@every_machine
def test_every_part_has_a_scope_in_the_waveform(case, tmp_path):
    machine = case.build("tiny", case.operands())
    with write_vcd(machine.kernel, tmp_path / "out.vcd"):
        machine.kernel.run()
    scopes = {name.rpartition(".")[0] for name in read_vcd(tmp_path / "out.vcd").signals}
    assert scopes >= set(machine.kernel.statistics())


@pytest.mark.parametrize("name", CASES)
def test_cycles_bytes_and_counters_are_those_that_are_kept(name):
    """Set FIBERSCOPE_UPDATE_GOLDEN=1 to keep those found; the commit says why they changed."""
    case = CASES[name]
    found = {variant: numbers(run_to_end(case.build(variant, case.operands()))) for variant in case.variants}
    if os.environ.get("FIBERSCOPE_UPDATE_GOLDEN"):
        text = yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110)
        golden(name).write_text(f"# Kept by tests/accelerators/test_machines.py.\n{text}", encoding="utf-8")
    assert found == yaml.safe_load(golden(name).read_text(encoding="utf-8"))
