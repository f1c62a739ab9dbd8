"""What a ``costs.yaml`` says, worked out by hand, and what is said of one that cannot be."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from one_line import one_line

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.hw.rtl.tools.sram_table import estimate
from fiberscope.results.costs import netlists
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.prices import netlist_calls, price_machine
from fiberscope.sim.partial_files import partial

HEAD = "technology: 45 nm\nvoltage: 0.9 V\n"
PE = HEAD + "parts: {pe: {source: s, "
PARAMETERS = {"pe.radix": 8, "queues.size": 32768, "name": "text"}


def prices(folder: Path, text: str, parameters=PARAMETERS, machine="mine"):
    path = folder / "costs.yaml"
    path.write_text(text)
    return price_machine(read_cost_file(path), parameters, machine)


def pj(costs):
    """The energies of actions, in pJ."""
    return {name: cost.lower for name, cost in costs.items()}


def um2(part):
    return sum(cost.lower for cost in part.areas.values())


def unmeasured(part):
    return [name for name, cost in part.areas.items() if cost.basis == "none"]


def test_an_action_is_its_energies(tmp_path):
    text = (
        HEAD + "parts: {pe: {source: s, actions: {merged: '${pe.radix - 5} * Merger.merge + Compute.add'}}}\n"
    )
    assert pj(prices(tmp_path, text).parts["pe"].actions) == {"merged": pytest.approx(3 * 0.605 + 1.99)}


def test_an_sram_costs_an_access_and_an_area(tmp_path):
    """Four of 32 KiB with words of 64 bits, as the table of SRAMs has them."""
    sram = "{size: '${queues.size}', word: 64, count: 4}"
    text = PE + f"srams: {{data: {sram}}}, actions: {{pushed: 2 * data}}}}}}\n"
    part = prices(tmp_path, text).parts["pe"]
    sram = estimate(32768, 64)
    assert pj(part.actions) == {"pushed": pytest.approx(sram.read_pj + sram.write_pj)}
    assert um2(part) == pytest.approx(4 * sram.area_um2)


def test_areas_of_the_table_are_there_as_often_as_is_said(tmp_path):
    text = (
        HEAD
        + "parts: {pe: {source: s, count: 2, area: 'mul64 + (${pe.radix} - 1) * add64 + 96 * register'}}\n"
    )
    assert um2(prices(tmp_path, text).parts["pe"]) == pytest.approx(2 * (22300 + 7 * 9880 + 96 * 5.98))


def test_a_netlist_is_looked_up_and_scaled(tmp_path):
    """``intersector`` of four words takes 3,771 um2 of cells, at most twice that in a layout."""
    text = PE + "rtl: ['intersector(words=${pe.radix / 2})', 'regor(words=63)']}}\n"
    text = text.replace("45 nm", "32 nm")
    part = prices(tmp_path, text).parts["pe"]
    area = part.areas["intersector(words=4)"]
    assert (area.lower, area.upper) == pytest.approx((0.46 * 3770.55, 0.46 * 2 * 3770.55), rel=1e-4)
    assert unmeasured(part) == ["regor(words=63)"]
    assert (part.clock.upper, part.leakage.upper) == (None, None)
    assert netlist_calls(read_cost_file(tmp_path / "costs.yaml"), PARAMETERS) == [
        "intersector(words=4)",
        "regor(words=63)",
    ]


def test_clock_and_leakage_follow_from_flip_flops_and_cells(tmp_path):
    """128 flip-flops of the netlist and 64 registers; 22 mW/mm2 of cells, 1.4 mW of 64 KiB."""
    sram = "srams: {data: {size: 65536, word: 512, count: 2}}"
    text = PE + f"count: 3, rtl: ['intersector(words=4)'], area: 64 * register, {sram}}}}}\n"
    part = prices(tmp_path, text).parts["pe"]
    assert part.clock.lower == pytest.approx(3 * (128 + 64) * 0.0059)
    cells = 3770.55 + 64 * 5.98
    assert part.leakage.lower == pytest.approx(3 * (22e-9 * cells + 2 * 1397.9e-6), rel=1e-4)
    assert part.leakage.upper == pytest.approx(3 * (3.7 * 22e-9 * cells + 2.61 * 2 * 1397.9e-6), rel=1e-4)


def test_an_area_may_be_an_interval_and_a_part_no_component(tmp_path):
    text = HEAD + "besides: {host: {source: s, area: 2 * register, area_upper: 3 * register}}\n"
    text += "parts: {net: {source: s, actions: {transfers: 64 * Wire.millimetre}}}\n"
    found = prices(tmp_path, text)
    (area,) = found.besides["host"].areas.values()
    assert (area.lower, area.upper) == pytest.approx((2 * 5.98, 3 * 5.98))
    assert pj(found.parts["net"].wires) == {"transfers": pytest.approx(64 * 0.2 * 0.81 / 4)}
    assert found.has_wires
    assert not prices(tmp_path, HEAD).has_wires
    with pytest.raises(ConfigurationError, match="area_upper needs an area"):
        prices(tmp_path, PE + "area_upper: 3}}\n")


def test_the_type_of_cells_of_srams_is_a_setting(tmp_path):
    sram = "srams: {data: {size: 65536, word: 512}}, actions: {hit: data.read, miss: data.write}}}\n"
    low, high = (prices(tmp_path, f"leakage: {cells}\n{PE}{sram}").parts["pe"] for cells in ("lop", "hp"))
    assert pj(low.actions) == pytest.approx({"hit": 35.335, "miss": 50.662}, rel=1e-4)
    assert high.leakage.lower == pytest.approx(34365e-6, rel=1e-4)
    with pytest.raises(ConfigurationError, match="leakage"):
        prices(tmp_path, f"leakage: fast\n{PE}{sram}")


def test_the_users_own_table_is_looked_into_too(tmp_path, monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path))
    columns = "call,library,um2,cells,flip_flops,memory_bits,path_ns,digest,yosys\n"
    damaged = "merger(radix=62),nangate45,19\nmerger(radix=61),nangate45,x,9,1,0,1.5,0,1\n\x00\n"
    unknown = "merger(radix=62),mine,1900,9,1,0,1.5,0,1\n"
    row = "merger(radix=63),nangate45,1900,9,1,0,1.5,0,1\n"
    netlists.user_table().write_bytes(f"{columns}{damaged}{unknown}{row}".encode() + b"\xff\n")
    text = PE + "rtl: ['merger(radix=63)']}}\n"
    part = prices(tmp_path, text).parts["pe"]
    assert (um2(part), unmeasured(part)) == (pytest.approx(1900.0), [])


def test_all_but_memory_is_scaled(tmp_path):
    text = "technology: 32 nm\nvoltage: 0.9 V\nmemory: {read: HBM2.read, write: 2 * HBM2.write}\n"
    text += "operations: {multiply: Compute.mul}\n"
    text += "parts: {pe: {source: s, actions: {add: Compute.add}, area: add64}}\n"
    found = prices(tmp_path, text)
    assert pj(found.memory) == {"read": 3.9, "write": 7.8}
    assert pj(found.operations) == {"multiply": pytest.approx(18.04 * 0.457137 / 0.69885)}
    assert pj(found.parts["pe"].actions) == {"add": pytest.approx(1.99 * 0.457137 / 0.69885)}
    assert um2(found.parts["pe"]) == pytest.approx(9880 * 0.46)


def test_energies_of_a_machine_go_before_those_of_any(tmp_path):
    text = HEAD + "memory: {read: MainMemory.read, write: MainMemory.write}\n"
    assert prices(tmp_path, text, machine="gamma").memory["read"].lower == 3.9
    assert prices(tmp_path, text, machine="mine").memory["read"].lower == 8.0


def test_a_family_goes_before_a_pattern_and_the_first_pattern_counts(tmp_path):
    part = "{{source: s, actions: {{add: {}}}}}"
    names = {"'*.alu'": 1, "pe.alu": 2, "'pe.*'": 3}
    text = HEAD + "parts:\n" + "".join(f"  {name}: {part.format(each)}\n" for name, each in names.items())
    found = prices(tmp_path, text)
    families = ("pe.alu", "tile.alu", "pe.other", "pe.lane.alu", "other")
    assert [one and one.actions["add"].lower for one in map(found.find_part, families)] == [2, 1, 3, 1, None]


def test_what_is_kept_is_read_again_and_a_change_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "cache"))
    text = PE + "actions: {add: 1.5}}}\n"
    assert prices(tmp_path, text).parts["pe"].actions["add"].lower == 1.5
    (kept,) = (tmp_path / "cache" / "costs").iterdir()
    changed = kept.read_bytes().partition(b"\n")[2].replace(b'"3/2"', b'"7"')
    kept.write_bytes(hashlib.sha256(changed).hexdigest().encode() + b"\n" + changed)
    read_cost_file.__globals__["_load_cost_file"].cache_clear()
    assert prices(tmp_path, text).parts["pe"].actions["add"].lower == 7.0
    assert prices(tmp_path, text.replace("1.5", "2")).parts["pe"].actions["add"].lower == 2.0


@pytest.mark.parametrize("table", ["ENERGIES", "AREAS"])
def test_a_change_of_a_shipped_table_is_seen(tmp_path, monkeypatch, table):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "cache"))
    tables = read_cost_file.__globals__
    copy = tmp_path / "table.yaml"
    copy.write_bytes(tables[table].read_bytes())
    monkeypatch.setitem(tables, table, copy)
    text = PE + "actions: {add: 1.5}}}\n"
    for _ in range(2):
        tables["_load_cost_file"].cache_clear()
        prices(tmp_path, text)
        copy.write_bytes(copy.read_bytes() + b"# changed\n")
    assert len(list((tmp_path / "cache" / "costs").iterdir())) == 2


@pytest.mark.parametrize("old", [b'"3/2"', b"1", b"", b"\n"])
def test_what_is_kept_and_was_changed_is_made_anew(tmp_path, monkeypatch, old):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "cache"))
    text = PE + "actions: {add: 1.5}}}\n"
    prices(tmp_path, text)
    (kept,) = (tmp_path / "cache" / "costs").iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content.replace(old, b'"7"') if old else b"")
    read_cost_file.__globals__["_load_cost_file"].cache_clear()
    assert prices(tmp_path, text).parts["pe"].actions["add"].lower == 1.5
    assert [file.read_bytes() for file in kept.parent.iterdir()] == [content]


def test_what_a_killed_process_left_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path / "cache"))
    text = PE + "actions: {add: 1.5}}}\n"
    prices(tmp_path, text)
    (kept,) = (tmp_path / "cache" / "costs").iterdir()
    kept.unlink()
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = partial(kept, "x")
    left.with_name(left.name.replace(f".{os.getpid()}x", f".{dead.pid}.x")).write_bytes(b"half")
    read_cost_file.__globals__["_load_cost_file"].cache_clear()
    prices(tmp_path, text)
    assert [file.name for file in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("voltage: 0.9 V\n", ": technology is missing"),
        (
            "technology: 45\nvoltage: 0.9 V\n",
            ":1:13: technology is 45; it should be a number with its unit, such as 45 nm",
        ),
        (
            "technology: 3 nm\nvoltage: 0.9 V\n",
            ":1:13: technology is 3 nm; it should be greater than or equal to 7",
        ),
        (
            "technology: 150 nm\nvoltage: 0.6 V\n",
            ": the file: above 130 nm, the equations hold from 0.73 V on, not at 0.6 V",
        ),
        (HEAD + "part: {}\n", ":3:1: there is no part; did you mean parts?"),
        (HEAD + "parts: {pe: {actions: {add: 1}}}\n", ":3:13: parts.pe.source is missing"),
        (PE + "rtl: [merger]}}\n", ":3:31: parts.pe.rtl.0 is merger; "),
        (PE + "actions: {add: 1 +}}}\n", ":3:40: "),
        (PE + "actions: {add: Compute.ad}}}\n", ":3:40: there is no Compute.ad; did you mean Compute.add"),
        (PE + "actions: {add: name}}}\n", ":3:40: name is text; it should be a number"),
        (PE + "area: 1 / (pe.radix - 8)}}\n", ":3:31: it divides by zero"),
        (PE + "srams: {d: {size: 0, word: 8}}}}\n", ":3:43: it is 0; it should be more than 0"),
        (PE + "area: add65}}\n", ":3:31: there is no add65; did you mean add64"),
    ],
)
def test_a_file_that_cannot_be_costs_one_line(tmp_path, text, message):
    with one_line(ConfigurationError, f"costs.yaml{message}"):
        prices(tmp_path, text)
