"""Scripts that write the tables of pages: cells by hand from runs put in their place, and cheap cells run."""

import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import fiberscope
from fiberscope.hw.dram.commands import Command
from fiberscope.hw.rtl.tools.area import Area
from published import (
    cascades,
    choices,
    ecp5,
    explained,
    fibercache,
    formats,
    layers,
    memory_accuracy,
    memory_breakdown,
    mint,
    sam,
    tiles,
)

ROOT = Path(__file__).parents[2]
SMALL = "uniform:rows=30,cols=30,nonzeros=200,seed=1"


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_each_cycle_of_a_data_bus_counts_for_its_first_reason() -> None:
    numbers = {"burst": 2, "ccd_l": 4, "cwl": 3, "wtr_l": 6, "wtr_s": 5, "rtw": 9, "rfc": 50}
    timing = SimpleNamespace(**numbers, rcd_read=10, rcd_write=8)
    device = SimpleNamespace(timing=timing, organisation=SimpleNamespace(banks=4))
    issued = [
        (0, "ACT", 5),
        (5, "ACT", 0),
        (6, "ACT", 1),
        (18, "RD", 0),  # the row is open from 16 on
        (22, "RD", 1),  # as early as its bank group allows
        (40, "WR", 5),  # the bus turns until 31
        (60, "RD", 5),  # the bank group allows it from 44 on; the bus turns until 51
        (70, "REF", 0),
        (90, "ACT", 0),
        (130, "RD", 0),  # the refresh takes until 120
        (140, "WR", 0),  # the bank group allows it from 134 on; the bus turns until 139
        (170, "RD", 5),  # of another bank group: the bus turns until 150
    ]
    commands = [Command(cycle, name, 0, bank, 0) for cycle, name, bank in issued]
    channel = SimpleNamespace(specification=SimpleNamespace(device=device), commands=commands)
    cycles = memory_breakdown.BusTime(channel).cycles  # type: ignore[arg-type]
    assert +cycles == {
        "bursts": 7 * 2,
        "opening a row": 16,
        "tCCD within a bank group": 2 + 2 + 2,
        "turning the bus": 7 + 7 + 5 + 8,
        "refresh of all banks": 120 - 62,
        "no request, or order": 2 + 9 + 9 + 10 + 1 + 20,
    }
    assert cycles.total() == 170 + 2


def test_the_shares_of_a_run_are_of_all_of_its_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "gamma", SMALL, "memory.channels=1"])
    memory_breakdown.main()
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith(f"gamma, {SMALL}, memory.channels=1: ")
    shares = {row[:36].strip(): float(row[36:].rstrip("%")) for row in rows}
    assert sum(shares.values()) == pytest.approx(100, abs=0.1 * len(shares))
    assert shares["bursts"] > 5
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert min(shares.values()) > -0.5  # data of the last writes moves when the machine has ended


def test_a_row_of_the_memory_page_is_what_the_channel_gives() -> None:
    table = re.findall(r"^\| ((?:seq|rand|stride|unloaded)\w+ \| .*) \|$", page("memory.md"), re.MULTILINE)
    rows = [row for row in memory_accuracy.rows() if row[0] == "unloaded_latency"]
    assert [" | ".join(row) for row in rows] == [row for row in table if row.startswith("unloaded")]
    assert len(table) == 8


@pytest.mark.parametrize("name", formats.KERNELS)
def test_a_cell_of_the_table_of_formats_is_what_a_run_takes(name: str) -> None:
    """Bit vectors with 5 % of the entries: the fastest run of each row."""
    (row,) = (line for line in page("compiler.md").splitlines() if line.startswith(f"| {name} | 5% | "))
    assert row.split(" | ")[-1] == f"{formats.cycles(name, 'b', 0.05):,} |"


def test_the_table_of_formats_has_a_row_for_each_kernel_and_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        formats, "cycles", lambda name, letter, fill: len(name) * 1000 + ord(letter) + fill * 100
    )
    head, _line, *rows = formats.lines()
    expected = [
        line
        for line in page("compiler.md").splitlines()
        if line.startswith(tuple(f"| {name} |" for name in formats.KERNELS))
    ]
    assert head in page("compiler.md")
    assert [row.split(" | ")[:2] for row in rows] == [row.split(" | ")[:2] for row in expected]
    assert rows[0] == "| SpMV `ij` | 5% | 9,105.0 | 9,120.0 | 9,103.0 |"


@pytest.mark.parametrize(
    ("script", "cells", "arguments", "names"),
    [
        (layers, "table_cells", [], [(*layers.MACHINES, *layers.MAPPED)] * len(layers.LAYERS)),
        (layers, "table_cells", ["b", "a"], [("b", "a")] * len(layers.LAYERS)),
        (ecp5, "measure", [], [tuple(ecp5.DESIGNS)]),
        (ecp5, "measure", ["b", "a"], [("b", "a")]),
    ],
)
def test_a_table_has_a_row_for_each_name(monkeypatch, capsys, script, cells, arguments, names) -> None:
    """All names by default, else those of the command line, in their order."""
    monkeypatch.setattr(sys, "argv", ["script.py", *arguments])
    monkeypatch.setattr(script, cells, lambda name, *_rest: iter([f"cell of {name}"]))
    script.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[-1] for row in rows] == [f"cell of {name}" for table in names for name in table]
    assert [row[-2] for row in rows] == [Path(name).stem for table in names for name in table]


def test_all_models_of_a_cascade_count_the_same_products() -> None:
    rows = [row.strip("| ").split(" | ") for row in cascades.rows("gamma", SMALL)]
    assert [row[:2] for row in rows] == [
        ["gamma", kind] for kind in ("graph", "graph, rewritten", "trace", "machine")
    ]
    assert len({row[2] for row in rows}) == len({row[3] for row in rows}) == 1
    cycles = [int(row[4].replace(",", "")) for row in rows]
    assert cycles[1] < cycles[0]


def test_parts_of_a_run_are_summed_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {
        "multiplier works, on average": 100,
        "multiplier: imbalance": 50,
        "multiplier: others: merger": 20,
        "multiplier: supply: reader": 10,
        "multiplier: drain: writer": 5,
        "memory: read": 7,
        "memory: write": 3,
        "multiplier: unexplained": 4,
        "warm-up": 1,
    }
    phases = [SimpleNamespace(cycles=30, limit="PE"), SimpleNamespace(cycles=40, limit="DRAM")]
    outcome = SimpleNamespace(
        event=SimpleNamespace(cycles=200), parts=parts, analytical=SimpleNamespace(cycles=70, phases=phases)
    )
    monkeypatch.setattr(explained, "check", lambda _machine, _matrix, explain=False: outcome)
    row = ["200", "50%", "25%", "10%", "5%", "2%", "5%", "0%", "2%"]
    assert explained.shares("gamma", "x") == row
    table = explained.attribution_table()
    assert [cells[:2] for cells in table.rows] == [
        (machine, matrix) for machine in explained.MACHINES for matrix in explained.MATRICES
    ]
    assert explained.analytical_table().rows[-1] == ("full", *["0.35 (DRAM)"] * 4)
    assert len(explained.analytical_table().rows) == len(explained.MATRICES)


def test_a_choice_is_compared_with_the_machine_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def cycles(matrix: str, memory: str, text: str) -> int:
        return {"": 1000, "pe.radix=128": 900}.get(text, 1100) * (2 if memory == "dram" else 1)

    monkeypatch.setattr(choices, "cycles", cycles)
    monkeypatch.setattr(choices, "reported", lambda matrix: {"a": 2000, "b": 4000}[matrix])
    rows = choices.choices([("a", "simple"), ("a", "dram")]).rows
    assert rows[0] == ("as shipped", "1,000", "2,000")
    assert [row[0] for row in rows[1:]] == [f"`{text}`" for text in choices.CHOICES]
    assert rows[-1] == ("`pe.radix=128`", "-10.0%", "-10.0%")
    cells = {row[0].strip("`"): row[1:] for row in rows}
    assert cells["memory.refresh=off"] == ("", "+10.0%")
    assert cells["memory.simple_latency=200ns"] == ("+10.0%", "")
    rows = choices.controllers([("a", "dram"), ("b", "dram")]).rows
    assert len(rows) == len(choices.CONTROLLERS)
    assert rows[-2] == ("`as shipped`", "+0.0%", "-50.0%", "25.0%")


def test_settings_of_a_choice_go_before_those_of_the_published_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def simulate(machine: str, matrix: str, settings: object) -> SimpleNamespace:
        calls.append((machine, matrix, settings))
        return SimpleNamespace(cycles=7)

    monkeypatch.setattr(choices, "simulate_to_end", simulate)
    assert choices.cycles("nowhere", "dram", "reorder=none pe.count=16") == 7
    settings = {"reorder": "none", "memory.model": "dram", "pe.count": "16"}
    assert calls == [("gamma", "nowhere", settings)]
    assert choices.reported("wiki-Vote") > 1000


def test_cells_of_a_layer_are_those_of_its_chain() -> None:
    operands = {
        "A": SMALL,
        "X": "uniform:rows=30,cols=9,nonzeros=80",
        "W": "uniform:rows=9,cols=5,nonzeros=20",
    }
    cells = list(layers.table_cells("gamma", "Y = A X; Z = Y W", operands))
    report = fiberscope.simulate("gamma", chain="Y = A X; Z = Y W", tensors=operands)
    assert report.chain is not None
    assert cells[0] == f"{report.cycles:,}"
    assert cells[2] == ", ".join(f"{step.cycles:,}" for step in report.chain.steps.values())
    assert float(cells[3]) == pytest.approx(report.chain.traffic_bytes / 2**20, abs=0.005)
    assert float(cells[1]) == pytest.approx(report.chain.seconds * 1e6, abs=0.05)
    assert cells[-1] == f"{report.operations['multiply']:,}"
    assert all(float(cell) > 0 for cell in cells[4:6])


def test_a_bank_records_what_it_takes_and_what_is_read_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A FiberCache of eight lines loses lines between their fetch and their read; a large one none."""
    amounts = []
    for size in ("512", "1MiB"):
        for record in (fibercache.operations, fibercache.addresses, fibercache.evicted_unread):
            del record[:]
        settings = [f"fibercache.size={size}", "fibercache.banks=2", "fibercache.ways=2", "pe.count=4"]
        monkeypatch.setattr(sys, "argv", ["x", "uniform:rows=60,cols=60,nonzeros=900,seed=1", *settings])
        fibercache.main()
        rows = capsys.readouterr().out.splitlines()[1:]
        amounts.append([round(float(row[44:]) * 1e6 / 64) for row in rows])
        assert len(fibercache.operations) == len(fibercache.addresses) > 900
        assert amounts[-1][2] == pytest.approx(sum(fibercache.evicted_unread), abs=100)
    small, large = amounts
    assert sum(fibercache.evicted_unread) == 0
    assert small[2] > 0
    assert small[0] > large[0]


def measure_gates(_block: object, _parameters: object) -> Area:
    return Area({"and": 3}, 2, 0, 1)


def test_mint_counts_the_gates_of_every_kind_with_a_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mint, "require", lambda: None)
    monkeypatch.setattr(mint, "version", lambda: "0")
    monkeypatch.setattr(mint, "measure", measure_gates)
    gates, tables = mint.study((), {"parts": {}, "settings": {}, "tell": lambda _text: None})
    converter = mint.load(mint.MINT.configuration, mint.MINT.shipped, name=mint.MINT.name)
    assert [part["kind"] for part in gates["parts"]] == list(mint.twins(converter))  # type: ignore[index]
    assert len(tables[0].rows) >= len(mint.twins(converter))


def test_each_graph_of_the_sam_paper_has_its_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors: dict[str, Counter[str]] = {}

    def cycles(graph: object, operands: dict[str, object], settings: dict[str, object] | None = None) -> int:
        name = graph.name if isinstance(graph, Path) else "tiles"
        assert (settings == sam.TILE_SETTINGS) == (name == "tiles")
        assert name == "tiles" or (isinstance(graph, Path) and graph.is_file())
        tensors.setdefault(name.split("_")[0].removesuffix(".gv"), Counter())["".join(sorted(operands))] += 1
        return 1000

    empty = SimpleNamespace(matrix=SimpleNamespace(indptr=sam_pointers(), nnz=5))
    monkeypatch.setattr(sam, "_cycles", cycles)
    monkeypatch.setattr(sam, "load", lambda _name: empty)
    inputs = len(sam.SPARSITIES) + 2 * len(sam.LENGTHS)
    _data, tables = sam.study((), {"tell": lambda _text: None})
    assert tables[1].columns == ("input", *sam.ORDERS)
    assert [len(table.rows) for table in tables] == [
        3,
        1,
        inputs,
        1,
        len(sam.TILED_CYCLES) * len(sam.SIDES),
        10,
    ]
    tensors.clear()
    runs, claims = sam.experiments((), lambda _text: None)
    assert tensors == {
        "fig11": {"BCD": 9},
        "fig12": {"BC": 6},
        "fig13": {"bc": inputs * len(sam.FORMATS)},
        "fig14": {"B": 1},
        "tiles": {"BC": len(sam.TILED_CYCLES) * len(sam.SIDES)},
    }
    assert [row.published for row in runs if row.figure == "15"] == [
        cycles for row in sam.TILED_CYCLES.values() for cycles in row
    ]
    assert claims[-2].measured == "1,000 cycles; the sum is 11"  # 5 nonzeros in 2 rows, and 4
    assert [claim.holds for claim in claims] == [
        False,
        False,
        True,
        False,
        False,
        True,
        False,
        True,
        False,
        False,
    ]


def test_the_stand_ins_of_the_sam_paper_have_its_sizes_and_shares() -> None:
    """An inner stream has a stop for each row; cycles are nonzeros, rows and 4."""
    for rows, columns, nonzeros in list(sam.COMPOSED.values())[:5]:
        matrix = sam.stand_in(rows, columns, nonzeros)
        assert (matrix.shape, matrix.nonzeros) == ((rows, columns), nonzeros)
        shares = sam.token_shares(matrix)
        cycles = nonzeros + rows + 4
        assert shares["inner stops"] == pytest.approx(100 * rows / cycles)
        assert shares["inner control"] == pytest.approx(100 * (rows + 1) / cycles)
        assert shares["outer control"] == pytest.approx(200 / cycles)
        assert shares["outer idle"] == pytest.approx(100 * (nonzeros + 2) / cycles)


def sam_pointers() -> object:
    import numpy as np

    return np.array([0, 3, 3, 5])


def test_the_tables_of_tilings_compare_with_the_published_one() -> None:
    methods = {"conservative": 100, "d2t2": 50}
    rows = [
        tiles.MovedWords("a", "real", methods),
        tiles.MovedWords("b", "surrogate", {"conservative": 80, "d2t2": 10}),
    ]
    words = tiles._words_table(rows)
    assert words.columns == ("Matrix", "conservative", "d2t2")
    assert list(map(list, words.rows)) == [
        ["a", "100", "50"],
        ["b (SURROGATE)", "80", "10"],
        ["geometric mean", "1.00 x", "4.00 x"],
        ["arithmetic mean", "1.00 x", "5.00 x"],
    ]
    moved = dict.fromkeys(("A", "B", "PO", "Z"), 1000)
    runs = [
        tiles.TiledRun("a", "real", "3 MiB", tiles.PUBLISHED, (1, 2, 3), 500, 400, moved, complete=True),
        tiles.TiledRun("a", "real", "3 MiB", "d2t2", (4, 2, 3), 250, 200, moved, complete=True),
        tiles.TiledRun("a", "real", "3 MiB", "other", (1, 1, 1), 5000, 200, moved, complete=False),
        tiles.Skipped("c", "real", "d2t2", "too large"),
    ]
    cells = list(map(list, tiles._runs_table(runs).rows))
    assert cells[0][3:6] == ["500", "1.00 x", "400"]
    assert cells[1] == ["a, 3 MiB", "d2t2", "4 x 2 x 3", "250", "2.00 x", "200", *["1,000"] * 4]
    assert cells[2][3:] == ["not finished in 5,000", "below 0.10 x", "200", "", "", "", ""]
    assert cells[3] == ["c", "d2t2", "", "too large", *[""] * 6]
