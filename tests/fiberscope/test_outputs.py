"""Outputs destroy no input, and a full disk costs the waveform alone."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli

BANNER = "%%MatrixMarket matrix coordinate real general\n"
MATRIX = BANNER + "3 3 3\n1 1 1\n2 3 4\n3 2 2\n"
GRAPH = Path(__file__).parents[2] / "examples" / "graphs" / "fig11_coiterate.gv"
SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"


def full(*_arguments: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(autouse=True)
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FIBERSCOPE_DATA", raising=False)
    for name in ("a.mtx", "b.mtx"):
        Path(name).write_text(MATRIX)
    Path("c.yaml").write_text("lane: {count: 3}\n")
    Path("link.mtx").symlink_to("a.mtx")
    os.link("a.mtx", "hard.mtx")
    Path("sub").mkdir()
    return here


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("a.mtx --json a.mtx", "the report a.mtx: is the matrix A"),
        ("a.mtx --json sub/../a.mtx", "the report sub/../a.mtx: is the matrix A"),
        ("a.mtx --json link.mtx", "the report link.mtx: is the matrix A"),
        ("link.mtx --json a.mtx", "the report a.mtx: is the matrix A"),
        ("a.mtx --json hard.mtx", "the report hard.mtx: is the matrix A"),
        ("a.mtx --vcd a.mtx", "the waveform a.mtx: is the matrix A"),
        ("a.mtx b.mtx --json b.mtx", "the report b.mtx: is the matrix B"),
        ("a.mtx --config c.yaml --json c.yaml", "the report c.yaml: is the file of --config"),
        ("a.mtx --set energies=c.yaml --json c.yaml", "the report c.yaml: is the file of --set energies"),
    ],
)
def test_an_output_that_is_an_input_is_refused_before_anything_is_read(
    toy: str, arguments: str, says: str, refusal
) -> None:
    before = {name: Path(name).read_bytes() for name in ("a.mtx", "b.mtx", "c.yaml")}
    error = refusal("sim", toy, *arguments.split())
    assert error == f"fiberscope: {says}, which it would overwrite; give another name\n"
    assert {name: Path(name).read_bytes() for name in before} == before


@pytest.mark.parametrize("option", ["--json", "--vcd", "--memory-trace"])
def test_the_profile_that_a_surrogate_is_drawn_from_is_an_input_too(option: str, toy: str, refusal) -> None:
    assert cli.run(["profile", "a.mtx", "--json", "mine.json"]) == 0
    before = Path("mine.json").read_bytes()
    error = refusal("sim", toy, "surrogate:profile=mine.json,seed=1", option, "mine.json")
    assert "mine.json: is the matrix A, which it would overwrite" in error
    assert Path("mine.json").read_bytes() == before


def test_a_matrix_of_the_data_path_is_an_input_too(
    toy: str, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    monkeypatch.setenv("FIBERSCOPE_DATA", str(Path.cwd()))
    assert "is the matrix A" in refusal("sim", toy, "a", "--json", "a.mtx")


@pytest.mark.parametrize("waveform", ["a.mtx", "a.x"])
def test_from_python_a_waveform_destroys_no_input(toy: str, waveform: str) -> None:
    Path("a.gtkw").write_text(MATRIX)
    operand = "a.mtx" if waveform == "a.mtx" else Path("a.gtkw").rename("a.mtx")
    with pytest.raises(fiberscope.InputError, match="is the matrix A"):
        fiberscope.simulate(toy, operand, waveform="a.mtx")


def test_the_other_commands_destroy_no_input_either(toy: str, refusal) -> None:
    assert cli.run(["sim", toy, "a.mtx", "-q", "--json", "r.json"]) == 0
    report = Path("r.json").read_bytes()
    Path("r.svg").symlink_to("r.json")
    Path("g.gv").write_bytes(GRAPH.read_bytes())
    for arguments in (
        ["diff", "r.json", "r.json", "--json", "r.json"],
        ["plot", "r.json", "-o", "r.svg"],
        ["ablate", toy, "a.mtx", "--json", "a.mtx"],
        ["profile", "a.mtx", "--json", "a.mtx"],
        ["check", toy, "a.mtx", "--json", "a.mtx"],
        ["formats", "a.mtx", "--json", "a.mtx"],
        ["convert", "csr", "coo", "a.mtx", "--json", "a.mtx"],
        ["rerun", "r.json", "--json", "r.json"],
        ["page", "r.json", "-o", "r.svg"],
        ["graph", "draw", "g.gv", "-o", "g.gv"],
        ["graph", "optimise", "g.gv", "--optimise", "locate", "-o", "g.gv"],
        ["graph", "run", "g.gv", "B=a.mtx", "c=ones", "--json", "a.mtx"],
        ["tile", "A=a.mtx", "B=b.mtx", "--json", "b.mtx"],
        ["map", "r.json", "-o", "r.json"],
    ):
        assert "which it would overwrite" in refusal(*arguments), arguments
    assert Path("g.gv").read_bytes() == GRAPH.read_bytes()
    assert Path("r.json").read_bytes() == report
    assert Path("a.mtx").read_text() == MATRIX


def test_standard_output_and_devices_are_no_files_that_could_be_lost(toy: str) -> None:
    assert cli.run(["sim", toy, "a.mtx", "-q", "--json", "/dev/null"]) == 0


def test_a_view_that_the_user_saved_is_kept(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.gtkw").write_text("[*] GTKWave Analyzer\n")
    assert cli.run(["sim", toy, SMALL, "-q", "--vcd", "x.vcd"]) == 0
    assert Path("x.gtkw").read_text() == "[*] GTKWave Analyzer\n"
    expected = "fiberscope: warning: x.gtkw is not Fiberscope's own and is kept as it is\n"
    assert capsys.readouterr().err == expected
    assert cli.run(["sim", toy, SMALL, "-q", "--vcd", "y.vcd"]) == 0
    first = Path("y.gtkw").read_text()
    assert cli.run(["sim", toy, SMALL, "-q", "--vcd", "y.vcd"]) == 0
    assert (capsys.readouterr().err, Path("y.gtkw").read_text()) == ("", first)
    Path("y.sucl").write_text("variable_add mine")
    assert cli.run(["sim", toy, SMALL, "-q", "--vcd", "y.vcd"]) == 0
    assert Path("y.sucl").read_text() == "variable_add mine"
    assert "y.sucl is not Fiberscope's own and is kept as it is" in capsys.readouterr().err


def leftovers() -> list[str]:
    return [path.name for path in Path().iterdir() if path.suffix in (".partial", ".tmp")]


@pytest.mark.parametrize("method", ["begin", "write", "publish"])
def test_a_disk_that_is_full_costs_the_waveform_and_not_the_report(
    toy: str, method: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.sim.vcd_file import VcdFile

    monkeypatch.setattr(VcdFile, method, full)
    assert cli.run(["sim", toy, SMALL, "--vcd", "out.vcd", "--json", "out.json"]) == 2
    out, err = capsys.readouterr()
    assert err == "fiberscope: out.vcd: cannot write the waveform: No space left on device\n"
    assert "Waveform:" not in out
    document = json.loads(Path("out.json").read_text())
    assert (document["complete"], document["verification"]["passed"]) == (True, True)
    assert not Path("out.vcd").exists()
    assert leftovers() == []


def test_a_disk_that_gets_full_in_the_middle_of_a_run_is_written_no_more(
    monkeypatch: pytest.MonkeyPatch, refusal, here: Path
) -> None:
    """This waveform of 1.7 MB exceeds the buffer of 1 MiB before the end of the run."""
    from fiberscope.sim.vcd_file import VcdFile

    attempts: list[None] = []

    def full(_file: object) -> None:
        attempts.append(None)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(VcdFile, "write", full)
    run = ["sim", "gamma", "uniform:rows=100,cols=100,nonzeros=1000", "-q"]
    error = refusal(*run, "--vcd", "out.vcd", "--json", "out.json")
    assert error == "fiberscope: out.vcd: cannot write the waveform: No space left on device\n"
    assert json.loads(Path("out.json").read_text())["complete"] is True
    assert len(attempts) == 1
    assert not Path("out.vcd").exists()
    assert leftovers() == []


def test_a_disk_that_takes_no_report_does_not_keep_the_summary_back(
    toy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fiberscope.results.report.files.os.replace", full)
    assert cli.run(["sim", toy, SMALL, "--json", "out.json"]) == 2
    out, err = capsys.readouterr()
    assert err == "fiberscope: out.json: cannot write it: No space left on device\n"
    assert "Verified" in out
    assert "Report:" not in out
    assert leftovers() == []


def test_a_run_that_goes_wrong_is_told_before_its_waveform(
    toy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.sim.vcd_file import VcdFile

    monkeypatch.setattr(VcdFile, "write", full)
    assert cli.run(["sim", toy, SMALL, "--vcd", "out.vcd", "--set", "fault=deadlock"]) == 3
    assert capsys.readouterr().err.startswith("fiberscope: deadlock at cycle")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("ending", ["vcd", "fst"])
def test_a_real_disk_that_is_full_leaves_the_report(
    toy: str, ending: str, small_disk: Path, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    from fiberscope.sim import fst

    programs = small_disk.parent / "bin"
    programs.mkdir()
    (programs / fst.CONVERTER).write_text('#!/bin/sh\ncp "$1" "$2"\n')
    (programs / fst.CONVERTER).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    tiny = ["--set", "pe.count=2", "--set", "pe.radix=4", "-q"]
    wave, report = small_disk / f"out.{ending}", small_disk.parent / "out.json"
    err = refusal("sim", "gamma", SMALL, *tiny, "--vcd", str(wave), "--json", str(report))
    assert re.fullmatch(rf"fiberscope: {wave}: cannot write the waveform: .*\n", err)
    assert "No space left on device" in err
    assert json.loads(report.read_text())["complete"] is True
    assert list(small_disk.iterdir()) == []


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_dead_processes_left_is_removed(toy: str) -> None:
    import platform

    host = platform.node()
    dead = [f".out.vcd.{host}.{dead_process()}.partial", f".out.vcd.{host}.{dead_process()}.fst.partial"]
    kept = [
        f".out.vcd.{host}.{os.getppid()}.partial",
        f".out.vcd.elsewhere{host}.4.partial",
        ".out.vcd.partial",
    ]
    for name in (*dead, *kept):
        Path(name).write_text("begun")
    assert cli.run(["sim", toy, SMALL, "-q", "--vcd", "out.vcd"]) == 0
    assert sorted(leftovers()) == sorted(kept)
