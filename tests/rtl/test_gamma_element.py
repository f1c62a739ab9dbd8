"""Gamma's processing element as one module in the event model's place: the same report, entry by entry."""

import re
from pathlib import Path

import pyrtl
import pytest
from whole_matrices import SMALL, written

from fiberscope import simulate
from fiberscope.accelerators.configuration import parse_settings
from fiberscope.accelerators.gamma import prefetcher_rtl, writer_rtl
from fiberscope.base.errors import InputError
from fiberscope.hw.fibers import reader_rtl
from fiberscope.hw.fibers.tasks_rtl import Elements
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.rtl.kit.trees import lowest
from fiberscope.results.errors import FailedRunError
from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import PYRTL, cosimulate
from fiberscope.rtl.substitution import ALL

# Others than the small machine's, and what they are there for.
MACHINES = {
    "as it is": (),
    "few and slow": (
        "pe.row_reads=2",
        "pe.finishing=1",
        "pe.merge_queue=1",
        "pe.output_queue=1",
        "network.queue=2",
    ),
    "small buffers": (
        "pe.buffer_lines=2",
        "format.element=16",
        "fibercache.size=4KiB",
        "scheduler.output_page=64",
    ),
    "without prefetching": ("pe.prefetch=false", "pe.radix=3", "pe.merger_stages=1", "memory.model=simple"),
    "through the cache": ("scheduler.output=cache", "pe.radix=2", "pe.task_queue=1", "fibercache.line=32"),
    "long pipelines": ("pe.multiplier_latency=9", "pe.merger_latency=3", "pe.pipeline_queue=1", "pe.radix=8"),
    "one": (
        "pe.count=1",
        "pe.buffer_lines=8",
        "fibercache.line=128",
        "memory.interleave=128",
        "pe.accumulator_latency=2",
    ),
}


def compared(folder: Path, matrix: str, settings: tuple[str, ...], at: tuple[str, ...] = ()):
    return cosimulate(
        CosimRequest(("pe",), "gamma", matrix, settings=(*SMALL, *settings), at=at), PYRTL, folder
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_it_is_the_event_model_in_every_entry_of_the_report(machine, tmp_path):
    seed = sum(map(ord, machine))
    outcome = compared(tmp_path, written(tmp_path, seed, 24, 0.3), MACHINES[machine])
    assert outcome.differences() == []
    assert outcome.entries() > 500
    assert outcome.rtl.operations["partial_merge"] > 0


def test_all_elements_at_once_are_too(tmp_path):
    outcome = compared(tmp_path, written(tmp_path, 1, 20, 0.3), (), ("gamma.pe00", "gamma.pe01"))
    assert outcome.differences() == []
    assert not any("merger" in name for name in outcome.rtl.components)
    for label in (*(f"{port}[{i}]" for port in ("requests", "replies") for i in range(3)), "pages", "tasks"):
        assert sum(exercise.tokens[label] for exercise in outcome.exercised.values()) > 0


FAULTS = (
    (reader_rtl, "lowest", lambda flags: [*lowest(flags[::-1])][::-1], "requests[1]"),
    (prefetcher_rtl, "FETCH", READ, "requests[0]"),
    (writer_rtl, "WRITE_THROUGH", WRITE, "requests[2]"),
)


@pytest.mark.parametrize(("module", "name", "fault", "port"), FAULTS)
def test_planted_a_unit_that_asks_otherwise_is_told_with_port_and_cycle(
    module, name, fault, port, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, name, fault)
    outcome = compared(tmp_path, written(tmp_path, 3, 30, 0.3), ())
    assert outcome.differences()
    assert re.fullmatch(
        rf"gamma\.pe00: in cycle \d+, {re.escape(port)} is .* of the component, .* of the RTL",
        outcome.first_difference,
    )


def test_planted_a_line_of_wrong_elements_makes_the_product_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(Elements, "lane", lambda _, coordinate, value: pyrtl.concat(value ^ 1, coordinate))
    with pytest.raises(FailedRunError, match=r"with RTL at gamma\.pe00: the machine's product is wrong"):
        compared(tmp_path, written(tmp_path, 1, 20, 0.3), ())


# What a setting of the type alone needs, and how little of the machine is set then: as few as can be typed.
TYPES = {"integer": (), "float32": (), "bfloat16": ("format.element=8",), "float64": ("format.element=16",)}
FEW = ("pe.count=2", "pe.radix=4", "fibercache.banks=2")


def check_product(loop, folder):
    """The report is that of the event model, and the product to the last bit."""
    outcome = cosimulate(loop, PYRTL, folder)
    assert outcome.differences() == []
    assert outcome.rtl.operations["partial_merge"] > 0
    product = simulate("gamma", loop.a, settings=parse_settings(loop.settings)).result
    assert outcome.rtl.result.data.tolist() == product.data.tolist()
    return product.data


@pytest.mark.parametrize("values", TYPES)
def test_it_computes_with_values_of_a_type_to_the_last_bit(values, tmp_path):
    matrix = written(tmp_path, 5, 14, 0.5, whole=values == "integer")
    settings = (*FEW, f"value={values}", *TYPES[values])
    found = check_product(CosimRequest(("pe",), "gamma", matrix, settings=settings), tmp_path)
    assert (values == "integer") == (found == found.round()).all()


@pytest.mark.slow
def test_the_whole_machine_but_its_memory_computes_with_floats_as_it_is_shipped(tmp_path):
    matrix = written(tmp_path, 7, 10, 0.6, whole=False)
    check_product(CosimRequest((ALL,), "gamma", matrix, settings=(*FEW, "value=float32")), tmp_path)


REFUSED = {
    "format.element=12": "pe: no module reads fibers as they lie in memory; set format.element=8",
    "format.dense=both": "pe: no module reads fibers as they lie in memory; set format.dense=none",
    "format.pointer=8": "pe: no module reads fibers as they lie in memory; set format.pointer=4",
    "value=float64": "pe: no module reads fibers as they lie in memory; set format.element=16",
    "pe.row_reads=17": "pe: row_reads must be 2, 4, 8, 16 or 32, not 17",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_no_module_does_is_refused_by_name(setting, tmp_path):
    density = 1.1 if "dense" in setting else 0.3
    with pytest.raises(InputError, match=re.escape(REFUSED[setting])):
        compared(tmp_path, written(tmp_path, 1, 20, density), (setting,))


def test_values_that_are_not_whole_are_refused(tmp_path):
    matrix = Path(written(tmp_path, 1, 20, 0.3))
    matrix.write_text(re.sub(r" (-?\d)(\.0)?$", r" \1.5", matrix.read_text(), count=1, flags=re.M))
    with pytest.raises(InputError, match=r"gamma\.pe00: .*\.5 is no whole number of 32 bits"):
        compared(tmp_path, str(matrix), ())


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 13))])
def test_the_whole_machine_but_its_memory_is_the_event_model(seed, tmp_path):
    matrix = written(tmp_path, seed, 4 * seed, 0.3)
    settings = (*SMALL, "pe.radix=8", "memory.channels=2", "fibercache.size=16KiB")
    outcome = cosimulate(CosimRequest((ALL,), "gamma", matrix, settings=settings), PYRTL, tmp_path)
    assert outcome.differences() == []
    components = {name.partition(".")[2] for name in outcome.component.components}
    assert {name for name in components if not name.startswith(("memory.channel", "pe00.", "pe01."))} == {
        at.partition(".")[2] for at in outcome.instance_names if ".pe00" not in at and ".pe01" not in at
    }
