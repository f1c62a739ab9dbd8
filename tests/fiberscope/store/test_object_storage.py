"""Stores on object storage, against a server of S3's protocol."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")

from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.results.store import Store, locations, store
from tests.fiberscope.store.test_store import cycles, filled, row

SMALL = "uniform:rows=20,cols=20,nonzeros=60"


def objects(bucket: str) -> list[str]:
    """The names in a bucket."""
    from upath import UPath

    root = UPath(bucket, skip_instance_cache=True)
    return sorted(str(found).partition("/")[2] for found in root.fs.find(root.path))


def fiberscope(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "fiberscope", *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_rows_arrive_are_gathered_and_read_as_from_a_folder(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PART_ROWS", 3)
    address = f"{bucket}/study"
    there, here = filled(address, range(7)), filled(tmp_path, range(7))
    assert there.digests() == here.digests()
    assert objects(bucket) == [f"study/_arrived/{number:064x}.json.gz" for number in range(7)]
    pd.testing.assert_frame_equal(there.frame(), here.frame())
    assert objects(bucket) == [f"study/runs-{number:06}.parquet" for number in range(3)]
    filled(address, range(5, 9), **{"pe.count": 8})
    filled(tmp_path, range(5, 9), **{"pe.count": 8})
    again = Store(address)
    pd.testing.assert_frame_equal(again.frame(), here.frame())
    assert (again.name, again.parameters()) == ("study", {"pe_count": "pe.count"})


def test_a_failure_gives_way_to_what_came_of_the_point(bucket: str) -> None:
    made = filled(bucket, range(2))
    made.add(*row(2, status="timeout"))
    assert made.table("SELECT cycles FROM runs WHERE status <> 'done'")["cycles"].to_pylist() == [2]
    made.add(*row(2))
    assert cycles(made) == [0, 1, 2]
    assert set(made.frame()["status"]) == {"done"}


def test_while_another_gathers_rows_stay_where_they_arrived_and_are_read_there(bucket: str) -> None:
    made = filled(bucket, range(3))
    made.gather()
    made.add(*row(1, status="timeout"))  # of a slower sweep
    made.add(*row(3, **{"pe.count": 8}))
    with made._location.locked():
        assert cycles(made) == [0, 1, 2, 3]
        assert set(made.frame()["status"]) == {"done"}
        assert list(made.frame().sort_values("cycles")["pe.count"]) == [32, 32, 32, 8]
        assert sum(name.startswith("_arrived/0") for name in objects(bucket)) == 2
    assert cycles(made) == [0, 1, 2, 3]
    assert objects(bucket) == ["runs-000000.parquet"]


def test_what_was_gathered_between_listing_and_reading_is_left_out(bucket: str) -> None:
    made = filled(bucket, range(3))
    place = made._location
    listed = place.files(place.arrived, "*.json.gz")
    assert len(listed) == 3
    place.remove(listed[:1])
    assert [file for file, _content in place.read_contents(listed)] == listed[1:]


@pytest.mark.parametrize("step", ["ukey", "cat_file"])
def test_a_part_that_is_gathered_anew_during_a_read_is_not_damaged(
    bucket: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes the part again before and after each request of the reader."""
    writer, numbers = filled(bucket, range(3)), iter(range(3, 1000))
    writer.gather()
    reader = Store(bucket)
    monkeypatch.setattr(reader, "gather", lambda: None)
    original = getattr(reader._location.filesystem, step)

    def interrupted(path: str) -> object:
        filled(bucket, range(number := next(numbers), number + 1), **{f"key.{number}": number}).gather()
        answer = original(path)
        filled(bucket, range(number := next(numbers), number + 1), **{f"key.{number}": number}).gather()
        return answer

    monkeypatch.setattr(reader._location.filesystem, step, interrupted)
    for ask in (reader.digests, reader.parameters, lambda: cycles(reader)):
        assert len(ask()) >= 1
    assert next(numbers) > 6


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100)])
def test_a_damaged_part_is_named_by_its_address(bucket: str, content: bytes) -> None:
    damaged = filled(bucket, range(3))
    damaged.gather()
    damaged._location.write(damaged._location.root / "runs-000000.parquet", content)
    message = f"{bucket}/runs-000000.parquet: is damaged: .*; remove it from the store"
    for ask in (damaged.frame, damaged.parameters):
        with pytest.raises(InputError, match=message) as raised:
            ask()
        assert "fiberscope-" not in str(raised.value)


def test_a_row_that_cannot_be_fetched_is_refused_and_stays(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = filled(bucket, range(2))
    monkeypatch.setattr(
        kept._location.filesystem, "cat", lambda paths, on_error: dict.fromkeys(paths, OSError("reset"))
    )
    with pytest.raises(InputError, match=r"json\.gz: cannot be reached: reset"):
        kept.gather()
    assert cycles(Store(bucket)) == [0, 1]


@pytest.mark.parametrize(
    "request_kind", ["ls", "pipe_file", "cat", "rm", "rm_file", "ukey", "cat_file", "modified"]
)
def test_each_request_that_fails_costs_a_line(
    bucket: str, request_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of the libraries below are of kinds of their own; later, all rows are still there."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("the connection\nwas reset")

    filled(bucket, range(2)).gather()
    kept = filled(bucket, range(2, 4))
    monkeypatch.setattr(kept._location.filesystem, request_kind, fail)
    messages = []
    for ask in (
        lambda: kept.add(*row(9)),
        lambda: kept.note_stale(["0"]),
        kept.digests,
        kept.gather,
        kept.frame,
        kept.parameters,
        kept.contents,
        lambda: kept.name_workloads({f"{1:064x}": "one"}),
    ):
        try:
            ask()
        except InputError as error:
            messages.append(str(error))
    assert messages
    line = re.compile(rf"{bucket}.*: cannot be reached: the connection was reset")
    assert all(map(line.fullmatch, messages))
    monkeypatch.setattr(locations, "LEASE_SECONDS", -1.0)
    assert set(cycles(Store(bucket))) >= {0, 1, 2, 3}


def test_a_lock_of_one_who_was_killed_goes_when_it_is_old(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = filled(bucket, range(2))
    made._location.write(made._location.arrived / "lock", b"")  # and never taken away
    made.gather()
    assert "_arrived/lock" in objects(bucket)
    monkeypatch.setattr(locations, "LEASE_SECONDS", -1.0)
    made.gather()
    assert objects(bucket) == ["runs-000000.parquet"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://no-such-bucket-here/study", "s3://no-such-bucket-here/study: cannot be reached: .*bucket"),
        ("nothing://bucket/study", "nothing://bucket/study: .*nothing"),
    ],
)
@pytest.mark.usefixtures("bucket")
def test_an_address_that_cannot_be_reached_costs_a_line(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        Store(address, make=True)
    assert "\n" not in str(raised.value)


def test_a_prefix_without_results_is_refused(bucket: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{bucket}/none: holds no results; fiberscope sweep")):
        Store(f"{bucket}/none")


def test_two_sweeps_of_two_machines_share_a_store(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], printed
) -> None:
    address = f"{bucket}/study"
    grids = {"gamma": "pe.count=1,2,4", "outerspace": "memory.channels=2,4"}
    options = ("--workers", "1", "--quiet", "--store", address)
    sweeps = [fiberscope("sweep", name, SMALL, "--grid", grid, *options) for name, grid in grids.items()]
    assert [(sweep.wait(), *sweep.communicate()) for sweep in sweeps] == [(0, "", "")] * 2
    frame = Store(address).frame()
    assert sorted(frame["accelerator"]) == ["gamma"] * 3 + ["outerspace"] * 2
    assert set(frame["status"]) == {"done"}
    assert objects(bucket) == ["study/runs-000000.parquet"]
    page = tmp_path / "study.html"
    assert cli.run(["page", address, "-o", str(page)]) == 0
    assert page.is_file()
    capsys.readouterr()
    out = printed("results", address, "--columns", "accelerator", "--where", "cycles > 0")
    assert out.count("gamma") == 3


def test_a_report_is_written_and_read_there(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], printed
) -> None:
    runs = ("sim", "gamma", SMALL, "--json")
    here, there = str(tmp_path / "run.json"), f"{bucket}/runs/run.json"
    assert cli.run([*runs, here]) == 0
    made = fiberscope(*runs, there)
    assert (made.wait(), made.communicate()[1]) == (0, "")
    assert objects(bucket) == ["runs/run.json"]
    capsys.readouterr()
    assert "differs" not in printed("diff", here, there)
    assert cli.run(["page", there, "-o", f"{bucket}/runs/run.html"]) == 0
    assert objects(bucket) == ["runs/run.html", "runs/run.json"]


@pytest.mark.usefixtures("bucket")
def test_a_report_that_cannot_be_written_is_refused_in_a_line() -> None:
    made = fiberscope("sim", "gamma", SMALL, "--json", "nothing://bucket/run.json")
    said = made.communicate()[1]
    assert (made.returncode, said.count("\n")) == (2, 1)
    assert said.startswith("fiberscope: nothing://bucket/run.json: ")
