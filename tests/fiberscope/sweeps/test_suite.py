"""Machines against workloads: what is compared with what, and what is told of those that fail."""

import io
from pathlib import Path

import pytest
from rich.console import Console

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.suite import Suite, SuiteResult, read_workloads
from fiberscope.explore.sweeps.suite_views import failure_lines, suite_table
from fiberscope.results.report.table import print_trimmed

ONE, TWO = "uniform:rows=20,cols=20,nonzeros=60", "uniform:rows=30,cols=30,nonzeros=90"
WRONG = "uniform:rows=20,cols=30,nonzeros=60"


pytestmark = pytest.mark.usefixtures("here")


def made() -> Suite:
    """By hand: the second machine takes half and an eighth of the first's time; the third fails once."""
    seconds = {"a": (4.0, 8.0), "b": (2.0, 1.0), "c": (16.0, None)}
    runs = {
        (workload, machine): SuiteResult("wrong", "not equal")
        if one is None
        else SuiteResult("done", "", 10, one)
        for number, workload in enumerate(("x", "y"))
        for machine, times in seconds.items()
        for one in [times[number]]
    }
    return Suite(["a", "b", "c"], ["x", "y"], "a", runs)


def test_speedups_and_their_means_by_hand() -> None:
    suite = made()
    assert [suite.speedup("x", machine) for machine in "abc"] == [1.0, 2.0, 0.25]
    assert [suite.speedup("y", machine) for machine in "abc"] == [1.0, 8.0, None]
    assert suite.compared == ["x"]
    assert [suite.mean(machine) for machine in "abc"] == [1.0, 2.0, 0.25]
    two = Suite(["a", "b"], suite.workloads, "b", suite.runs)
    assert two.compared == ["x", "y"]
    assert two.mean("a") == pytest.approx((1 / 2 * 1 / 8) ** 0.5)
    assert two.mean("b") == 1.0


def test_nothing_is_compared_with_a_machine_that_failed() -> None:
    suite = made()
    over = Suite(["c", "a"], suite.workloads, "c", suite.runs)
    assert over.speedup("y", "a") is None
    none = Suite(["c"], ["y"], "c", suite.runs)
    assert none.mean("c") is None
    assert suite_table(none).rows[-1] == ["geometric mean of 0", "", ""]


def test_a_run_that_takes_no_time_has_no_speedup() -> None:
    runs = {
        ("x", machine): SuiteResult("done", "", 0, seconds)
        for machine, seconds in {"a": 0.0, "b": 1.0}.items()
    }
    suite = Suite(["a", "b"], ["x"], "a", runs)
    assert (suite.speedup("x", "a"), suite.speedup("x", "b")) == (None, None)
    assert (suite.compared, suite.mean("b")) == ([], None)


def test_the_table_has_a_row_a_workload_and_the_means() -> None:
    shown = suite_table(made())
    assert shown.rows == [
        ["x", "10", "1.00", "10", "2.00", "10", "0.250"],
        ["y", "10", "1.00", "10", "8.00", "wrong", ""],
        ["geometric mean of 1", "10", "1.00", "10", "2.00", "10", "0.250"],
    ]
    assert failure_lines(made()) == ["c on y: wrong: not equal"]


def test_labels_are_short_names_or_the_own_ones() -> None:
    workloads = [f"uniform:rows=300,cols=300,nonzeros=2000,seed={seed}" for seed in range(3)]
    runs = {
        (workload, machine): SuiteResult("done", "", 10, 1.0) for workload in workloads for machine in "ab"
    }
    suite = Suite(["a", "b"], workloads, "a", runs, {workloads[2]: "mine"})
    labels = ["uniform seed=0", "uniform seed=1", "mine"]
    assert [row[0] for row in suite_table(suite).rows] == [*labels, "geometric mean of 3"]
    assert list(suite.frame()["name"][:4]) == ["uniform seed=0"] * 2 + ["uniform seed=1"] * 2


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_number_of_a_table_is_broken_however_narrow_the_terminal(width: int) -> None:
    machines = ["gamma", "outerspace", "extensor", "sigma"]
    numbers = {machine: 219_054_000 + 7 * place for place, machine in enumerate(machines)}
    workload = "a-workload-with-a-long-name"
    runs = {(workload, machine): SuiteResult("done", "", numbers[machine], 1.5) for machine in machines}
    console = Console(width=width, file=io.StringIO(), highlight=False)
    blocks = suite_table(Suite(machines, [workload], "gamma", runs)).blocks(width)
    shown = print_trimmed(console, *(block.rich() for block in blocks))
    assert all(f" {number:,} " in shown for number in numbers.values())
    assert max(map(len, shown.splitlines())) <= width
    assert len(blocks) == {40: 4, 60: 4, 80: 4, 120: 2}[width]


def test_a_list_has_one_a_line_and_a_folder_its_matrices(here: Path) -> None:
    listed = here / "list.txt"
    listed.write_text(f"# two\n{ONE}  # small\n\n{TWO}\n{ONE}\n")
    assert read_workloads(listed) == {ONE: "", TWO: ""}
    listed.write_text(f"first one = {ONE}\n{TWO}\nA=a.mtx B=b.mtx\n{ONE}\n")
    assert read_workloads(listed) == {ONE: "first one", TWO: "", "A=a.mtx B=b.mtx": ""}
    listed.write_text(f"one = {ONE}\none = {TWO}\n")
    with pytest.raises(InputError, match=r"list.txt:2: the name one appears twice"):
        read_workloads(listed)
    (here / "m").mkdir()
    for name in ("b.mtx", "a b.npz", "notes.md", "c.MTX.gz"):
        (here / "m" / name).write_text("")
    assert read_workloads(here / "m") == {
        f"'{here}/m/a b.npz'": "",
        f"{here}/m/b.mtx": "",
        f"{here}/m/c.MTX.gz": "",
    }
    with pytest.raises(InputError, match="cannot be read"):
        read_workloads(here / "none")
    listed.write_text("# nothing\n")
    with pytest.raises(InputError, match="has no workload"):
        read_workloads(listed)


@pytest.mark.usefixtures("sweeps_here")
def test_each_runs_on_each_and_what_a_store_has_is_not_run_again() -> None:
    suite = fiberscope.suite(["gamma", "outerspace"], [ONE, TWO], store="s", workers=1, progress=False)
    for workload in (ONE, TWO):
        for machine in ("gamma", "outerspace"):
            report = fiberscope.simulate(machine, workload)
            ran = suite.runs[workload, machine]
            assert (ran.cycles, ran.seconds) == (report.cycles, report.seconds)
    frame = suite.frame()
    assert list(frame["machine"]) == ["gamma", "outerspace"] * 2
    speedups = [suite.speedup(workload, machine) for workload in (ONE, TWO) for machine in suite.machines]
    assert list(frame["speedup"]) == speedups
    before = {path: path.read_bytes() for path in Path("s").rglob("*.parquet")}
    again = fiberscope.suite(["outerspace", "gamma"], [TWO], store="s", workers=1, progress=False)
    assert again.against == "outerspace"
    assert {path: path.read_bytes() for path in Path("s").rglob("*.parquet")} == before


@pytest.mark.usefixtures("sweeps_here")
def test_the_command_tells_what_failed_and_goes_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "list.txt").write_text(f"{ONE}\n{WRONG}\n")
    words = ["suite", "gamma", "--workloads", "list.txt", "--workers", "1", "--quiet"]
    assert cli.run([*words, "--csv", "s.csv", "--plot", "s.svg"]) == 4
    shown = capsys.readouterr().out
    assert "geometric mean of 1" in shown
    assert f"gamma on {WRONG}: refused: " in shown
    assert len(Path("s.csv").read_text().splitlines()) == 3
    assert Path("s.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gamma", "--workloads", "none.txt"], "none.txt: cannot be read"),
        (["gamma", "--workloads", "list.txt", "--against", "gama"], "gama is none of the machines that run"),
        (["gama", "--workloads", "list.txt"], "no accelerator"),
        (["gamma", "--workloads", "list.txt", "--csv", "list.txt"], "is the list, which it would overwrite"),
        (["gamma", "--workloads", "list.txt", "--plot", "s.jpg"], "pictures are"),
        (["gamma", "--workloads", "list.txt", "--figure-width", "wide"], "a figure cannot be wide wide"),
        (["gamma", "--workloads", "list.txt", "--timeout", "0"], "timeout is 0.0; it should be greater"),
        (["gamma", "--workloads", "list.txt", "--memory", ""], "memory is ''; it should be a size"),
    ],
)
def test_what_cannot_be_costs_a_line_before_anything_runs(
    words: list[str], told: str, here: Path, refusal
) -> None:
    (here / "list.txt").write_text(f"{ONE}\n")
    assert told in refusal("suite", *words, "--quiet")
    assert not (here / "suite").exists()
