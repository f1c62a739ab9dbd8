"""Sampled runs of machines from specifications: which can be sampled, merged elements, and warm stores."""

import re
from pathlib import Path

import numpy as np
import pytest

import fiberscope
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.models.from_spec.sampling import _WarmStores
from fiberscope.run.configure import resolve_run
from fiberscope.run.find_machine import find

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
MINIMAL = (EXAMPLES / "minimal.yaml").read_text(encoding="utf-8")
MATRIX = "uniform:rows=40,cols=40,nonzeros=200"
REQUEST = Sample(windows=6, window_cycles=100)


def inputs_of(machine, settings, matrix=MATRIX):
    accelerator = find(str(machine))
    entries = {key: Entry(value, "settings") for key, value in settings.items()}
    ready = resolve_run(accelerator, entries, None, None)
    problem = ready.maker.load(matrix, None, False, lambda *_: None, {})
    return accelerator, (ready.configured, *problem.machine_inputs())


def refused(machine, settings, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        fiberscope.simulate(str(machine), MATRIX, settings=settings, sample=REQUEST)


@pytest.mark.parametrize(
    ("machine", "settings", "message"),
    [
        (EXAMPLES / "outer.yaml", {}, "rows of A, and the outermost loop K is summed over"),
        (EXAMPLES / "inner.yaml", {}, "rows of A, and B row by row, not by N, K"),
        ("spec:extensor", {}, "rows of A, and the outermost loop N2 is not of A"),
        ("spec:outerspace", {"tile.count": 1, "l1.count": 1}, "rows of A, and this machine runs 2 stages"),
        ("spec:gamma", {"timing.dispatch": "coordinate"}, "timing.dispatch other than coordinate"),
    ],
)
def test_a_machine_whose_tasks_are_not_rows_of_a_is_refused(machine, settings, message):
    refused(machine, settings, message)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("space: [M], time: [K, N]", "space: [], time: [M, K, N]", "rows of A, and no loop is in space"),
        (
            "loop-order: {Z: [M, K, N]}\n  spacetime: {Z: {space: [M], time: [K, N]}}",
            "partitioning: {Z: {M: [uniform_shape(4)]}}\n"
            "  loop-order: {Z: [M1, K, M0, N]}\n  spacetime: {Z: {space: [M1], time: [K, M0, N]}}",
            "rows of A, and other loops are between those of M",
        ),
        ("PES: 4}", "PES: 4}\n", "one copy of Cache, not 4"),
    ],
)
def test_a_specification_of_the_same_product_is_refused_where_parts_of_a_do_not_stand_for_it(
    before, after, message, tmp_path
):
    text = MINIMAL.replace(before, after)
    assert text != MINIMAL
    text = text.replace("evict-on: M}", "evict-on: M1}") if "M1" in after else text
    if "copy" in message:  # a cache for each processing element
        cache = "        - {name: Cache, class: Cache, attributes: {width: 64, depth: 4096}}\n"
        buffer = "            - {name: Buffer"
        text = text.replace(cache, "").replace(buffer, f"    {cache}{buffer}")
    file = tmp_path / "other.yaml"
    file.write_text(text, encoding="utf-8")
    refused(file, {}, message)


@pytest.mark.parametrize("radix", [2, 3, 64])
def test_the_merged_elements_of_rows_are_those_of_the_run(radix):
    accelerator, inputs = inputs_of("spec:gamma", {"pe.count": 2, "pe.radix": radix})
    tasks = accelerator.sampler(*inputs, REQUEST, lambda *_: None).tasks
    machine = accelerator.models["event"](*inputs)
    machine.kernel.run()
    assert tasks.operation == "merge"
    assert tasks.counts.sum() == machine.operations()["merge"]


@pytest.mark.parametrize("machine", ["spec:gamma", "spec:gamma-figure", EXAMPLES / "row_wise.yaml"])
def test_a_functional_store_misses_as_often_as_the_run_of_one_instance(machine):
    settings = (
        {"PES": 1}
        if isinstance(machine, Path)
        else {"pe.count": 1, "fibercache.banks": 4, "fibercache.size": "4 KiB"}
    )
    accelerator, inputs = inputs_of(machine, settings, "uniform:rows=120,cols=120,nonzeros=700")
    model = accelerator.models["event"](*inputs)
    model.kernel.run()
    fresh = accelerator.models["event"](*inputs)
    rows = inputs[1].operands["A"].matrix
    stores = _WarmStores(fresh, rows)
    for row in (40, 40, 120):
        stores.advance(row)
    stores.warm()
    ((banks, cache, _),) = stores.stores.values()
    ran = [each for each in model.kernel.components if each.name in {bank.name for bank in banks}]
    assert cache.read_misses == pytest.approx(sum(bank.read_misses for bank in ran), rel=0.05)
    assert 0 < cache.read_misses < cache.reads
    assert stores.missed_bytes == 64 * cache.read_misses
    lines = [np.sort(np.asarray(bank.tags.lines)) for bank in banks]
    expected = [np.sort(each.ravel()) for each in cache.state().lines]
    assert all((one == other).all() for one, other in zip(lines, expected, strict=True))
