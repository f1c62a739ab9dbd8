"""Line, branch and toggle coverage of Verilog: Verilator's counts as a summary, a report and an lcov file."""

import re
from pathlib import Path

import pytest
from optional_programs import needs

from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

from fiberscope.rtl.line_coverage import DATA, LineCoverage, write_line_coverage

LOOP = ["rtl", "loop", "merger", "gamma", "uniform:rows=12,cols=12,nonzeros=40"]
SETTINGS = ["--set=pe.count=2", "--set=pe.radix=2"]
BENCH = ["rtl", "bench", str(Path(__file__).parents[2] / "examples" / "merger_bench.py"), "--block=merger"]
SOURCE = "module sink;\nreg full;\nalways @(posedge clk)\n  if (rst) full <= 0;\n  else full <= in;\n"


def record(kind: str, line: int, column: int, name: str, count: int, **fields: str) -> str:
    """Return a record as Verilator writes it."""
    pairs = {"f": fields.pop("file"), "l": line, "n": column, "t": kind, "page": f"v_{kind}/sink", "o": name}
    key = "".join(f"\1{name}\2{text}" for name, text in {**pairs, **fields}.items())
    return f"C '{key}' {count}\n"


def write_run(folder: Path) -> Path:
    """Write a source and the counts of two instances; return the source."""
    source = folder / "sink.v"
    source.write_text(SOURCE)
    file = str(source)
    text = record("line", 3, 1, "block", 9, file=file, S="3", h="TOP.first")
    text += record("branch", 4, 3, "if", 0, file=file, S="4", h="TOP.first")
    text += record("branch", 4, 3, "if", 0, file=file, S="4", h="TOP.second")
    text += record("branch", 4, 4, "else", 4, file=file, S="5", h="TOP.first")
    text += record("branch", 4, 4, "else", 3, file=file, S="5", h="TOP.second")
    text += record("toggle", 2, 5, "full[0]:0->1", 2, file=file, h="TOP.first")
    text += record("toggle", 2, 5, "full[1]:1->0", 0, file=file, h="TOP.first")
    text += record("toggle", 2, 5, "clk:1->0", 0, file=file, h="TOP.first")
    (folder / DATA).write_text("# SystemC::Coverage-3\n" + text)
    return source


def test_counts_of_instances_are_added_up_and_lines_branches_and_toggles_are_apart(tmp_path: Path) -> None:
    source = write_run(tmp_path)
    file = tmp_path / "sink.info"
    assert list(write_line_coverage(tmp_path, file)) == [
        "line coverage of sink: 2 of 3 lines, 1 of 2 branches, 1 of 3 toggles",
        "  sink.v:4: never: if (rst) full <= 0;",
    ]
    assert file.read_text().splitlines() == [
        "TN:",
        f"SF:{source}",
        "DA:3,9",
        "DA:4,0",
        "DA:5,7",
        "LF:3",
        "LH:2",
        "BRDA:4,0,3,0",
        "BRDA:4,0,4,7",
        "BRF:2",
        "BRH:1",
        "end_of_record",
    ]
    assert (tmp_path / "sink.txt").read_text().splitlines()[2:] == [
        "clk: 1 of 1 toggles missing",
        "full: 1 of 2 toggles missing",
    ]


def test_a_hyphen_prints_only_and_at_most_ten_lines_are_printed(tmp_path: Path) -> None:
    text = "".join(
        record("line", n, 1, "block", 0, file="gone.v", S=f"{n},{n + 20}-{n + 21}") for n in (1, 5)
    )
    text += "".join(record("branch", n, 1, "cond_else", 0, file="gone.v", S=str(n)) for n in range(40, 48))
    (tmp_path / DATA).write_text(text + record("line", 40, 1, "block", 3, file="gone.v", S="40-47"))
    printed = list(write_line_coverage(tmp_path, Path("-")))
    assert printed[0] == "line coverage of sink: 8 of 14 lines, 0 of 8 branches, 0 of 0 toggles"
    assert printed[1:4] == [f"  gone.v:{n}: never: " for n in (1, 5, 21)]
    assert printed[7:] == [f"  gone.v:{n}: cond_else: " for n in range(40, 44)] + ["  and 4 more lines"]
    assert [path.name for path in tmp_path.iterdir()] == [DATA]
    assert LineCoverage("").modules() == []


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ([*LOOP, "--sim=pyrtl", "--line-coverage=-"], "--line-coverage: pyrtl counts no lines"),
        ([*LOOP, "--sim=icarus", "--line-coverage=-"], "--line-coverage: icarus counts no lines"),
        ([*LOOP, "--line-coverage=cover.txt"], "cover.txt: cannot be both --line-coverage and its report"),
        ([*BENCH, "--dut=model", "--line-coverage=-"], "--line-coverage: the module of --dut model is empty"),
        (
            [*BENCH[:3], "--block=gamma", "--dut=gamma", "--matrix=a.mtx", "--line-coverage=-"],
            "--line-coverage: the module of --dut gamma is empty",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(
    command: list[str], complaint: str, here: Path, capsys: pytest.CaptureFixture
) -> None:
    assert cli.run(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"fiberscope: {complaint}")
    assert not list(here.iterdir())


@needs("verilator")
def test_a_loop_says_which_lines_of_the_twin_ran(tmp_path: Path, printed) -> None:
    info = tmp_path / "cover.info"
    printed = printed(*LOOP, *SETTINGS, f"--line-coverage={info}", "-o", str(tmp_path))
    assert "\nline coverage of merger: " in printed
    assert f"SF:{(tmp_path / 'merger.v').resolve()}\n" in info.read_text()
    assert "\nmerged_coordinate: " in (tmp_path / "cover.txt").read_text()


@pytest.mark.slow
@needs("verilator")
def test_a_bench_says_which_lines_of_the_rtl_ran(tmp_path: Path, printed) -> None:
    bench = [*BENCH, "--set=radix=4", "--dut=rtl", "--line-coverage=-", "-o", str(tmp_path)]
    assert re.search(r"^line coverage of merger_merger: (\d+) of \1 lines", printed(*bench), re.MULTILINE)
