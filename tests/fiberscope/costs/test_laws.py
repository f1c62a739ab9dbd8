"""Laws of areas: held-out sizes are met within their intervals, and nothing is guessed without a law."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fiberscope.results.costs import laws
from fiberscope.results.costs.laws import find_netlist_area
from fiberscope.results.costs.netlists import PRICED, read_measured_netlists

MERGERS = [f"merger(radix={radix}, stages=6)" for radix in (16, 32)]


@pytest.fixture
def without(monkeypatch):
    """Return a function that hides a measured netlist."""

    def hide(call):
        rest = {key: row for key, row in read_measured_netlists().items() if key[0] != call}
        monkeypatch.setattr(laws, "read_measured_netlists", lambda: rest)

    return hide


@pytest.mark.parametrize("call", MERGERS)
def test_a_merger_that_was_held_out_is_met_within_one_per_cent(without, call):
    measured = read_measured_netlists()[call, PRICED]
    assert find_netlist_area(call).basis == "measured"
    without(call)
    area = find_netlist_area(call)
    assert area.basis == "law"
    assert area.um2 == pytest.approx(measured.um2, rel=0.01)
    assert area.flip_flops == pytest.approx(measured.flip_flops, rel=0.1)
    assert "line through sizes" in area.source


def test_a_crossbar_grows_with_the_product_of_its_ports_within_its_interval():
    """16 ports and no line take 35,191 um2 in nangate45, which was measured and does not ship."""
    area = find_netlist_area("crossbar(inputs=16, outputs=16)")
    assert area.um2 < 35_191 * 1.001
    assert area.upper > 35_191 * 0.999


def test_areas_grow_with_the_size_from_one_way_on():
    areas = [find_netlist_area(f"merger(radix={radix}, stages=6)") for radix in range(2, 65)]
    assert all(area.upper >= area.um2 > 0 for area in areas)
    assert all(less.um2 < more.upper for less, more in pairwise(areas))


def test_a_netlist_of_other_cells_is_converted_with_an_interval():
    """The ratio of both libraries is between 21.7 and 36.3 in all blocks that were measured in both."""
    rows = read_measured_netlists()
    both = [(rows[call, "osu018"], row) for (call, name), row in rows.items() if (call, "osu018") in rows]
    ratios = [other.um2 / row.um2 for other, row in both if row.library == PRICED]
    assert len(ratios) >= 8
    assert laws.FROM_OSU018[1] <= min(ratios)
    assert max(ratios) <= laws.FROM_OSU018[0]


def test_a_size_in_other_cells_goes_before_a_law_of_one_size():
    assert "osu018" in find_netlist_area("adder_network(leaves=64)").source
    assert "proportional to size" in find_netlist_area("adder_network(leaves=48)").source


@pytest.mark.parametrize("call", ["nothing(ways=4)", "merger(radix=some, stages=6)", "regor(words=8)"])
def test_a_block_without_a_law_has_no_area(call):
    assert find_netlist_area(call) is None


def test_the_interval_grows_with_the_distance_from_what_was_measured():
    near, far = (
        find_netlist_area(f"crossbar(inputs={ports}, line_bits=512, outputs={ports})") for ports in (12, 48)
    )
    assert far.upper / far.um2 > near.upper / near.um2 > 1.08


def test_a_measured_size_whose_parameters_are_defaults_is_in_no_law(monkeypatch):
    row = read_measured_netlists()["crossbar(inputs=8, outputs=8)", PRICED]
    other = replace(row, call="crossbar(inputs=6, route=port)")
    expected = find_netlist_area("crossbar(inputs=16, outputs=16)")
    rows = {**read_measured_netlists(), (other.call, PRICED): other}
    monkeypatch.setattr(laws, "read_measured_netlists", lambda: rows)
    assert find_netlist_area("crossbar(inputs=16, outputs=16)") == expected
    assert other not in [*laws.iterate_netlists_up_to("crossbar(inputs=16, outputs=16)")]


@pytest.mark.parametrize(
    ("radix", "um2", "upper"),
    [
        (1, 7.0, 7.0 * 1.02**2),  # a law has an error for each doubling, to either side
        (3, 13.0, 13.0 * 1.02),
        (6, 22.0, 22.0 * 1.02),
        (16, 268.0, 268.0 * 1.02),
        (32, 604.0, 604.0 * 1.02**2),
    ],
)
def test_an_area_is_on_the_line_through_the_two_next_smaller_sizes(monkeypatch, radix, um2, upper):
    row = read_measured_netlists()[MERGERS[0], PRICED]
    areas = {2: 10.0, 4: 16.0, 8: 100.0}
    rows = [
        replace(row, call=f"merger(radix={size}, stages=6)", um2=area, flip_flops=3 * size)
        for size, area in areas.items()
    ]
    monkeypatch.setattr(laws, "read_measured_netlists", lambda: dict(enumerate(rows)))
    area = find_netlist_area(f"merger(radix={radix}, stages=6)")
    assert (area.um2, area.upper, area.flip_flops) == pytest.approx((um2, upper, 3 * radix))
    for size, measured in areas.items():
        same = find_netlist_area(f"merger(radix={size}, stages=2)")  # the law ignores stages
        assert (same.um2, same.basis) == (measured, "law")


def test_an_area_in_other_cells_is_at_least_what_the_larger_ratio_leaves():
    area = find_netlist_area("adder_network(leaves=64)")
    row = read_measured_netlists()["adder_network(leaves=64)", "osu018"]
    assert (area.um2, area.upper) == pytest.approx((row.um2 / 36.3, row.um2 / 21.7))
