"""``fiberscope rtl``: what it writes, and one line for each mistake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")


pytestmark = pytest.mark.usefixtures("here")


def test_the_blocks_are_listed_with_their_defaults(printed) -> None:
    out = printed("rtl", "list")
    assert "merger       merges up to radix fibers" in out
    assert "radix=64 coordinate_bits=32" in out
    assert "             form=parallel lanes=32 width=32" in out
    assert "\n             form: serial, work-efficient, parallel\n" in out


def test_nothing_more_shows_the_help(printed) -> None:
    out = printed("rtl")
    assert "fiberscope rtl export merger" in out


def test_the_verilog_has_the_parameters_and_readable_names(run_command) -> None:
    code, out, err = run_command("rtl", "export", "merger", "--set", "radix=12", "-o", "some/where")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "Verilog: some/where/merger.v"
    text = Path("some/where/merger.v").read_text()
    assert text.startswith("// merger: merges up to radix fibers")
    assert "// radix=12 coordinate_bits=32 reference_bits=64 value_bits=64" in text
    assert "module merger(\n    input clk,\n    input rst,\n    input tasks_valid,\n" in text
    assert "    input [31:0] ways_11_coordinate,\n" in text
    assert max(map(len, text.splitlines())) < 200
    assert "node05_level1_00_right_wins" in text
    assert {line.partition(": ")[2] for line in out.splitlines()} == set(
        map(str, Path("some/where").iterdir())
    )


def test_a_parameter_may_be_one_of_several_names() -> None:
    assert cli.run(["rtl", "export", "prefix_sum", "--set", "form=serial", "--set", "lanes=4"]) == 0
    text = Path("build/prefix_sum.v").read_text()
    assert "// form=serial lanes=4 width=32 reference_bits=0 value_bits=0" in text
    assert "stage02_lane03_coordinate" in text


def test_the_verilog_is_the_same_in_another_process_and_after_other_blocks() -> None:
    code = (
        "from fiberscope.hw.rtl.catalogue import BLOCKS; b = BLOCKS['merger']; "
        "[b.verilog(b.parameters(radix=n)) for n in (3, 4)]; print(b.verilog(b.parameters(radix=5)), end='')"
    )
    texts = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        printed = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        texts.add(printed.stdout)
    assert cli.run(["rtl", "export", "merger", "--set", "radix=5", "--status"]) == 0
    assert texts == {Path("build/merger.v").read_text()}


def test_a_file_of_the_name_is_replaced_and_a_failure_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("build/merger.v")
    path.parent.mkdir()
    path.write_text("older")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.replace", full)
        assert cli.run(["rtl", "export", "merger"]) == 2
    assert path.read_text() == "older"
    assert cli.run(["rtl", "export", "merger"]) == 0
    assert "module merger" in path.read_text()
    assert not [file for file in path.parent.iterdir() if file.stem not in {"merger", "merger_tb", "README"}]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["mergr"], "no block mergr exists as RTL; did you mean merger or merge_tree or regor?"),
        (["merger", "--set", "radx=4"], "merger has no parameter radx; did you mean radix?"),
        (["merger", "--set", "depth=4"], "merger has no parameter depth; it has radix, coordinate_bits,"),
        (["merger", "--set", "radix=65"], "merger: radix must be from 2 to 64, not 65"),
        (
            ["merger", "--set", "radix=65", "--set", "stages=9", "--set", "values=text"],
            "merger: radix must be from 2 to 64, not 65; merger: stages must be from 1 to 6, not 9; merger: "
            "values must be one of float, bfloat, whole, not text\n",
        ),
        (["merger", "--set", "value_bits=16"], "merger: value_bits of float must be 32 or 64, not 16"),
        (["merger", "--set", "radix"], "--set radix: write name=number, as in radix=64"),
        (["merger", "--set", "radix=-3"], "merger: radix must be from 2 to 64, not -3"),
        (
            ["merger", "--set", "radix=2,8"],
            "--set radix=2,8: write one value; several are for fiberscope rtl area\n",
        ),
        (
            ["prefix_sum", "--set", "form=serial,parallel"],
            "--set form=serial,parallel: write one value; several are for fiberscope rtl area\n",
        ),
        (["merger", "-o", "file"], "file: is a file; give the name of a folder\n"),
        (["merger", "-o", "file/build"], "file/build: cannot be made: Not a directory"),
        (["prefix_sum", "--set", "form"], "--set form: write name=choice, as in form=parallel"),
        (
            ["prefix_sum", "--set", "form=seriel"],
            "prefix_sum: form must be one of serial, work-efficient, parallel, not seriel\n",
        ),
        (
            ["prefix_sum", "--set", "form=3"],
            "prefix_sum: form must be one of serial, work-efficient, parallel, not 3\n",
        ),
        (["prefix_sum", "--set", "lanes=two"], "--set lanes=two: write name=number, as in lanes=32"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, refusal) -> None:
    Path("file").touch()
    err = refusal("rtl", "export", *arguments)
    assert err.startswith(f"fiberscope: {line}")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, refusal) -> None:
    for name in [name for name in sys.modules if name.startswith("fiberscope.hw.rtl")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyrtl", None)
    err = refusal("rtl", "export", "merger")
    assert err == (
        "fiberscope: pyrtl is not installed: pip install 'fiberscope[rtl]', in a clone make .venv/rtl\n"
    )
