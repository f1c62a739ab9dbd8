"""Names that are no UTF-8, terminals of ASCII, names that are too long, links, and outputs that are full."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.base.text_encoding import escape_undecodable
from fiberscope.results.report.files import write_bytes, write_text
from fiberscope.sim.partial_files import partial, replace_when_complete

ROOT = Path(__file__).parents[2]
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 3 4\n3 2 2\n"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LATIN = "b\udcff.mtx"  # the byte ff
LONG = 300 * "a"
TINY = ["sim", "gamma", "a.mtx", "-q", "--set=pe.count=2", "--set=memory.model=simple"]


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    for value, name in enumerate((LATIN, "é.mtx", "a.mtx")):
        Path(name).write_text(f"{MATRIX}3 3 {value}\n")
    return here


def fiberscope(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})}
    command = [sys.executable, "-m", "fiberscope", *arguments]
    return subprocess.run(command, env=environment, check=False, **{"capture_output": True, **options})


COMMANDS = ["sim gamma", "convert csr csc", "model gamma"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_no_utf8_costs_no_report(command: str) -> None:
    done = fiberscope(*command.split(), LATIN, "--json", "b\udcff.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Report: b\xff.json" in done.stdout
    assert json.loads(Path("b\udcff.json").read_text())["workload"]["name"] == r"b\xff"


def test_neither_does_it_cost_a_profile() -> None:
    done = fiberscope("profile", LATIN, "--json", "-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["name"] == r"b\xff"


def test_text_for_a_file_or_the_terminal_may_have_such_names(capsysbinary) -> None:
    for path in (Path("out.txt"), Path("-")):
        write_text(path, LATIN)
    assert Path("out.txt").read_bytes() == capsysbinary.readouterr().out == rb"b\xff.mtx"


def test_every_file_of_a_run_may_have_such_a_name() -> None:
    outputs = {"--json": "json", "--vcd": "vcd", "--timeline": "timeline", "--perfetto": "perfetto"}
    options = [each for option, ending in outputs.items() for each in (option, f"b\udcff.{ending}")]
    done = fiberscope("sim", "gamma", "a.mtx", "-q", *options)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'[dumpfile] "b\xff.vcd"' in Path("b\udcff.gtkw").read_bytes()
    done = fiberscope("page", "b\udcff.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("b\udcff.html").read_text(encoding="utf-8")


def test_so_may_a_store() -> None:
    pytest.importorskip("pyarrow")
    assert fiberscope("sweep", "gamma", LATIN, "--store", "st\udcff", "--workers", "1", "-q").returncode == 0
    done = fiberscope("page", "st\udcff")
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("st\udcff.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_neither_does_a_locale_that_lacks_its_letters(command: str) -> None:
    done = fiberscope(*command.split(), "é.mtx", "--json", "é.json", environment=ASCII)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Report: é.json".encode() in done.stdout
    assert json.loads(Path("é.json").read_text())["workload"]["name"] == "é"


def test_json_is_utf8_whatever_the_terminal_is() -> None:
    done = fiberscope("sim", "gamma", "é.mtx", "--json", "-", environment=ASCII)
    assert json.loads(done.stdout.decode("utf-8"))["workload"]["name"] == "é"


def test_a_sweep_has_the_rows_of_such_names() -> None:
    pytest.importorskip("pyarrow")
    command = ("sweep", "gamma", LATIN, "é.mtx", "--store", "st", "--workers", "1", "-q")
    done = fiberscope(*command, environment=ASCII)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    rows = fiberscope("results", "st", "--columns", "workload, status", "--sort", "workload", "--json", "-")
    told = [{"workload": r"b\xff.mtx", "status": "done"}, {"workload": "é.mtx", "status": "done"}]
    assert json.loads(rows.stdout) == told


def test_a_name_is_spelt_by_its_bytes() -> None:
    assert escape_undecodable({"\udcff": ["\udcc3\udca9", ("é", 1, None)], "a": "\ud83d"}) == {
        r"\xff": ["é", ["é", 1, None]],
        "a": r"\ud83d",
    }


OUTPUTS = ["--json", "--vcd", "--memory-trace", "--timeline", "--perfetto"]


@pytest.mark.parametrize("option", OUTPUTS)
def test_an_output_with_a_name_too_long_is_refused_before_the_run(option: str, refusal) -> None:
    error = refusal(*TINY, option, f"{LONG}.x")
    assert error == f"fiberscope: {LONG}.x: cannot write it: File name too long\n"
    assert len(list(Path().iterdir())) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        f"sim gamma {LONG}",
        f"sim gamma a.mtx {LONG}",
        f"sim gamma a.mtx --config {LONG}.yaml",
        f"convert csr csc {LONG}",
        f"model gamma {LONG}",
        f"model {LONG} a.mtx",
        f"sage {LONG} a.mtx",
        f"tile gustavson {LONG}",
        f"profile {LONG}",
        f"graph check {LONG}",
        f"graph run {LONG} B=a.mtx",
        f"report {LONG}",
        f"diff {LONG} {LONG}",
        f"plot {LONG} -o a.svg",
        f"plot a.json -o {LONG}.svg",
        f"page {LONG}",
        f"info {LONG}",
        f"wave {LONG}",
        f"memory replay gamma {LONG}",
        f"sweep {LONG}.yaml",
        f"sweep gamma {LONG} --store st",
        f"sweep gamma a.mtx --store {LONG}",
        f"results {LONG}",
        f"graph draw x(i)=b(i) --format x:s,b:s -o {LONG}.svg",
        f"rtl export merger -o {LONG}",
        f"rtl area merger --liberty {LONG}",
        f"rtl area merger --json {LONG}",
        f"analyze {LONG}",
        f"formats {LONG}",
    ],
)
def test_every_name_that_is_too_long_costs_a_line(arguments: str, capsys) -> None:
    code = cli.run(arguments.split())
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1), err[:300]
    assert LONG in err


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_name_as_long_as_can_be_is_written(option: str) -> None:
    name = f"{250 * 'a'}.json"
    assert cli.run([*TINY, option, name]) == 0
    assert Path(name).stat().st_size
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("option", OUTPUTS)
def test_an_output_that_is_a_link_stays_one(option: str) -> None:
    Path("sub").mkdir()
    Path("link").symlink_to("sub/target")
    for _ in range(2):
        assert cli.run([*TINY, option, "link"]) == 0
        assert os.readlink("link") == "sub/target"
        assert Path("sub/target").stat().st_size


@pytest.mark.parametrize("option", OUTPUTS)
def test_nothing_is_written_through_a_link_that_lies_in_wait(option: str) -> None:
    Path("precious").write_text("mine")
    partial(Path("out")).symlink_to("precious")
    assert cli.run([*TINY, option, "out"]) == 0
    assert Path("precious").read_text() == "mine"
    assert not Path("out").is_symlink()


def test_an_fst_is_not_written_through_a_link_either(monkeypatch) -> None:
    Path("vcd2fst").write_text('#!/bin/sh\ncp "$1" "$2"\n')
    Path("vcd2fst").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path.cwd()}:{os.environ['PATH']}")
    Path("precious").write_text("mine")
    partial(Path("out.fst"), ".fst").symlink_to("precious")
    assert cli.run([*TINY, "--vcd", "out.fst"]) == 0
    assert Path("precious").read_text() == "mine"


def test_a_file_that_is_not_finished_leaves_the_old_one_and_nothing_else() -> None:
    write_bytes(Path("out"), b"old")
    with contextlib.suppress(KeyboardInterrupt), replace_when_complete(Path("out")) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert Path("out").read_bytes() == b"old"
    assert len(list(Path().iterdir())) == 4


FULL = [["list"], ["info", "gamma"], ["sim", "gamma", "a.mtx"], ["sim", "gamma", "a.mtx", "--json", "-"]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", FULL)
def test_an_output_that_is_full_costs_a_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = fiberscope(*arguments, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    said = b"fiberscope: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_json_to_an_output_that_is_closed_is_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it then
    assert cli.run(["sim", "gamma", "a.mtx", "--json", "-"]) == 2
    said = "fiberscope: there is no standard output to write to; give the name of a file\n"
    assert capsys.readouterr().err == said
