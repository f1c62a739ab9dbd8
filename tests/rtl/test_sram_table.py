"""The table of SRAMs: its own figures are met, between them and beyond are power laws and several of them."""

from typing import get_args

import pytest

from fiberscope.hw.rtl.tools.sram_table import CELLS, SramCells, estimate


def test_figures_of_the_table_are_met() -> None:
    """CACTI's 64 KiB of 512 bits; and EIE's published 5 pJ for 32 bits of 32 KiB within a quarter."""
    sram = estimate(64 * 1024, 512)
    assert sram.area_um2 == pytest.approx(222090, rel=1e-4)
    assert (sram.read_pj, sram.write_pj, sram.leakage_uw) == pytest.approx((35.335, 50.662, 1397.9), rel=1e-4)
    assert sram.access_pj == pytest.approx((35.335 + 50.662) / 2)
    assert estimate(32 * 1024, 32).read_pj == pytest.approx(5.0, rel=0.25)


def test_a_figure_between_two_is_on_their_power_law() -> None:
    low, high = estimate(16 * 1024, 512), estimate(32 * 1024, 512)
    middle = estimate(2**14.5, 512)
    assert middle.area_um2**2 == pytest.approx(low.area_um2 * high.area_um2)
    narrow, wide = estimate(64 * 1024, 128), estimate(64 * 1024, 512)
    assert estimate(64 * 1024, 256).read_pj ** 2 == pytest.approx(narrow.read_pj * wide.read_pj)


def test_larger_and_wider_srams_are_several() -> None:
    largest, wide = estimate(2**20, 512), estimate(2**20, 1024)
    deep = estimate(4 * 2**20, 512)
    assert (deep.area_um2, deep.leakage_uw) == pytest.approx((4 * largest.area_um2, 4 * largest.leakage_uw))
    assert (deep.read_pj, deep.access_ns) == pytest.approx((largest.read_pj, largest.access_ns))
    twice = estimate(2 * 2**20, 2048)
    assert (twice.area_um2, twice.write_pj) == pytest.approx((2 * wide.area_um2, 2 * wide.write_pj))


def test_a_small_sram_counts_as_the_smallest_of_its_word() -> None:
    assert estimate(56, 7) == estimate(256, 32)
    assert estimate(1, 512) == estimate(4096, 512)


@pytest.mark.parametrize("cells", get_args(SramCells))
def test_areas_hardly_depend_on_the_cells_and_leakage_does(cells: SramCells) -> None:
    own, default = estimate(64 * 1024, 512, cells), estimate(64 * 1024, 512, CELLS)
    assert own.area_um2 == pytest.approx(default.area_um2, rel=0.1)
    ratio = {"hp": 24.6, "lop": 1.0, "lstp": 0.0012}[cells]
    assert own.leakage_uw == pytest.approx(ratio * default.leakage_uw, rel=0.01)


def test_cells_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="no cells 'fast'; there are hp, lop, lstp"):
        estimate(1024, 32, "fast")  # type: ignore[arg-type]
