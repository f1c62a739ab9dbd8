"""``fiberscope rtl area``: its table, its JSON, and one line for each mistake."""

import json
from pathlib import Path

import pytest
from optional_programs import needs, require
from rich.console import Console

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

SMALL = [
    "merger",
    "--set=radix=2",
    "--set=coordinate_bits=4",
    "--set=reference_bits=4",
    "--set=value_bits=32",
]


@pytest.fixture(autouse=True)
def _here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def yosys() -> None:
    """Skips where there is no Yosys."""
    require("yosys")


@pytest.mark.usefixtures("yosys")
def test_a_table_and_the_same_as_json(run_command) -> None:
    code, out, err = run_command("rtl", "area", *SMALL, "--json=areas.json")
    assert (code, err) == (0, "")
    document = json.loads(Path("areas.json").read_text())
    assert list(document) == ["schema", "yosys", "blocks"]
    assert document["schema"] == "fiberscope-area-1"
    (merger,) = document["blocks"]
    assert merger["block"] == "merger"
    assert merger["parameters"] == {
        "radix": 2,
        "coordinate_bits": 4,
        "reference_bits": 4,
        "value_bits": 32,
        "stages": 6,
        "values": "float",
        "scale_bits": 0,
    }
    assert sum(merger["gates"].values()) == merger["gate_count"] > 50
    assert (merger["flip_flops"], merger["memory_bits"]) == (3, 0)
    given = "merger: radix=2 coordinate_bits=4 reference_bits=4 value_bits=32 stages=6 values=float "
    assert " ".join(out.split()).startswith(given)
    row = next(line for line in out.splitlines() if line.startswith("merger "))
    assert row.split()[1] == str(merger["gate_count"])
    assert row.split()[-3:] == ["3", "0", str(merger["depth"])]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.usefixtures("yosys")
def test_every_combination_is_a_row_with_its_parameters(run_command) -> None:
    code, out, err = run_command(
        "rtl", "area", *SMALL, "--set=radix=2,3", "--set=reference_bits=4,8", "--json=areas.json"
    )
    assert (code, err) == (0, "")
    blocks = json.loads(Path("areas.json").read_text())["blocks"]
    given = [(entry["parameters"]["radix"], entry["parameters"]["reference_bits"]) for entry in blocks]
    assert given == [(2, 4), (2, 8), (3, 4), (3, 8)]
    assert {entry["parameters"]["coordinate_bits"] for entry in blocks} == {4}
    assert len({entry["gate_count"] for entry in blocks}) == 4
    shared, *lines = out.splitlines()
    assert shared == "merger: coordinate_bits=4 value_bits=32 stages=6 values=float scale_bits=0"
    rows = [line.split() for line in lines if line.strip()[:1].isdecimal()]
    assert [row[:3] for row in rows] == [
        [str(radix), str(bits), str(entry["gate_count"])]
        for (radix, bits), entry in zip(given, blocks, strict=True)
    ]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.usefixtures("yosys")
def test_names_may_be_several_too_and_what_is_the_same_is_no_column(printed) -> None:
    out = printed("rtl", "area", "prefix_sum", "--set=form=serial,parallel", "--set=lanes=4,4")
    assert out.startswith("prefix_sum: lanes=4 width=32 reference_bits=0 value_bits=0\n")
    forms = [line.split()[0] for line in out.splitlines()[-5:-1]]
    assert forms == ["serial"] * 2 + ["parallel"] * 2


def test_no_digit_of_a_large_number_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    from fiberscope.hw.rtl.catalogue import BLOCKS
    from fiberscope.hw.rtl.tools.area import GATES, Area
    from fiberscope.rtl import area as rtl_area

    bank = BLOCKS["bank"]
    large = Area(dict.fromkeys(GATES, 12_345_678), 12_345_678, 123_456_789, 123)
    Console().print(rtl_area._table([(bank, bank.parameters(), large)]))
    table = capsys.readouterr().out
    assert "…" not in table
    assert sum(map(str.isdecimal, table)) == 6 * 8 + 8 + 9 + 3


@pytest.mark.usefixtures("yosys")
@needs("cells")
def test_srams_stand_beside_the_cells(printed) -> None:
    sizes = ["node_writer", "--set=rows=2,64", "--set=address_bits=8", "--set=count_bits=4"]
    out = printed("rtl", "area", *sizes, "--liberty=osu018", "--json=areas.json")
    first, second = json.loads(Path("areas.json").read_text())["blocks"]
    (heads,) = second["srams"]
    assert (heads["entries"], heads["bits"]) == (64, 8)
    # of the smallest SRAM of the table, 256 bytes in words of 32 bits (hw/rtl/tools/sram_table.csv)
    assert heads["area_um2"] == pytest.approx(1054.7)
    assert heads["area_um2"] == first["srams"][0]["area_um2"]
    rows = [line.split() for line in out.splitlines() if line.strip()[:1].isdecimal()]
    assert [row[-2] for row in rows] == [f"{entry['srams'][0]['area_um2']:,.0f}" for entry in (first, second)]
    assert " ".join(out.split()).endswith("one port between CACTI 7's, low operating power.")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.usefixtures("yosys")
def test_json_alone_goes_to_the_terminal(printed) -> None:
    out = printed("rtl", "area", *SMALL, "--json=-")
    assert json.loads(out)["blocks"][0]["flip_flops"] == 3
    assert list(Path().iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("yosys")
def test_every_block_by_default(printed) -> None:
    from fiberscope.hw.rtl.catalogue import BLOCKS

    out = printed("rtl", "area", "--json=-")
    assert [entry["block"] for entry in json.loads(out)["blocks"]] == list(BLOCKS)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nothing"], "no block nothing exists as RTL; "),
        (["merger", "--set=radix=65"], "merger: radix must be from 2 to 64, not 65"),
        (["merger", "--set=radix=2,65"], "merger: radix must be from 2 to 64, not 65"),
        (["merger", "--set=radix=2,"], "--set radix=2,: write name=number, as in radix=64"),
        (
            ["prefix_sum", "--set=form=serial,paralel"],
            "prefix_sum: form must be one of serial, work-efficient",
        ),
        (["--set=radix=4"], "--set radix=4: name the block, as in fiberscope rtl area merger"),
        (["merger", "--json=no/a.json"], "no/a.json: there is no folder no; make it first"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, refusal) -> None:
    err = refusal("rtl", "area", *arguments)
    assert err.startswith(f"fiberscope: {line}")
