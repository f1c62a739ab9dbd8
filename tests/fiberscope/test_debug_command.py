"""The debugger's command line: scripts, standard input, mistakes, and the report that it writes."""

import io
import json
import os
from pathlib import Path

import pytest

from fiberscope import cli

pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process"),
]
SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"


def debugged(capsys: pytest.CaptureFixture[str], script: str, *options: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the debugger with these commands."""
    Path("hunt.txt").write_text(script)
    code = cli.run(["debug", "toy", SMALL, "--script", "hunt.txt", *options])
    out, err = capsys.readouterr()
    return code, out, err


def without_host(path: str) -> dict:
    document = json.loads(Path(path).read_text())
    del document["host"]
    return document


def test_a_script_is_followed_and_the_report_is_that_of_the_whole_run(toy, capsys):
    code, out, err = debugged(
        capsys, "# go\nrun 9\ninfo\nst 2\nback 1\n\nrun\nquit\nfoo\n", "--json", "o.json"
    )
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("cycle")][:4] == [
        "cycle 9",
        "cycle 9",
        "cycle 11",
        "cycle 10",
    ]
    assert cli.run(["sim", toy, SMALL, "--json", "whole.json", "--quiet"]) == 0
    assert without_host("o.json") == without_host("whole.json")


def test_a_session_that_ends_early_writes_an_incomplete_report(toy, capsys):
    code, _out, err = debugged(capsys, "run 9\n", "--json", "o.json")
    assert (code, err) == (0, "fiberscope: INCOMPLETE: cycle limit at cycle 9\n")
    report = without_host("o.json")
    assert (report["complete"], report["cycles"]) == (False, 9)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("jump 9", "jump is no command; "),
        ("s", "s is no command; it may be step or show"),
        ("run far", "far is no whole number"),
        ("goto", "goto: write it as goto CYCLE"),
        ("until", "until: write it as until CONDITION"),
        ("break", "break: write it as break CONDITION"),
        (
            "until lane00 bussy > 3",
            "the condition 'lane00 bussy > 3': lane00 has no bussy; did you mean busy?",
        ),
        ("break lane00", "the condition 'lane00': lane00 is no comparison"),
        ("show lone00", "no component matches the scope lone00; did you mean "),
        ("queue lane00.nought", "there is no channel lane00.nought; "),
        ("delete 4", "there is no breakpoint 4; there are none"),
        ("step 0", "0 cycles: at least 1 is needed"),
        ("wave missing/out.vcd 3", "missing/out.vcd"),
    ],
)
def test_a_wrong_line_ends_the_script_with_its_file_and_number(toy, capsys, line, message):
    code, _out, err = debugged(capsys, f"run 5\n{line}\n")
    assert code == 2
    assert err.startswith("fiberscope: hunt.txt:2: ")
    assert message in err
    assert err.count("\n") == 1


def test_without_a_terminal_commands_come_from_standard_input(toy, printed, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("run 7\nhelp\nhelp st\n"))
    out = printed("debug", toy, SMALL)
    assert out.startswith("cycle 7\n")
    assert "why NAME" in out
    assert out.endswith("step [N]: run for N cycles\n")
    assert not [line for line in out.splitlines() if line != line.rstrip()]


def test_a_wrong_line_of_standard_input_has_its_number(toy, run_command, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("run 7\nshow lane99\n"))
    code, _out, err = run_command("debug", toy, SMALL)
    assert (code, err.startswith("fiberscope: standard input:2: no component matches")) == (2, True)


def test_a_run_of_a_report_is_stopped_in_a_cycle_and_ends_as_before(toy, printed):
    assert cli.run(["sim", toy, SMALL, "--json", "first.json", "--quiet"]) == 0
    Path("hunt.txt").write_text("info\nst 2\nback 4\nrun\n")
    options = ["--to", "7", "--script", "hunt.txt", "--json", "again.json"]
    lines = printed("rerun", "first.json", *options).splitlines()
    assert [line for line in lines if line.startswith("cycle")][1:4] == ["cycle 7", "cycle 9", "cycle 5"]
    assert without_host("again.json") == without_host("first.json")


def test_only_simulations_of_one_product_are_stopped_in_a_cycle(refusal):
    assert cli.run(["model", "gamma", SMALL, "--json", "model.json", "--quiet"]) == 0
    assert "model.json: --to stops simulations of one product" in refusal("rerun", "model.json", "--to", "7")
    assert "--script needs --to CYCLE" in refusal("rerun", "model.json", "--script", "hunt.txt")
