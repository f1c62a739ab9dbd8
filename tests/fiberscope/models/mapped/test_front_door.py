"""Specifications as machines: in Python, on the command line, with waveforms; and what is refused."""

import json
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.collector import pause_collector
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.workloads import WorkloadError

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
SMALL = "uniform:rows=40,cols=40,nonzeros=200"
DENSE = """\
symbols: {PES: 4}
einsum:
  declaration: {A: [M, K], x: [K], y: [M]}
  expressions: ["y[m] = A[m, k] * x[k]"]
mapping:
  uncompressed: {x: [K]}
  loop-order: {y: [M, K]}
  spacetime: {y: {space: [M], time: [K]}}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 2 GHz}
      subtree:
        - name: PE[${PES}]
          local: [{name: Multiplier, class: Compute, attributes: {type: mul}}]
bindings:
  y:
    - config: Chip
    - {component: Multiplier, bindings: [{op: mul}]}
"""
LAYERS = """\
einsum:
  declaration: {A: [M, K], X: [K, N], H: [M, N], W: [N, O], Z: [M, O]}
  expressions: ["H[m, n] = A[m, k] * X[k, n]", "Z[m, o] = H[m, n] * W[n, o]"]
mapping:
  loop-order: {H: [M, K, N], Z: [M, N, O]}
  spacetime:
    H: {space: [M], time: [K, N]}
    Z: {space: [M], time: [N, O]}
"""


FOUR = """\
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      subtree:
        - name: PE[4]
          local: [{name: Multiplier, class: Compute, attributes: {type: mul}}]
bindings:
  H: [{config: Chip}, {component: Multiplier, bindings: [{op: mul}]}]
  Z: [{config: Chip}, {component: Multiplier, bindings: [{op: mul}]}]
"""


def drawn(rows, columns, seed):
    generator = np.random.default_rng(seed)
    return sparse.random_array((rows, columns), density=0.2, rng=generator, format="csr")


LED = """\
einsum:
  declaration: {A: [M, K], x: [K], y: [M]}
  expressions: ["y[m] = A[m, k] * x[k]"]
mapping:
  partitioning: {y: {K: [uniform_occupancy(A.2)]}}
  loop-order: {y: [M, K1, K0]}
  spacetime: {y: {space: [M, K1], time: [K0]}}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local: [{name: Meet, class: Intersector, attributes: {type: two-finger}}]
bindings:
  y: [{config: Chip}, {component: Meet, bindings: [{rank: K0}]}]
"""
SMALL_TILES = {"pe.count": 5, "pe.tile": 4, "tile.m": 2, "tile.k": 2, "tile.n": 3}
FILES = tuple(str(EXAMPLES / f"{dataflow}.yaml") for dataflow in ("row_wise", "inner", "outer"))


@pytest.mark.parametrize("name", ["spec:gamma", "spec:gamma-reduce", "spec:gamma-figure", *FILES])
def test_counts_are_those_of_the_trace(name):
    report = fiberscope.simulate(name, SMALL)
    counted = fiberscope.model(name.removeprefix("spec:"), SMALL)
    assert report.verification.passed
    assert report.fidelity == "event"
    assert report.accelerator == (name if name.startswith("spec:") else f"spec:{Path(name).stem}")
    for operation in ("multiply", "add"):
        assert report.operations[operation] == counted.operations[operation] > 0


@pytest.mark.parametrize(("name", "merged"), [("gamma", (4 + 2) + 6), ("gamma-reduce", (4 + 2) + (2 + 2))])
def test_what_is_added_up_before_it_is_stored_is_merged_as_one(name, merged):
    """One row of A (its M) selects three rows of two elements, in two columns: two rows are merged first."""
    tensors = {"A": csr_of([[1], [2], [3]]), "B": csr_of([[1, 2], [3, 4], [5, 6]])}
    report = fiberscope.simulate(f"spec:{name}", tensors=tensors, settings={"pe.radix": 2})
    assert report.verification.passed
    assert report.operations == {"multiply": 6, "add": 4, "merge": merged}
    counted = fiberscope.model(name, tensors=tensors, settings={"pe.radix": 2})
    assert counted.operations == {**report.operations, "intersect": 3, "merge": merged + (2 + 1) + 2}


def csr_of(rows):
    """A matrix of these rows."""
    return sparse.csr_array(np.array(rows, float))


def test_a_cascade_runs_stage_by_stage(tmp_path):
    path = tmp_path / "layers.yaml"
    path.write_text(LAYERS)
    a, x, w = drawn(12, 9, 1), drawn(9, 7, 2), drawn(7, 5, 3)
    report = fiberscope.simulate(str(path), A=a, X=x, W=w)
    assert report.verification.passed
    assert report.product.shape == (12, 5)
    assert report.product.nonzeros == ((a @ x @ w) != 0).sum()
    first = [one for name, one in report.components.items() if ".h.pe" in name and "fiberwrite" in name]
    second = report.components["layers.z.cut"]
    writing = max(one.cycles - one.idle for one in first)
    assert second.idle + second.input_stall > writing  # it waits for all that the first stage writes


def test_a_stage_begins_when_what_tasks_gave_is_added_up(tmp_path):
    path = tmp_path / "layers.yaml"
    outer = LAYERS.replace("H: [M, K, N]", "H: [K, M, N]")
    outer = outer.replace("space: [M], time: [K, N]", "space: [K], time: [M, N]")
    path.write_text(outer + FOUR)
    layers = {"A": drawn(12, 9, 1), "X": drawn(9, 7, 2), "W": drawn(7, 5, 3)}
    report = fiberscope.simulate(str(path), tensors=layers, settings={"timing.depth": 0, "timing.tasks": 99})
    assert report.verification.passed
    added = report.components["layers.h.tasksum_H"]
    second = report.components["layers.z.outer.fiberlookup_H0_M.root"]
    assert second.input_stall >= added.cycles - added.idle


def test_tasks_of_two_loops_in_space_have_two_coordinates(tmp_path):
    path = tmp_path / "both.yaml"
    text = (EXAMPLES / "inner.yaml").read_text()
    path.write_text(text.replace("space: [M], time: [N, K]", "space: [M, N], time: [K]"))
    report = fiberscope.simulate(str(path), A=drawn(8, 6, 1), B=drawn(6, 7, 2))
    assert report.verification.passed
    assert report.product.shape == (8, 7)


def test_a_vector_is_looked_up_where_it_is_full(tmp_path):
    path = tmp_path / "spmv.yaml"
    path.write_text(DENSE)
    matrix = drawn(30, 20, 4)
    full = sparse.csr_array(np.arange(1.0, 21.0).reshape(20, 1))
    report = fiberscope.simulate(str(path), A=matrix, x=full)
    assert report.verification.passed
    assert report.operations["multiply"] == matrix.nnz
    assert report.seconds == pytest.approx(report.cycles / 2e9)
    found = [one.counters["found"] for name, one in report.components.items() if "locate" in name]
    assert sum(found) == matrix.nnz
    assert fiberscope.simulate(str(path), A=matrix, x=full, PES=1).cycles > 2 * report.cycles


def test_sim_writes_report_and_waveform(tmp_path, capsys):
    out, wave = tmp_path / "out.json", tmp_path / "out.vcd"
    words = ["sim", "spec:gamma", f"A={SMALL}", f"B={SMALL}", "--set", "pe.count=3"]
    assert cli.run([*words, "--json", str(out), "--vcd", str(wave)]) == 0
    told = json.loads(out.read_text())
    assert "pe" in wave.read_text()
    assert told["config"]["timing"]["tasks"] == 4
    assert {name.split(".")[1] for name in told["components"]} >= {"pe00", "pe01", "pe02", "cut", "outer"}
    assert "Verified" in capsys.readouterr().out
    assert cli.run(["rerun", str(out)]) == 0


def test_a_merger_as_rtl_runs_in_the_machine_of_a_specification(printed):
    pytest.importorskip("pyrtl")
    words = ["rtl", "loop", "merger", "spec:gamma", SMALL, "--sim=pyrtl"]
    assert "identical in all" in printed(*words, "--set=pe.count=2", "--set=pe.radix=4")


class Late(HighRadixMerger):
    """A merger of one's own, whose tree has one stage."""

    def __init__(self, name, radix, stages):
        super().__init__(name, radix, 1)


def test_a_part_of_ones_own_takes_the_place_of_a_merger():
    own = fiberscope.simulate("spec:gamma", SMALL, parts={"merger": Late})
    assert own.verification.passed
    assert own.parts["merger"].endswith("Late")
    assert own.cycles < fiberscope.simulate("spec:gamma", SMALL).cycles


@pytest.mark.parametrize("name", ["spec:gamma", FILES[0]])
def test_check_lays_machine_and_trace_side_by_side(name, printed):
    told = printed("check", name, f"A={SMALL}", f"B={SMALL}", "--set", "timing.tasks=2", "-q")
    total = int(re.search(r"([\d,]+) ns by components", told)[1].replace(",", ""))
    parts = [int(one.replace(",", "")) for one in re.findall(r"([\d,]+) cycles", told)]
    assert len(parts) == 5
    assert sum(parts) - total in (0, 1)  # a nanosecond is a cycle; the last may be one of the memory's
    assert "WRONG" not in told


def test_check_takes_what_the_trace_has_not(printed):
    own = ["--set", "memory.model=dram", "--set", "network.queue=2", "--set", "PES=2"]
    assert "WRONG" not in printed("check", FILES[0], f"A={SMALL}", f"B={SMALL}", *own, "-q")


def test_a_wrong_count_is_told(monkeypatch, capsys):
    as_it_is = MappedMachine.operations
    monkeypatch.setattr(MappedMachine, "operations", lambda self: {**as_it_is(self), "multiply": 1})
    assert cli.run(["check", "spec:gamma", SMALL, "-q"]) == 3
    assert "the two models disagree: multiply: 1 and" in capsys.readouterr().err


def test_a_machine_is_drawn(tmp_path):
    picture = tmp_path / "gamma.svg"
    assert cli.run(["info", "spec:gamma", "--draw", "-o", str(picture)]) == 0
    assert "merger" in picture.read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [("spec:gama", "no specification, and no YAML file, is called gama; did you mean gamma or sigma")],
)
def test_what_cannot_be_built_is_refused_in_a_line(name, said):
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        fiberscope.simulate(name, SMALL)


@pytest.mark.parametrize(
    ("before", "after"), [("two-finger", "skip-ahead"), ("A[m, k] * x[k]", "A[m, k] + A[m, k] * x[k]")]
)
def test_only_a_factor_is_cut_as_another_and_no_unit_skips_in_it(before, after, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(LED.replace(before, after))
    with pytest.raises(ConfigurationError, match="y: x is partitioned as another tensor while the loops run"):
        fiberscope.simulate(str(path), A=SMALL, x="uniform:rows=40,cols=1,nonzeros=20")


def test_pieces_of_one_factor_say_what_is_met_of_another(tmp_path):
    """Three rows of four elements in pieces of two; x has something at their first and their last."""
    path = tmp_path / "own.yaml"
    path.write_text(LED)
    tensors = {"A": csr_of(np.ones((3, 4))), "x": csr_of([[1], [0], [0], [1]])}
    report = fiberscope.simulate(str(path), tensors=tensors)
    assert report.verification.passed
    assert report.operations == {"multiply": 6, "add": 3}
    assert report.components["own.cut"].counters["dealt"] == 3 * 2


@pytest.mark.parametrize("command", ["sim", "check"])
def test_a_third_operand_in_order_is_refused(command, refusal):
    assert "3 operands in order; A and B are two" in refusal(command, "gamma", SMALL, SMALL, SMALL)


def test_operands_are_held_to_the_names_of_the_specification(tmp_path):
    with pytest.raises(WorkloadError, match="cascade has no operand C; known: A, B"):
        fiberscope.simulate("spec:gamma", tensors={"A": SMALL, "C": SMALL})
    with pytest.raises(WorkloadError, match="cascade takes A; give A=MATRIX"):
        fiberscope.simulate("spec:gamma", B=SMALL)


BOTH = {"A": SMALL, "B": f"{SMALL},seed=1"}
OWN_TIMING = "timing: {tasks: 2, PE: {dispatch: static}, Multiplier: {depth: 3}}\n"


def test_a_file_says_the_timing_of_its_machine(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(Path(FILES[0]).read_text() + OWN_TIMING)
    of_file = fiberscope.simulate(str(path), tensors=BOTH)
    timing = of_file.config["timing"]
    assert (timing["tasks"], timing["dispatch"], timing["depth"]) == (2, "static", 3)
    told = {"timing.tasks": 2, "timing.dispatch": "static", "timing.depth": 3}
    assert of_file.cycles == fiberscope.simulate(FILES[0], tensors=BOTH, settings=told).cycles
    over = fiberscope.simulate(str(path), tensors=BOTH, settings={"timing.tasks": 5})
    assert over.config["timing"]["tasks"] == 5
    assert fiberscope.model(str(path), tensors=BOTH).operations["multiply"] == of_file.operations["multiply"]


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        ("{tasks: 0}", r"own.yaml:51:\d+: timing.tasks is 0"),
        ("{PEE: {tasks: 1}}", r"own.yaml:51:\d+: there is no component PEE; did you mean PE"),
        ("{PE: {task: 1}}", r"own.yaml:51:\d+: .*timing.task; did you mean timing.tasks"),
    ],
)
def test_a_timing_that_cannot_be_is_told_with_its_line(tmp_path, timing, said):
    path = tmp_path / "own.yaml"
    path.write_text(f"{Path(FILES[0]).read_text()}timing: {timing}\n")
    with pytest.raises(ConfigurationError, match=said):
        fiberscope.simulate(str(path), tensors=BOTH)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("../matraptor/spec", BOTH),
        ("spmv", {"A": SMALL, "x": "uniform:rows=40,cols=1,nonzeros=40"}),
        (
            "sddmm",
            {
                "S": SMALL,
                "A": "uniform:rows=40,cols=8,nonzeros=320",
                "B": "uniform:rows=40,cols=8,nonzeros=320",
            },
        ),
    ],
)
def test_machines_of_other_problems_count_as_the_trace(name, given):
    file = str(EXAMPLES / f"{name}.yaml")
    run, trace = fiberscope.simulate(file, tensors=given), fiberscope.model(file, tensors=given)
    assert run.verification.passed
    assert run.operations["multiply"] == trace.operations["multiply"]
    assert run.operations["add"] == trace.operations["add"]
    assert all(run.traffic[name].read_bytes > 0 for name in given)
    assert sum(one.write_bytes for one in run.traffic.values()) >= 4 * run.product.nonzeros


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("spec:gamma", {}),
        ("spec:extensor", SMALL_TILES),
        (FILES[0], {}),
        (str(EXAMPLES / "outer.yaml"), {"timing.line": "24 B"}),
    ],
)
def test_each_request_is_of_an_array_and_of_what_may_be_done_to_it(name, settings):
    assert fiberscope.simulate(name, SMALL, checked=True, settings=settings).verification.passed


@pytest.mark.parametrize(("walk", "nonzeros"), [(1, 400), (1, 1500), (16, 400), (16, 1500)])
def test_what_a_buffer_above_lets_go_of_an_output_comes_back_as_the_trace_says(walk, nonzeros):
    """To a byte where each microtile of Z that is visited has a product; intersectors' steps always.

    Of tasks that are added up side by side one may add a point when its group has come back for the next.
    """
    workload = f"uniform:rows=50,cols=50,nonzeros={nonzeros}"
    timing = {"timing.line": "0 B", "timing.walk": walk, "timing.sums": walk}
    run = fiberscope.simulate("spec:extensor", workload, settings={**SMALL_TILES, **timing})
    told = fiberscope.model("extensor", workload, settings=SMALL_TILES)
    moved, counted = run.traffic["Z"], told.traffic["Z"]
    assert 0 < moved.read_bytes <= counted.read_bytes
    assert moved.write_bytes == moved.read_bytes + 16 * run.product.nonzeros
    assert moved == counted or nonzeros == 400 or walk > 1
    assert moved.read_bytes > 0.99 * counted.read_bytes or nonzeros == 400
    assert run.operations["intersect"] == told.operations["intersect"]


def test_a_memory_has_channels_for_the_bandwidth_of_the_file(tmp_path):
    """As many of at most 8 GiB a second as it needs, of a whole number of MHz: 128 GB/s are 15 of 8.528."""
    text = (EXAMPLES / "spmv.yaml").read_text().replace("256000000000", "1024000000000")
    path = tmp_path / "fast.yaml"
    path.write_text(text)
    given = {"A": SMALL, "x": "uniform:rows=40,cols=1,nonzeros=40"}
    run = fiberscope.simulate(str(path), tensors=given)
    assert sum(name.startswith("fast.memory.channel") for name in run.components) == 15
    assert run.memory.peak_bytes_per_second == 15 * 533 * 16 * 10**6
    slow = fiberscope.simulate(str(path), tensors=given, settings={"memory.bandwidth": "100 GiB/s"})
    assert sum(name.startswith("fast.memory.channel") for name in slow.components) == 2


def test_the_type_of_values_of_a_machine_with_a_section_value_is_value_type(printed):
    shown = printed("info", "spec:sigma")
    assert "value.type" in shown
    assert "timing.tasks" in shown


def test_a_machine_is_freed_at_the_end_of_its_run_without_a_collection_of_garbage(monkeypatch):
    machines, original = [], MappedMachine.__init__

    def noted(machine, *arguments, **options):
        machines.append(weakref.ref(machine))
        original(machine, *arguments, **options)

    monkeypatch.setattr(MappedMachine, "__init__", noted)
    with pause_collector():
        fiberscope.simulate("spec:gamma", SMALL)
        assert [machine() for machine in machines] == [None]
