"""The table of a suite from its store: the same as the suite printed."""

from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.explore.sweeps.stored_suite import read_stored_suite

LIST = "a = uniform:rows=20,cols=20,nonzeros=60\nb = uniform:rows=20,cols=20,nonzeros=80\n"
TABLES = ["--columns", "speedup,energy,area", "--mean", "arithmetic,harmonic"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of a suite, and the tables as the suite wrote them."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "list.txt").write_text(LIST)
    command = ["suite", "gamma-2=gamma:pe.count=2", "gamma-4=gamma:pe.count=4"]
    command += ["--workloads", str(folder / "list.txt"), "--store", str(folder / "study"), "--workers", "1"]
    command += ["--latex", str(folder / "suite.tex"), "--csv", str(folder / "suite.csv"), *TABLES]
    assert cli.run([*command, "--quiet"]) == 0
    return folder


def test_the_store_gives_the_tables_that_the_suite_wrote(folder: Path, capsys) -> None:
    store = str(folder / "study")
    files = ["--latex", str(folder / "again.tex"), "--csv", str(folder / "again.csv")]
    assert cli.run(["results", store, "--compare", *TABLES, *files]) == 0
    for ending in ("tex", "csv"):
        assert (folder / f"again.{ending}").read_text() == (folder / f"suite.{ending}").read_text()
    shown = capsys.readouterr().out
    assert "harmonic mean of 2" in shown
    assert "multipliers" in shown


def test_the_first_machine_and_the_rows_can_be_chosen(folder: Path) -> None:
    suite = read_stored_suite(str(folder / "study"), against="gamma-4", where="workload_name = 'a'")
    assert suite.against == "gamma-4"
    assert list(suite.names.values()) == ["a"]
    assert suite.speedup(suite.workloads[0], "gamma-4") == 1


def test_a_run_that_the_store_lacks_is_named(folder: Path, printed) -> None:
    where = "machine = 'gamma-2' OR workload_name = 'a'"
    out = printed("results", str(folder / "study"), "--compare", "--where", where)
    assert "gamma-4 on uniform:rows=20,cols=20,nonzeros=80: missing: not run" in out


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--mean", "harmonic"], "--mean needs --compare, the tables of a suite"),
        (["--against", "gamma-2"], "--against needs --compare, or --plot FILE, the figure to draw"),
        (["--compare", "--sources"], "--sources is not for --compare; leave one out"),
        (["--compare", "--against", "gama-2"], "gama-2 is none of the machines; did you mean gamma-2"),
        (["--compare", "--columns", "cicles"], "--columns cicles: there is no cicles; did you mean cycles?"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(folder: Path, refusal, options: list[str], fault: str) -> None:
    assert fault in refusal("results", str(folder / "study"), *options)
