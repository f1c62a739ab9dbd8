"""Energies: what a table says, what a run's actions add up to, and what is said of a table that cannot be."""

import math
from pathlib import Path

import numpy as np
import pytest

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.trace.api import model
from fiberscope.models.trace.energy import ActionTotal, Energy, compute_energy
from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.load import load
from fiberscope.models.trace.model import Model
from fiberscope.results.costs.energies import ActionEnergy, EnergyTable, load_default_table, read_table
from fiberscope.workloads.fibertree import FiberTree

ERT = """ERT:
  version: "0.4"
  tables:
    - name: design.PE[0..127].FPMul
      actions:
        - name: mul
          energy: 5
        - name: mul
          arguments: {data_delta: 0}
          energy: 1
    - name: design.MainMemory
      actions:
        - {name: read, energy: 64, bits: 8}
"""


CSV = "component,event,picojoules\n"


@pytest.fixture(scope="module")
def ran():
    """Gamma on small matrices: its specification, counts and runs."""
    specification = load("gamma")
    points = np.array([(k, (3 * k) % 7) for k in range(7)] + [(2, m) for m in range(6)]).T
    a = FiberTree.from_coo({"K": 7, "M": 7}, points, np.ones(13))
    b = FiberTree.from_coo({"K": 7, "N": 7}, points, np.ones(13))
    counting = Model(specification)
    outcome = run(specification, {"A": a, "B": b}, counting.observe)
    return specification, counting.metrics(outcome), outcome.runs


def by_component(found):
    energies = {}
    for item in found.items:
        if item.cost.is_known:
            energies[item.component] = energies.get(item.component, 0.0) + item.cost.lower
    return energies


def test_what_all_actions_take_adds_up_in_every_way(ran):
    found = compute_energy(*ran, load_default_table())
    assert found.unknown == []
    whole = sum(each.picojoules for each in found.totals)
    assert sum(by_component(found).values()) == pytest.approx(whole)
    assert sum(found.by_einsum.values()) == pytest.approx(whole)
    moved = sum(each.picojoules for each in found.totals if each.tensor)
    assert 0 < sum(found.by_tensor.values()) == pytest.approx(moved)


def test_what_several_einsums_take_of_a_component_adds_up():
    entry = ActionEnergy(2.0)
    spent = [
        ActionTotal("T", "Mem", "A", "read", 3, entry),
        ActionTotal("Z", "Mem", "A", "read", 4, entry),
        ActionTotal("Z", "Mem", "B", "read", 5, entry),
        ActionTotal("Z", "Mul", "", "mul", 6, entry),
    ]
    found = Energy("hand", spent, frozenset({"Mem"}))
    known = {
        (item.component, item.action, item.kind): item.cost.lower
        for item in found.items
        if item.cost.is_known
    }
    assert known == {
        ("Mem", "read A", "memory"): 14.0,
        ("Mem", "read B", "memory"): 10.0,
        ("Mul", "mul", "dynamic"): 12.0,
    }
    assert (found.by_tensor, found.by_einsum) == ({"A": 14.0, "B": 10.0}, {"T": 6.0, "Z": 30.0})


def test_a_run_takes_its_counts_times_their_energies(ran):
    _, metrics, runs = ran
    found = compute_energy(*ran, load_default_table())
    bits = sum(
        bits
        for einsum in ("T", "Z")
        for name, tensor in metrics[einsum]["MainMemory"].items()
        if name != "time"
        for bits in tensor.values()
    )
    matches = runs[0].bodies["K"]
    assert by_component(found)["MainMemory"] == pytest.approx(3.9 * bits)
    assert by_component(found)["FPMul"] == pytest.approx(18.04 * metrics["Z"]["FPMul"]["mul"])
    tried = metrics["T"]["Intersect"]["intersect"]
    assert by_component(found)["Intersect"] == pytest.approx(24.26 * tried + 0.576 * matches)
    assert by_component(found)["HighRadixMerger"] == pytest.approx(
        0.605 * metrics["Z"]["HighRadixMerger"]["T_MKN"]
    )


def test_a_table_of_ones_own_takes_the_place(ran, tmp_path):
    path = tmp_path / "ert.yaml"
    path.write_text(ERT)
    found = compute_energy(*ran, read_table(path))
    _, metrics, _ = ran
    read = sum(metrics["T"]["MainMemory"][name]["read"] for name in "AB")
    assert by_component(found)["FPMul"] == 5 * metrics["Z"]["FPMul"]["mul"]
    assert by_component(found)["MainMemory"] == pytest.approx(64 * read / 8)
    assert "MainMemory.write" in found.unknown


def test_bits_that_do_not_fill_an_access_take_a_whole_one(ran):
    """Of each tensor, read and written, in each Einsum: 1,000 bits an access."""
    table = EnergyTable("wide", {"DRAM": dict.fromkeys(("read", "write"), ActionEnergy(1.0, 1000))})
    _, metrics, _ = ran
    bits = [
        number
        for einsum in ("T", "Z")
        for tensor, moved in metrics[einsum]["MainMemory"].items()
        if tensor != "time"
        for number in moved.values()
    ]
    assert any(number % 1000 for number in bits)
    found = compute_energy(*ran, table)
    assert by_component(found)["MainMemory"] == sum(math.ceil(number / 1000) for number in bits)


def test_what_rtl_power_writes_is_a_table(tmp_path):
    path = tmp_path / "power.csv"
    path.write_text("component,event,count,picojoules,source,conditions\nMerger,merge,9,1.5,cells,45 nm\n")
    assert read_table(path).find("gamma", "HighRadixMerger", "Merger", "merge") == ActionEnergy(
        1.5, None, "cells"
    )


def test_the_nearest_entry_counts():
    entries = [("Merger", 1.0), ("HighRadixMerger", 2.0), ("gamma.HighRadixMerger", 3.0)]
    table = EnergyTable("", {owner: {"merge": ActionEnergy(number)} for owner, number in entries})
    assert table.find("gamma", "HighRadixMerger", "Merger", "merge") == ActionEnergy(3.0)
    assert table.find("other", "HighRadixMerger", "Merger", "merge") == ActionEnergy(2.0)
    assert table.find("other", "SortHW", "Merger", "merge") == ActionEnergy(1.0)
    assert table.find("other", "SortHW", "Sorter", "merge") is None


def test_every_number_of_the_table_has_its_source():
    entries = [one for actions in load_default_table().components.values() for one in actions.values()]
    assert len(entries) > 30
    assert [one for one in entries if one.source in ("", "energies.yaml")] == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.yaml",
            "ERT: {tables: [{name: x, actions: [{name: read, energy: -1}]}]}",
            "greater than or equal",
        ),
        ("a.yaml", "tables: []", "ERT is missing"),
        ("a.yaml", "ERT: [", "not YAML"),
        ("a.csv", "component,event\nx,y\n", ":1: a table of energies needs a column picojoules"),
        ("a.csv", CSV + "x,y,many\n", "from 0 on, not many"),
        ("a.csv", CSV + "x,y,nan\n", "from 0 on, not nan"),
        ("a.csv", CSV + "\nx,y,1\n\nx,z,-1\n", ":5: "),
    ],
)
def test_a_table_that_cannot_be_costs_one_line(tmp_path: Path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_table(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_costs_one_line(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read"):
        read_table(tmp_path / "none.yaml")


def test_a_report_has_the_energy_of_its_run(tmp_path):
    path = tmp_path / "ert.yaml"
    path.write_text(ERT)
    report = model("gamma", "uniform:rows=30,cols=30,nonzeros=90", settings={"energies": str(path)})
    assert report.teaal.energy["table"] == str(path)
    assert report.energy.by_component["FPMul"]["mul"] == 5 * report.operations["multiply"]
    assert "MainMemory.write" in report.energy.without
    spent = sum(sum(actions.values()) for actions in report.energy.by_component.values())
    assert report.energy.total_pj == pytest.approx(spent)
    assert report.edp == pytest.approx(report.energy.total_pj * 1e-12 * report.seconds)


def test_a_table_may_have_other_names_for_a_component():
    table = load_default_table()
    assert table.find("gamma", "MainMemory", "DRAM", "read") == table.components["HBM2"]["read"]
    assert table.find("extensor", "MainMemory", "DRAM", "read") == table.components["DRAM"]["read"]
