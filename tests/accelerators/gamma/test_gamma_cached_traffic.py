"""Traffic behind the FiberCache without simulation: against the machine, and in reports of the model."""

import numpy as np
import pytest
from gamma_bench import configured, run_gamma, small_operands
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.gamma.cached_traffic import cached_traffic
from fiberscope.accelerators.gamma.functional_pass import FunctionalPass
from fiberscope.accelerators.machine import Traffic
from fiberscope.base.errors import InputError

MATRIX = "uniform:rows=60,cols=60,nonzeros=400"
ON = {"functional_cache": True}


def test_traffic_is_that_of_the_machine_where_tasks_do_not_fill_the_cache():
    a, b = small_operands()
    parameters = configured()
    counted = cached_traffic(parameters, a, b)
    moved = run_gamma(parameters, a, b).traffic()
    assert counted.traffic["A"] == moved["A"]
    assert counted.traffic["B"].read_bytes == pytest.approx(moved["B"].read_bytes, rel=0.05)
    assert counted.traffic["partial"].read_bytes == pytest.approx(moved["partial"].read_bytes, rel=0.05)


def slow_lines_in_flight(work):
    """The same count, input by input."""
    line, size = work.parameters.fibercache.line, work.b_sizes.element_bytes
    pointers, merged = np.asarray(work.b.pointers), work.work.task_merged
    table, coordinates = work.trees.table, np.asarray(work.trees.nonzeros.coordinates)

    def of_row(row):
        return len({byte // line for byte in range(pointers[row] * size, pointers[row + 1] * size)})

    of_b, of_fibers, total = 0.0, 0.0, float(work.merged.sum())
    for row in np.flatnonzero(np.asarray(work.trees.is_tree_row) == 0):
        columns = np.asarray(work.a.coordinates)[work.a.pointers[row] : work.a.pointers[row + 1]]
        of_b += work.merged[row] / total * sum(map(of_row, columns))
    for task in range(table.count):
        for item in table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]:
            if item >= 0:
                of_b += merged[task] / total * of_row(coordinates[item])
            else:
                bytes_ = work.work.task_outputs[-1 - item] * work.parameters.sizes.element_bytes
                of_fibers += merged[task] / total * -(-bytes_ // line)
    tasks = work.parameters.pe.count * (1 + work.parameters.pe.task_queue)
    return min(tasks * of_b, pointers[-1] * size / line) + tasks * of_fibers


def test_lines_in_flight_are_those_of_running_and_queued_tasks():
    a, b = small_operands()
    parameters = configured()
    work = FunctionalPass(parameters, a, b)
    lines = parameters.fibercache.size // parameters.fibercache.line
    counted = cached_traffic(parameters, a, b).in_flight
    assert counted == pytest.approx(slow_lines_in_flight(work) / lines)


def test_an_empty_product_moves_pointers_alone():
    a, b = small_operands()
    empty = sparse.csr_array(a.shape)
    counted = cached_traffic(configured(), empty, b)
    assert counted.in_flight == 0
    assert counted.traffic["B"] == counted.traffic["partial"] == Traffic(0, 0)


def test_the_report_of_the_model_has_it_on_request_alone():
    plain, report = (fiberscope.model("gamma", MATRIX, settings=each) for each in ({}, ON))
    assert plain.cached is None
    assert "cached" not in plain.model_dump()
    assert "functional_cache" not in plain.config["model"]
    assert report.traffic == plain.traffic
    whole = fiberscope.simulate("gamma", MATRIX)
    assert report.cached.traffic["B"].moved_bytes == whole.traffic["B"].moved_bytes
    assert report.row()["cached_B_bytes"] == whole.traffic["B"].moved_bytes
    assert "cached_traffic_bytes" not in plain.row()
    line = next(line for line in report.summary().splitlines() if line.startswith("Cached"))
    assert " in all by a functional cache: A " in line
    assert "not reliable" not in report.summary()
    crowded = report.cached.model_copy(update={"in_flight": 1.5})
    text = " ".join(report.model_copy(update={"cached": crowded}).summary().split())
    assert "not reliable, as tasks in flight need 150% of the cache" in text


def test_operands_by_name_and_a_smaller_cache_are_counted_too():
    named = {"A": MATRIX, "B": "uniform:rows=60,cols=50,nonzeros=300"}
    settings = ON | {"fibercache.size": "12KiB", "fibercache.banks": 12}
    report = fiberscope.model("gamma", tensors=named, settings=settings)
    whole = fiberscope.simulate(
        "gamma", tensors=named, settings={k: v for k, v in settings.items() if k not in ON}
    )
    assert report.cached.traffic["A"].moved_bytes == whole.traffic["A"].moved_bytes


@pytest.mark.parametrize(
    ("machine", "settings", "message"),
    [
        ("outerspace", {}, "functional_cache: outerspace has no cache to count; machines that have: gamma"),
        ("gamma", {"scheduler.output": "cache"}, "the functional cache needs scheduler.output=memory"),
    ],
)
def test_what_has_no_such_count_is_refused(machine, settings, message):
    with pytest.raises((InputError, fiberscope.ConfigurationError), match=message):
        fiberscope.model(machine, MATRIX, settings={**ON, **settings})


def test_a_sweep_of_the_model_has_columns_of_it(tmp_path, capsys):
    assert (
        cli.run(
            ["model", "gamma", MATRIX, "--set", "functional_cache=true", "--json", str(tmp_path / "m.json")]
        )
        == 0
    )
    read = fiberscope.Report.read(tmp_path / "m.json")
    assert read.cached == fiberscope.model("gamma", MATRIX, settings=ON).cached
    assert "Cached " in capsys.readouterr().out
