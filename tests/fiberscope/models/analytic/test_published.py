"""The designs that ship beside what Sparseloop published of them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from fiberscope import cli
from fiberscope.models.analytic.api import analyze
from fiberscope.models.analytic.inputs import list_designs
from fiberscope.models.analytic.lanes import share_of_steps
from published.sparseloop import DESIGNS, sparseloop


@pytest.mark.parametrize("name", list_designs())
def test_every_design_that_ships_can_be_had(name):
    report = analyze(name)
    assert report.cycles > 0
    assert report.analytical.compute.actual > 0


def test_the_published_numbers():
    figures = {row.run.partition(", ")[0] for row in sparseloop()}
    assert figures == {"Fig. 1", "Fig. 12", "Fig. 13", "Table VII", "Sec. VI"}
    for row in sparseloop():
        if row.figure in (
            "cycles",
            "cycles by format",
            "time over dense",
            "speedup over dense",
            "data words of DRAM",
            "cycles, mode=timeloop",
        ):
            assert row.error == pytest.approx(0, abs=3e-4), row


def test_formats_cross_where_the_figure_has_them_cross():
    """Lists take less energy at 4 % of nonzeros and more at 8 %, less time at 40 % and more at 80 %."""
    ours = {(row.run, row.figure): row.ours for row in sparseloop()}
    for what, last, first in (("energy, uJ", 0.04, 0.08), ("cycles by format", 0.4, 0.8)):
        for share, better in ((last, True), (first, False)):
            listed, masked = (
                ours[f"Fig. 1, {kind}, density {share}", what] for kind in ("coordinate lists", "bitmasks")
            )
            assert (listed < masked) == better


def test_compression_rounds_to_what_the_table_prints():
    found = [row for row in sparseloop() if row.figure == "compression of DRAM's traffic"]
    assert len(found) == 5
    assert [round(row.ours, 1) for row in found] == [row.published for row in found]


def layer_files(layer):
    return DESIGNS / "eyeriss.yaml", DESIGNS / f"alexnet_conv{layer}.yaml"


@pytest.mark.parametrize("layer", [2, 3, 4, 5])
def test_each_nonzero_that_is_read_brings_one_run_though_tiles_overlap(layer):
    inputs = analyze(*layer_files(layer)).levels["DRAM"].tensors["Inputs"]
    assert inputs.format_reads.actual[0][0] == pytest.approx(inputs.reads.actual, abs=1)


@pytest.mark.parametrize(("layer", "served"), [(2, 13_762_560), (3, 3_594_240)])
def test_windows_bring_in_the_words_that_the_artifact_counts(layer, served):
    """From the global buffer to the scratchpads of all columns and rows."""
    report = analyze(*layer_files(layer), settings={"windows": "new"})
    assert report.levels["SharedBuffer"].tensors["Inputs"].reads.algorithmic == served


def test_a_sparse_tensor_core_takes_half_the_time_of_a_dense_one():
    assert sparseloop()[-1].ours == 2


def test_an_effectual_product_takes_a_cycle():
    inputs, weights = np.ceil(0.73 * 64 * 32 * 32), np.ceil(0.52 * 64 * 64)
    assert analyze("eyeriss_v2_pe").cycles == pytest.approx(inputs * weights / 64, abs=2)


@given(st.integers(1, 40), st.floats(0.01, 1), st.integers(1, 20))
def test_packed_lanes_take_the_mean_of_whole_steps(elements, density, lanes):
    expected = sum(
        binom.pmf(nonzeros, elements, density) * -(-nonzeros // lanes) for nonzeros in range(elements + 1)
    )
    assert share_of_steps(elements, density, lanes) == pytest.approx(expected * lanes / elements)


def test_lanes_that_lose_nothing():
    for mode in ("exact", "artifact"):
        assert share_of_steps(32, 1.0, 8, mode) == pytest.approx(1)
        assert share_of_steps(32, 0.3, 1, mode) == pytest.approx(0.3, rel=1e-4)


def test_the_command(tmp_path):
    path = tmp_path / "rows.json"
    assert cli.run(["compare", "sparseloop", "--json", str(path)]) == 0
    assert [row["ours"] for row in json.loads(path.read_text())] == [row.ours for row in sparseloop()]
