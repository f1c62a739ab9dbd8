"""The command line as a person meets it: exit codes, one line for each mistake, reports written."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from vcd_reader import read_vcd

from fiberscope import cli
from fiberscope.commands.command_line import COMMANDS

SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
LONG = (
    "uniform:rows=300,cols=300,nonzeros=5000,seed=5"  # 83 thousand products: longer than the kernel's chunk
)


@pytest.fixture(autouse=True)
def _here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")


def test_a_run_shows_a_summary_and_writes_a_report(toy: str, run_command) -> None:
    code, out, err = run_command("sim", toy, SMALL, "--json", "out.json", "--set", "lane.count=4")
    assert (code, err) == (0, "")
    document = json.loads(Path("out.json").read_text())
    assert document["config"]["lane"]["count"] == 4
    assert f"{document['cycles']:,}" in out
    assert out.rstrip().endswith("Report: out.json")


def test_a_saved_report_shows_the_summary_that_its_run_had_shown(toy: str, run_command) -> None:
    shown = run_command("sim", toy, SMALL, "--json", "out.json")[1]
    code, out, err = run_command("report", "out.json")
    assert (code, f"{out}Report: out.json\n", err) == (0, shown, "")


def test_in_a_pipe_no_line_ends_in_blanks(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    for pauses, name in ((1, "a.json"), (2, "b.json")):
        cli.run(["sim", toy, SMALL, "--set", f"lane.pause={pauses}", "--json", name])
    for command in (["report", "a.json"], ["diff", "a.json", "b.json"], ["list"], ["info", toy]):
        assert cli.run(command) == 0
    padded = [line for line in capsys.readouterr().out.splitlines() if line != line.rstrip()]
    assert padded == []


def test_a_report_on_standard_output_stands_there_alone(toy: str, run_command) -> None:
    code, out, err = run_command("sim", toy, SMALL, "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["accelerator"] == "toy"
    assert not Path("-").exists()


def test_quiet_says_nothing_when_all_is_well(toy: str, run_command) -> None:
    assert run_command("sim", toy, SMALL, "--quiet") == (0, "", "")


def test_a_surrogate_is_loud_even_when_quiet(toy: str, run_command) -> None:
    code, out, err = run_command("sim", toy, "LFAT5", "--quiet", "--json", "out.json")
    assert (code, out) == (0, "")
    assert err.startswith("fiberscope: SURROGATE: this is not LFAT5")
    workload = json.loads(Path("out.json").read_text())["workload"]
    assert (workload["source"], workload["notice"].split(":")[0]) == ("surrogate", "SURROGATE")


def test_a_second_matrix(toy: str, run_command) -> None:
    other = "uniform:rows=30,cols=10,nonzeros=40"
    assert run_command("sim", toy, SMALL, other, "-q", "--json", "out.json")[0] == 0
    assert json.loads(Path("out.json").read_text())["product"]["shape"] == [30, 10]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["sim", "tay", SMALL], "no accelerator is called tay; did you mean toy"),
        (["sim", "toy", "none.mtx"], "none.mtx: "),
        (["sim", "toy", "wiki-Vot"], "'wiki-Vot' is not a file, a generator or a known matrix"),
        (
            ["sim", "toy", SMALL, "--set", "lane.cuont=3"],
            "--set: toy has no parameter lane.cuont; did you mean",
        ),
        (["sim", "toy", SMALL, "--set", "lane.count=0"], "--set: lane.count is 0; it should be greater"),
        (["sim", "toy", SMALL, "--set", "lane.count=7"], "toy: memory.buffer (65536 bytes) does not divide"),
        (["sim", "toy", SMALL, "--set", "lane.count"], "--set lane.count: write it as key=value"),
        (["sim", "toy", SMALL, "--config", "none.yaml"], "none.yaml: cannot read the configuration: No such"),
        (["sim", "toy", SMALL, "uniform:rows=3,cols=3,nonzeros=3"], "A (uniform:"),
        (
            ["sim", "toy", "uniform:rows=3,cols=4,nonzeros=3"],
            "uniform:rows=3,cols=4,nonzeros=3,seed=0 is 3 x 4",
        ),
        (["sim", "toy", SMALL, "--json", "none/out.json"], "none/out.json: there is no folder none; make it"),
        (["sim", "toy", SMALL, "--vcd", "none/out.vcd"], "none/out.vcd: there is no folder none; make it"),
        (["sim", "toy", SMALL, "--vcd-window", "1:5"], "--vcd-window needs --vcd FILE"),
        (["sim", "toy", SMALL, "--vcd-trigger", "cycle > 9"], "--vcd-trigger needs --vcd FILE"),
        (["sim", "toy", SMALL, "--vcd-plain"], "--vcd-plain needs --vcd FILE"),
        (
            ["sim", "toy", SMALL, "--vcd", "o.vcd", "--vcd-trigger", "lane00 bussy > 9"],
            "the trigger 'lane00 bussy > 9': lane00 has no bussy; did you mean busy?",
        ),
        (
            ["sim", "toy", SMALL, "--vcd", "o.vcd", "--vcd-window", "5:1"],
            "--vcd-window 5:1: write it as START",
        ),
        (
            ["sim", "toy", SMALL, "--vcd", "o.vcd", "--vcd-scope", "lame*"],
            "no component matches the scope lame*",
        ),
        (["sim", "toy", SMALL, "--cycle-limit", "0"], "Invalid value for '--cycle-limit'"),
        (["sim", "toy"], "Missing argument 'A [B]'"),
        (["sim", "--colour"], "No such option: --colour"),
        (["simulate"], "No such command 'simulate'; did you mean sim? See fiberscope --help"),
        (["simm"], "No such command 'simm'; did you mean sim"),
        (["xyzzy"], "No such command 'xyzzy'; see fiberscope --help"),
        (["info", "wiki-Vot"], "no accelerator or matrix is called wiki-Vot; did you mean wiki-Vote?"),
        (["wave", "none.vcd"], "none.vcd: there is no such waveform; write one with fiberscope sim"),
    ],
)
def test_bad_input_costs_one_line_and_exit_code_2(toy: str, refusal, arguments: list[str], line: str) -> None:
    err = refusal(*arguments)
    assert err.startswith(f"fiberscope: {line}")


def test_a_wrong_product_exits_with_3_after_its_report(toy: str, run_command) -> None:
    code, out, err = run_command("sim", toy, SMALL, "--set", "fault=wrong", "--json", "out.json")
    assert code == 3
    assert "WRONG RESULT" in out
    assert err.startswith("fiberscope: the machine's product is wrong: relative error 0.001")
    assert json.loads(Path("out.json").read_text())["verification"]["passed"] is False


@pytest.mark.parametrize(
    ("fault", "counts"),
    [("missing", "1 entries missing, 0 too many"), ("surplus", "0 entries missing, 1 too many")],
)
def test_an_entry_that_is_missing_or_too_many_exits_with_3(
    toy: str, fault: str, counts: str, run_command
) -> None:
    code, out, err = run_command("sim", toy, SMALL, "--set", f"fault={fault}")
    assert code == 3
    assert "WRONG RESULT" in out
    assert err == f"fiberscope: the machine's product is wrong: relative error 0, {counts}\n"


def test_a_deadlock_exits_with_3_and_names_who_waits(toy: str, run_command) -> None:
    code, out, err = run_command("sim", toy, SMALL, "--set", "fault=deadlock", "--json", "out.json")
    assert code == 3
    assert "INCOMPLETE" in out
    assert err.startswith("fiberscope: deadlock at cycle")
    assert "toy.lane00.multiplier waits for a token at in" in err
    assert json.loads(Path("out.json").read_text())["ending"] == "deadlock"


def test_an_interrupted_run_writes_its_report_and_exits_with_130(toy: str, run_command) -> None:
    settings = ["--set", "fault=interrupt", "--set", "lane.count=1"]
    code, out, _err = run_command("sim", toy, LONG, *settings, "--json", "out.json")
    assert code == 130
    assert "INCOMPLETE" in out
    document = json.loads(Path("out.json").read_text())
    assert (document["complete"], document["ending"]) == (False, "interrupted")
    assert document["verification"]["passed"] is None
    assert document["cycles"] > 0


def test_a_cycle_limit_is_no_error_but_loud(toy: str, printed, run_command) -> None:
    out = printed("sim", toy, SMALL, "--cycle-limit", "20")
    assert "INCOMPLETE" in out
    assert "not verified, as the run is incomplete" in out
    code, out, err = run_command("sim", toy, SMALL, "--cycle-limit", "20", "-q")
    assert (code, out, err) == (0, "", "fiberscope: INCOMPLETE: cycle limit at cycle 20\n")


def test_a_waveform_and_its_save_file(toy: str, printed) -> None:
    options = ["--vcd", "out.vcd", "--vcd-window", "5:50", "--vcd-scope", "lane01"]
    out = printed("sim", toy, SMALL, *options)
    assert "Waveform: out.vcd (open it: fiberscope wave out.vcd)" in out
    assert "lane01" in Path("out.vcd").read_text()
    assert "lane00" not in Path("out.vcd").read_text()
    assert Path("out.gtkw").is_file()


def test_a_waveform_from_a_condition_on(toy: str, run_command) -> None:
    options = ["--vcd", "out.vcd", "--vcd-trigger", "cycle >= 20", "--vcd-cycles", "7", "--vcd-plain"]
    assert run_command("sim", toy, SMALL, "-q", *options) == (0, "", "")
    wave = read_vcd(Path("out.vcd"))
    assert wave.end / wave.start == 39 / 32  # looked at in cycle 32
    assert "?" not in Path("out.vcd").read_text().partition("$enddefinitions")[2]


def test_an_fst_without_its_converter_is_one_line(toy: str, refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    err = refusal("sim", toy, SMALL, "--vcd", "out.fst")
    assert err.startswith("fiberscope: the waveform out.fst needs vcd2fst, which comes with GTKWave")
    assert err.endswith("without it, write out.vcd\n")
    assert not list(Path().glob("*out.*"))


def test_a_window_after_the_end_is_one_line_of_warning(toy: str, run_command) -> None:
    code, _out, err = run_command("sim", toy, SMALL, "-q", "--vcd", "out.vcd", "--vcd-window", "90000:90001")
    assert code == 0
    assert err.startswith("fiberscope: warning: the waveform out.vcd shows only the end state")
    assert err.count("\n") == 1


def test_a_programming_mistake_is_not_dressed_up_as_bad_input(
    toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fiberscope.workloads import problem

    def broken(*_arguments: object, **_options: object) -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(problem, "compare", broken)
    with pytest.raises(ValueError, match="a mistake of ours"):
        cli.run(["sim", toy, SMALL])


def test_list_names_accelerators_and_matrices(toy: str, printed) -> None:
    out = printed("list")
    assert "toy" in out
    assert "8,297 x 8,297" in out


def test_info_explains_every_parameter(toy: str, printed) -> None:
    out = printed("info", "toy")
    assert "A machine of two kinds of components" in out
    assert "size of the buffer in front of the memory; source: none is simulated" in out


def test_info_describes_a_matrix(printed) -> None:
    out = printed("info", "wiki-vote")
    assert "103,689" in out
    assert "TeAAL Table 3" in out


def test_wave_opens_surfer_where_gtkwave_is_not_installed(
    run_command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    viewer = tmp_path / "surfer"
    viewer.write_text('#!/bin/sh\necho "$@" > shown\nexit 3\n')
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")
    Path("out.vcd").write_text("$end")
    Path("out.gtkw").write_text("")  # GTKWave's alone
    code, _out, err = run_command("wave", "out.vcd")
    assert Path("shown").read_text() == "out.vcd\n"
    Path("out.sucl").write_text("")
    run_command("wave", "out.vcd")
    assert Path("shown").read_text() == "out.vcd --command-file out.sucl\n"
    assert (code, err) == (2, "fiberscope: Surfer ended with the exit code 3; its output is above\n")


def test_wave_opens_gtkwave_with_the_save_file(
    refusal, run_command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    viewer = tmp_path / "gtkwave"
    viewer.write_text('#!/bin/sh\necho "$@" > shown\ntest -s "$1"\n')
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("DISPLAY", ":0")
    Path("out.vcd").write_text("$end")
    Path("out.gtkw").write_text("")
    assert run_command("wave", "out.vcd")[0] == 0
    assert Path("shown").read_text() == "out.vcd out.gtkw\n"
    Path("empty.vcd").write_text("")
    code, _out, err = run_command("wave", "empty.vcd")
    assert (code, err) == (2, "fiberscope: GTKWave ended with the exit code 1; its output is above\n")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    err = refusal("wave", "out.vcd")
    assert err.startswith("fiberscope: there is no display to open GTKWave on; copy out.vcd to")


@pytest.mark.parametrize("command", [[], ["sim"], ["list"], ["info"], ["wave"]])
def test_help_has_examples(printed, command: list[str]) -> None:
    out = printed(*command, "--help")
    assert out.startswith("Usage: fiberscope")
    assert "fiberscope sim gamma wiki-Vote" in out or "Example" in out


@pytest.mark.parametrize("columns", [50, 65, 80])
def test_the_help_of_all_commands_has_a_line_for_each(printed, monkeypatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = printed("--help").partition("Run a machine")[2].splitlines()[1:]
    rows = [line for line in lines if line.startswith(" ")]
    assert [row.split()[0] for row in rows] == [name for names in COMMANDS.values() for name in names]
    assert max(map(len, rows)) <= columns
    assert all(row.endswith(".") for row in rows)


def test_no_command_shows_the_help(run_command) -> None:
    assert run_command() == run_command("--help")


def test_progress_is_shown_to_a_person_and_to_nobody_else(
    toy: str, run_command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes stderr for a terminal,
    monkeypatch.setenv("TERM", "xterm")  # which is not a dumb one
    code, _out, err = run_command("sim", toy, LONG, "--set", "lane.count=1")
    assert code == 0
    assert "simulating" in err
    assert run_command("sim", toy, LONG, "--quiet")[2] == ""


@cache
def shown_in(columns: str) -> list[str]:
    """The summary of a run in a window of so many columns, up to the lines on the host, its last."""
    command = [sys.executable, "-m", "fiberscope", "sim", "gamma", "uniform:rows=2,cols=2,nonzeros=2"]
    environment = {**os.environ, "COLUMNS": columns}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return shown.partition("\nHost ")[0].splitlines()


@pytest.mark.parametrize("columns", ["0", "1", "12", "39"])
def test_a_narrow_window_has_tables_of_forty_columns(columns: str) -> None:
    assert any("Cycles" in line for line in shown_in(columns))
    assert shown_in(columns) == shown_in("40")
