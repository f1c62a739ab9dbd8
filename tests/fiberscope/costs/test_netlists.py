"""The table of netlists: what ships is what Yosys gives, and what is measured once stays."""

import pytest
from optional_programs import needs

from fiberscope.base.errors import InputError
from fiberscope.results.costs.netlists import LIBRARY, SHIPPED_NETLISTS, call_of, read_netlists

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

from fiberscope.rtl.netlists import parse_call, update_table

pytestmark = needs("yosys", "cells")
CHANNEL = "channel(capacity=2)"


def test_what_has_been_measured_stays_until_its_verilog_is_another(tmp_path):
    table, said = tmp_path / "netlists.csv", []
    (first,) = update_table([parse_call(CHANNEL)], table, said.append)
    assert (first.call, said) == (CHANNEL, [f"{CHANNEL}: synthesizing"])
    assert first.um2 > 0
    assert update_table([parse_call(CHANNEL)], table, said.append) == [first]
    assert len(said) == 1
    table.write_text(table.read_text().replace(first.digest, "0"))
    assert update_table([parse_call(CHANNEL)], table, said.append) == [first]
    assert len(said) == 2
    assert read_netlists(table) == {(CHANNEL, LIBRARY): first}


def test_a_stale_row_of_either_table_does_not_hide_the_row_of_the_other(tmp_path, monkeypatch):
    table, said = tmp_path / "netlists.csv", []
    (first,) = update_table([parse_call(CHANNEL)], table, said.append)
    stale = tmp_path / "stale.csv"
    stale.write_text(table.read_text().replace(first.digest, "0"))
    for shipped, own in ((table, stale), (stale, table)):
        monkeypatch.setattr("fiberscope.rtl.netlists.SHIPPED_NETLISTS", shipped)
        assert update_table([parse_call(CHANNEL)], own, said.append) == [first]
    assert len(said) == 1


def test_a_table_of_other_columns_is_measured_anew(tmp_path):
    table = tmp_path / "netlists.csv"
    table.write_text("call,um2,digest,yosys\nchannel(capacity=2),1,0,0.70\n")
    assert read_netlists(table) == {}
    (found,) = update_table([parse_call(CHANNEL)], table, lambda _line: None)
    assert read_netlists(table) == {(CHANNEL, LIBRARY): found}
    assert found.path_ns > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("marger(radix=2)", "no block marger"),
        ("channel(capacity=0)", "capacity"),
        ("channel(size=2)", "size"),
        ("channel(capacity=2,4)", "capacity=2,4"),
    ],
)
def test_what_is_no_block_costs_a_line(tmp_path, call, message):
    with pytest.raises(InputError, match=message) as caught:
        update_table([parse_call(call)], tmp_path / "netlists.csv", print)
    assert "\n" not in str(caught.value)


def test_a_machine_without_costs_costs_a_line(toy, refusal):
    assert "costs.yaml, which lists what is measured" in refusal("rtl", "netlists", toy)


def test_a_block_with_parameters_is_written_in_one_way():
    assert call_of("merger", {"stages": 6, "radix": 8}) == "merger(radix=8, stages=6)"


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", [call for call, library in read_netlists(SHIPPED_NETLISTS) if library == LIBRARY]
)
def test_what_ships_is_what_is_measured(tmp_path, call):
    (found,) = update_table([parse_call(call)], tmp_path / "netlists.csv", print)
    assert found == read_netlists(SHIPPED_NETLISTS)[call, LIBRARY]


def test_cells_of_a_technology_that_is_not_on_record_cost_a_line(tmp_path):
    cells = tmp_path / "mine.lib"
    cells.write_text("library (mine) {}")
    with pytest.raises(InputError, match=r"mine\.lib: its technology is not known.*nangate45, osu018"):
        update_table([parse_call(CHANNEL)], tmp_path / "netlists.csv", print, str(cells))
