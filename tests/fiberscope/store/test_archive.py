"""Archives of studies: the same store is the same file, reruns compare all numbers, bad files are refused."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.results.store import Store
from fiberscope.results.store.archive import INDEX, extract_archive, write_archive

pytest.importorskip("pyarrow")

ONE, TWO = "uniform:rows=20,cols=20,nonzeros=60", "uniform:rows=20,cols=30,nonzeros=60"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive of one run that is done, and one that is refused."""
    folder = tmp_path_factory.mktemp("archive")
    options: dict[str, Any] = {"store": folder / "study", "workers": 1, "progress": False}
    fiberscope.sweep("gamma", [ONE, TWO], settings={"pe.count": 4}, **options)
    write_archive(Store(folder / "study"), folder / "study.zip")
    return folder


@pytest.fixture
def folder(study: Path, here: Path) -> Path:
    shutil.copy(study / "study.zip", here)
    shutil.copytree(study / "study", here / "study")
    return here


def rewrite(path: Path, changes: dict[str, bytes | None]) -> None:
    """Write an archive again, with other files; None leaves a file out."""
    with zipfile.ZipFile(path) as archive:
        files: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, **changes}.items():
            if content is not None:
                archive.writestr(name, content)


def changed_index(path: Path, **fields: object) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return json.dumps({**json.loads(archive.read(INDEX)), **fields}).encode()


def test_an_archive_has_the_store_its_sources_and_the_environment(folder: Path, printed) -> None:
    shown = printed("results", "study", "--archive", "again.zip")
    assert Path("again.zip").read_bytes() == Path("study.zip").read_bytes()
    index, store = extract_archive(Path("study.zip"), folder / "extracted")
    assert (index.store, index.runs, index.failed) == ("study", 1, 1)
    assert store.table("SELECT * FROM runs").equals(Store("study").table("SELECT * FROM runs"))
    (report,) = store.reports(store.digests()).values()
    assert report.source is not None
    assert index.sources[report.source.digest]["modules"] == report.source.modules
    assert {"python", "compiler", "numpy", "scipy", "pyarrow"} <= index.environment.keys()
    assert shown.startswith("Archive: again.zip, 1 run and 1 that failed\nFor an artifact appendix: ")
    assert "`fiberscope rerun again.zip` repeats all and compares every number." in shown


def test_saved_operands_are_in_the_archive(folder: Path) -> None:
    saved = Path("study", "_operands", "0123abcd", "mine.npz")
    saved.parent.mkdir(parents=True)
    saved.write_bytes(b"a matrix")
    write_archive(Store("study"), Path("again.zip"))
    extract_archive(Path("again.zip"), folder / "extracted")
    assert Path("extracted", *saved.parts[1:]).read_bytes() == b"a matrix"


@pytest.mark.usefixtures("sweeps_here")
def test_a_rerun_says_that_all_numbers_are_equal(folder: Path, printed) -> None:
    shown = printed("rerun", "study.zip", "--workers", "1")
    assert shown.endswith("Equal: all numbers of 1 run; not repeated: 1 run that failed\n")
    (cycles,) = Store("study").table("SELECT cycles FROM runs WHERE status = 'done'")["cycles"].to_pylist()
    assert shown.count(f" {cycles:,} ") == 2
    assert sorted(path.name for path in folder.iterdir()) == ["study", "study.zip"]


@pytest.mark.usefixtures("sweeps_here")
def test_a_rerun_names_the_numbers_that_differ(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = folder.glob("study/*.parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(part, partitioning=None)
    cycles = [None if value is None else value + 1 for value in table["cycles"].to_pylist()]
    changed = table.set_column(table.column_names.index("cycles"), "cycles", pa.array(cycles, pa.int64()))
    pq.write_table(changed, part)
    write_archive(Store("study"), Path("study.zip"))
    assert cli.run(["rerun", "study.zip", "--workers", "1"]) == 3
    shown = capsys.readouterr().out
    assert "differ: cycles" in shown
    assert shown.endswith("Different: 1 of 1 run; not repeated: 1 run that failed\n")


@pytest.mark.usefixtures("sweeps_here")
def test_a_rerun_compares_reports_where_the_rows_are_equal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (part,) = folder.glob("study/*.parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(part, partitioning=None)
    reports = [text and text.replace('"merge":', '"merge":1') for text in table["report"].to_pylist()]
    assert reports != table["report"].to_pylist()
    pq.write_table(table.set_column(table.column_names.index("report"), "report", pa.array(reports)), part)
    write_archive(Store("study"), Path("study.zip"))
    assert cli.run(["rerun", "study.zip", "--workers", "1"]) == 3
    assert "differ: report" in capsys.readouterr().out


@pytest.mark.usefixtures("sweeps_here")
def test_a_sampled_run_of_a_machine_with_a_name_and_parts_in_any_order_are_repeated(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"store": "named", "workers": 1, "progress": False}
    fiberscope.sweep("mine=gamma:pe.count=2", [ONE], sample=True, **options)
    parts = {
        "merger": "fiberscope.hw.fibers.merge:HighRadixMerger",
        "bank": "fiberscope.hw.memory.cache:FiberCacheBank",
    }
    fiberscope.sweep("gamma", [ONE], parts=parts, **options)
    write_archive(Store("named"), Path("named.zip"))
    assert cli.run(["rerun", "named.zip", "--workers", "1"]) == 0, capsys.readouterr().out
    assert "mine" in capsys.readouterr().out


@pytest.mark.usefixtures("sweeps_here")
def test_a_run_that_is_not_done_now_says_why(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refusal
) -> None:
    from fiberscope.explore.sweeps import archive_rerun

    Path("a.el").write_text("0 1\n1 0\n")
    fiberscope.sweep("gamma", ["a.el"], store="files", workers=1, progress=False)
    write_archive(Store("files"), Path("files.zip"))
    run_tasks = archive_rerun.run_tasks

    def run_without_the_file(*arguments: Any) -> None:
        Path("a.el").rename("b.el")
        run_tasks(*arguments)

    monkeypatch.setattr(archive_rerun, "run_tasks", run_without_the_file)
    assert cli.run(["rerun", "files.zip", "--workers", "1"]) == 3
    shown = capsys.readouterr().out
    assert "differ: status (refused: a.el: no such file" in shown
    assert "cycles, seconds" not in shown
    assert refusal("rerun", "files.zip", "--workers", "1") == "fiberscope: a.el: no such file or directory\n"


def test_other_sources_are_refused_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fiberscope.explore.sweeps import archive_rerun, plan

    monkeypatch.setattr(plan, "_compute_source_digest", lambda roots: "0" * 64)
    with pytest.raises(
        InputError, match=r"^study.zip: gamma on uniform.* has other parameters now; --anyway"
    ):
        archive_rerun.rerun_archive(Path("study.zip"), workers=1, quiet=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../evil", "study.zip: holds '../evil', which is no file of a store"),
        ("/tmp/evil", "study.zip: holds '/tmp/evil', which is no file of a store"),
        (
            "store/../../evil.parquet",
            "study.zip: holds 'store/../../evil.parquet', which is no file of a store",
        ),
        (
            "store/_operands/../a.npz",
            "study.zip: holds 'store/_operands/../a.npz', which is no file of a store",
        ),
        ("store/runs-000001.parquet", "study.zip: store/runs-000001.parquet is not what the index says"),
    ],
)
def test_a_file_that_no_store_has_is_refused(folder: Path, name: str, message: str, refusal) -> None:
    rewrite(Path("study.zip"), {name: b"evil"})
    assert refusal("rerun", "study.zip").startswith(f"fiberscope: {message}")
    assert sorted(path.name for path in folder.iterdir()) == ["study", "study.zip"]


def test_damaged_archives_are_one_line(folder: Path) -> None:
    path, target = Path("study.zip"), folder / "extracted"
    whole = path.read_bytes()
    rewrite(path, {INDEX: changed_index(path, schema="fiberscope-archive-9")})
    with pytest.raises(InputError, match=r"^study.zip: archive.json: "):
        extract_archive(path, target)
    path.write_bytes(whole)
    rewrite(path, {"store/runs-000000.parquet": None})
    with pytest.raises(
        InputError, match=r"^study.zip: store/runs-000000.parquet is missing; the archive is "
    ):
        extract_archive(path, target)
    path.write_bytes(whole)
    rewrite(path, {INDEX: None})
    with pytest.raises(InputError, match=r"is no archive of a study: it has no archive.json"):
        extract_archive(path, target)
    for content in (b"", b"text", whole[:-40], whole[:200]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"^study.zip: is no archive of a study, or is damaged: "):
            extract_archive(path, target)
    with pytest.raises(InputError, match=r"^none.zip: cannot be read: No such file"):
        extract_archive(Path("none.zip"), target)
    path.write_bytes(whole)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("store/runs-000000.parquet", b"another")
    with pytest.raises(InputError, match=r"^study.zip: holds store/runs-000000.parquet twice"):
        extract_archive(path, target)
    path.write_bytes(whole)
    bomb = changed_index(path) + b" " * 10_000_000
    rewrite(path, {INDEX: bomb})
    with pytest.raises(InputError, match=r"archive.json is compressed more than a file of a store can be"):
        extract_archive(path, target)


def test_options_of_reports_are_refused_and_an_empty_store_too(folder: Path, refusal) -> None:
    error = refusal("rerun", "study.zip", "--to", "3")
    assert error == (
        "fiberscope: study.zip: an archive has several runs; "
        "--to, --script, --live and --json need a report of one run\n"
    )
    Store("empty", make=True)
    with pytest.raises(InputError, match=r"^empty: has no runs to archive"):
        write_archive(Store("empty"), Path("empty.zip"))
