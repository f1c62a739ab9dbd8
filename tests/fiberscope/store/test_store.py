"""The store: what is added stays, once, whoever is killed when; other programs open it as it is."""

import gzip
import json
import multiprocessing
import os
import random
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")

import pandas as pd
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.base.interrupts import interrupt_on_termination
from fiberscope.results.store import Store, store
from fiberscope.results.store.columns import (
    FIXED,
    decode_row,
    encode_row,
    parameters,
    tabulate_rows,
    unify_schemas,
)
from fiberscope.results.store.measures import measures


def row(number: int, status: str = "done", **parameters: object) -> tuple[str, bytes]:
    """A digest and its row, which tells the number in ``cycles``."""
    digest = f"{number:064x}"
    config = {"pe.count": 32, "fibercache.size": 3 << 20, **parameters}
    told = {"digest": digest, "status": status, "cycles": number, "config": json.dumps(config)}
    return digest, encode_row(told, parameters)


def filled(folder: Path | str, numbers: range, **parameters: object) -> Store:
    made = Store(folder, make=True)
    for number in numbers:
        made.add(*row(number, **parameters))
    return made


def cycles(of: Store) -> list[int]:
    return sorted(of.frame()["cycles"])


def test_an_archive_loses_no_row_that_another_process_compacts_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = filled(tmp_path / "study", range(2))
    made.gather()
    location = made._location
    read = location.read_contents

    def read_while_others_compact(files):
        yield from read(files)
        Store(tmp_path / "study").gather()

    monkeypatch.setattr(location, "read_contents", read_while_others_compact)
    monkeypatch.setattr(made, "gather", lambda: made._pending == 0 and made.add(*row(2)))
    for name, content in made.contents().items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    (tmp_path / "copy/_arrived").mkdir(exist_ok=True)
    assert cycles(Store(tmp_path / "copy")) == [0, 1, 2]


def test_what_is_added_is_there_before_and_after_it_is_gathered(tmp_path: Path) -> None:
    made = filled(tmp_path, range(5))
    assert made.digests() == {f"{number:064x}" for number in range(5)}
    assert cycles(made) == [0, 1, 2, 3, 4]
    assert [file.name for file in tmp_path.glob("*.parquet")] == ["runs-000000.parquet"]
    assert not list((tmp_path / "_arrived").glob("*.json.gz"))


def test_parts_are_filled_before_new_ones_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART_ROWS", 3)
    monkeypatch.setattr(store, "MAX_PENDING_ROWS", 4)
    made = filled(tmp_path, range(10))
    assert cycles(made) == list(range(10))
    parts = sorted(tmp_path.glob("*.parquet"))
    assert [len(pd.read_parquet(part)) for part in parts] == [3, 3, 3, 1]


def test_a_part_that_is_full_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART_ROWS", 3)
    made = filled(tmp_path, range(6))
    made.gather()
    parts = [tmp_path / f"runs-{number:06}.parquet" for number in range(2)]
    before = [part.stat().st_ino for part in parts]
    made.add(*row(6))
    made.gather()
    assert [part.stat().st_ino for part in parts] == before
    assert cycles(made) == list(range(7))


def test_a_row_that_is_added_again_is_there_once(tmp_path: Path) -> None:
    made = filled(tmp_path, range(3))
    made.gather()
    filled(tmp_path, range(2, 5))
    assert cycles(made) == [0, 1, 2, 3, 4]


def test_all_parts_have_all_columns_and_a_parameter_not_given_is_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PART_ROWS", 2)
    made = filled(tmp_path, range(4), **{"pe.count": 8})
    made.gather()
    filled(tmp_path, range(4, 6), **{"fibercache.size": 1024})
    frame = made.frame().set_index("cycles")
    assert list(frame["pe.count"]) == [8, 8, 8, 8, 32, 32]
    assert list(frame["fibercache.size"]) == [3 << 20] * 4 + [1024] * 2
    assert made.parameters() == {"fibercache_size": "fibercache.size", "pe_count": "pe.count"}


def test_pandas_and_polars_open_it_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(store, "PART_ROWS", 3)
    filled(tmp_path, range(5), **{"pe.count": 8}).gather()
    filled(tmp_path, range(5, 7), radix="auto").gather()
    for opened in (pd.read_parquet(tmp_path), polars.read_parquet(tmp_path / "*.parquet")):
        assert opened.shape == (7, len(FIXED) + 2)
        assert sorted(opened["cycles"]) == list(range(7))


@pytest.mark.parametrize("number", [1, 4])  # in the first part of several, in the last
def test_a_failure_stays_until_the_point_has_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(store, "PART_ROWS", 3)
    made = Store(tmp_path, make=True)
    for each in range(5):
        made.add(*row(each, status="timeout" if each == number else "done"))
    made.gather()
    assert list(made.table("SELECT cycles FROM runs WHERE status <> 'done'")["cycles"].to_pylist()) == [
        number
    ]
    made.add(*row(number))
    assert cycles(made) == [0, 1, 2, 3, 4]
    assert set(made.frame()["status"]) == {"done"}
    made.add(*row(number, status="timeout"))  # of a slower sweep
    assert set(made.frame()["status"]) == {"done"}


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 4)), min_size=1, max_size=4))
def test_rows_are_there_once_whichever_parts_are_taken_out(steps: list[tuple[int, int]]) -> None:
    """Each step adds rows, and takes a part out; against a plain set of what should be left."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "PART_ROWS", 3)
        made, left, added = Store(folder, make=True), set[int](), 0
        for count, taken in steps:
            for number in range(added, added + count):
                made.add(*row(number))
            left, added = left | set(range(added, added + count)), added + count
            made.gather()
            parts = sorted(Path(folder).glob("*.parquet"))
            if taken < len(parts):
                left -= set(pd.read_parquet(parts[taken])["cycles"])
                parts[taken].unlink()
            assert cycles(made) == sorted(left)
        assert all(len(pd.read_parquet(part)) <= 3 for part in Path(folder).glob("*.parquet"))


def test_a_query_is_asked_in_sql(tmp_path: Path) -> None:
    made = filled(tmp_path, range(9), **{"pe.count": 8})
    assert made.table("SELECT max(cycles) AS most FROM runs WHERE pe_count = 8").to_pylist() == [{"most": 8}]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT cycels FROM runs", 'SELECT cycels FROM runs: Binder Error: Referenced column "cycels" not'),
        ("SELEC", "SELEC: Parser Error: syntax error at or near"),
        ("COPY runs TO 'runs.csv'", "COPY runs TO 'runs.csv': write one SELECT"),
        ("SELECT 1; DROP VIEW runs", "SELECT 1; DROP VIEW runs: write one SELECT"),
        ("", "no SQL: write one SELECT"),
    ],
)
def test_a_query_that_cannot_be_costs_a_line(tmp_path: Path, sql: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        filled(tmp_path, range(1)).table(sql)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_an_empty_store_has_no_rows(tmp_path: Path) -> None:
    assert len(Store(tmp_path, make=True).frame()) == 0


def test_a_report_is_kept_with_its_measures(tmp_path: Path) -> None:
    report = fiberscope.simulate("gamma", "uniform:rows=30,cols=30,nonzeros=90", pe__count=4)
    told = measures(report, ["pe.merger"])
    made = Store(tmp_path, make=True)
    made.add("ab", encode_row({"digest": "ab", "status": "done", **told}, {"pe.count": 4}))
    kept = made.table("SELECT * FROM runs").to_pylist()[0]
    assert made.reports(["ab"]) == {"ab": report}
    assert (kept["cycles"], kept["operations_multiply"]) == (report.cycles, report.operations["multiply"])
    assert kept["traffic_bytes"] == sum(
        kept[f"traffic_{name}_{way}_bytes"] for name in report.traffic for way in ("read", "write")
    )
    assert (kept["worker_kind"], kept["worker_count"]) == ("pe.merger", 4)
    assert kept["busy"] + kept["input_stall"] + kept["output_stall"] + kept["idle"] == 4 * report.cycles
    assert json.loads(kept["kinds"])["pe.merger"]["busy"] == kept["busy"]


VALUES = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(st.characters(codec="utf-8"))
)


@given(st.lists(VALUES, min_size=1, max_size=6))
@example([(1 << 53) + 1, 0.0])
@example([-(1 << 53), 0.0])
@example([-(1 << 53) - 1, 0.0])
def test_values_of_a_parameter_stand_in_one_column_as_they_are_or_all_as_text(values: list[object]) -> None:
    rows = [
        decode_row(encode_row({"digest": str(number)}, {"a.b": one})) for number, one in enumerate(values)
    ]
    table = tabulate_rows(rows).sort_by("digest")
    assert parameters(table.schema) == {"a_b": "a.b"}
    kept = table["a_b"].to_pylist()
    truths = [[isinstance(value, bool) for value in several] for several in (kept, values)]  # True == 1
    assert (kept == values and truths[0] == truths[1]) or table.schema.field("a_b").type == pa.string()
    assert None not in kept


@pytest.mark.parametrize("name", FIXED)
def test_a_parameter_called_as_a_column_of_every_row_has_one_of_its_own(name: str) -> None:
    table = tabulate_rows([decode_row(encode_row({name: None}, {name: 3}))])
    assert (table[name].to_pylist(), table[f"set_{name}"].to_pylist()) == ([None], [3])
    assert parameters(table.schema) == {f"set_{name}": name}


def test_a_truth_is_no_number_in_a_column() -> None:
    rows = [encode_row({"config": json.dumps({"a": True})}, {}), encode_row({}, {"a": 3})]
    assert tabulate_rows(map(decode_row, rows))["a"].to_pylist() == [None, 3]
    rows = [encode_row({}, {"a": value}) for value in (True, 3, 0.5)]
    assert tabulate_rows(map(decode_row, rows))["a"].to_pylist() == ["true", "3", "0.5"]


KINDS = st.sampled_from([pa.int64(), pa.float64(), pa.string(), pa.bool_()])
SCHEMAS = st.lists(st.dictionaries(st.sampled_from("abc"), KINDS), min_size=1, max_size=4)


@given(SCHEMAS)
def test_schemas_go_together_in_any_order(kinds: list[dict[str, pa.DataType]]) -> None:
    schemas = [pa.schema(each) for each in kinds]
    made = unify_schemas(schemas)
    assert made == unify_schemas(schemas[::-1]) == unify_schemas([made, *schemas])
    assert set(made.names) == {*FIXED, *(name for each in kinds for name in each)}
    assert parameters(made) == {}


def write_until_killed(folder: Path, numbers: list[int], said: Path) -> None:
    """Add rows and gather, and say after each row that it is there."""
    store.PART_ROWS, store.MAX_PENDING_ROWS = 7, 3
    made = Store(folder, make=True)
    for number in numbers:
        made.add(*row(number, **({"radix": 64} if number > 200 else {})))
        with said.open("a") as file:
            file.write(f"{number}\n")


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_added_is_lost_or_twice_however_often_two_writers_are_killed(
    tmp_path: Path, kills: int
) -> None:
    chance, said, folder = random.Random(kills), tmp_path / "said", tmp_path / "store"
    context = multiprocessing.get_context("fork")
    for kill in range(kills // 2):
        numbers = list(range(kill * 40, kill * 40 + 400))  # most of them again
        writers = [context.Process(target=write_until_killed, args=(folder, numbers, said)) for _ in range(2)]
        for writer in writers:
            writer.start()
        for writer in writers:
            time.sleep(chance.uniform(0.02, 0.15))
            os.kill(writer.pid or 0, signal.SIGKILL)
            writer.join()
    promised = {int(line) for line in said.read_text().splitlines()}
    made = Store(folder)
    assert promised
    found = cycles(made)
    assert len(found) == len(set(found))
    assert promised <= set(found)
    assert len(pd.read_parquet(folder)) == len(found) == len(made.digests())


READS: dict[str, Callable[[Store], object]] = {
    "digests": lambda reader: len(reader.digests()),
    "frame": lambda reader: len(reader.frame()),
    "table": lambda reader: reader.table("SELECT count(*) AS n FROM runs").to_pylist()[0]["n"],
    "distinct": lambda reader: reader.table("SELECT count(DISTINCT digest) AS n FROM runs").to_pylist()[0][
        "n"
    ],
}


@pytest.mark.parametrize("step", ["_list_arrived_files", "_parts", "_read_rows"])
@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
@pytest.mark.parametrize("read", READS)
def test_a_row_that_is_gathered_during_a_read_is_read_once(
    read: str, before: bool, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process gathers just before or just after a step of the reader: a listing, or reading rows."""
    monkeypatch.setattr(store, "PART_ROWS", 4)  # what is gathered goes into new parts
    filled(tmp_path, range(4)).gather()
    writer = filled(tmp_path, range(4, 9))
    reader = Store(tmp_path)
    monkeypatch.setattr(reader, "gather", lambda: None)  # as of a reader who may not write
    original = getattr(reader, step)

    def interrupted(*arguments: object) -> object:
        if before:
            writer.gather()
        outcome: object = original(*arguments)
        writer.gather()
        return outcome

    monkeypatch.setattr(reader, step, interrupted)
    assert READS[read](reader) == 9
    assert READS[read](Store(tmp_path)) == 9


def test_a_query_that_asks_wrong_is_its_own_fault(tmp_path: Path) -> None:
    made = filled(tmp_path, range(3))
    for sql in ("SELECT nothing FROM runs", "SELECT FROM WHERE", "SELECT 1 FROM elsewhere"):
        with pytest.raises(InputError, match=re.escape(sql)):
            made.table(sql)


@pytest.mark.usefixtures("heeding")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_query_that_takes_long_is_interrupted(number: signal.Signals, tmp_path: Path) -> None:
    made = filled(tmp_path, range(3))
    sql = "SELECT count(*) FROM range(2000000) a, range(2000000) b, runs WHERE a.range * b.range % 7 = 3"
    with interrupt_on_termination():
        threading.Timer(0.5, os.kill, (os.getpid(), number)).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            made.table(sql)
    assert time.monotonic() - began < 30  # it would take hours


@pytest.mark.parametrize("content", [[1, 2], {"a": 1}, [{}, {}, {}], None])
def test_what_is_json_and_no_row_is_none(content: object) -> None:
    with pytest.raises(ValueError, match=r"mapping|unpack"):
        decode_row(gzip.compress(json.dumps(content).encode()))


@pytest.mark.parametrize("damaged", ["runs-000000.parquet", "_arrived/0000.json.gz"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100)])
def test_a_damaged_file_is_named_in_a_line(tmp_path: Path, damaged: str, content: bytes) -> None:
    made = filled(tmp_path, range(3))
    made.gather()
    (tmp_path / damaged).write_bytes(content)
    asks = [made.frame, made.parameters]
    if damaged.startswith("_arrived"):  # what is gathered already is not read where nothing has arrived
        asks.append(made.gather)
    for ask in asks:
        with pytest.raises(
            InputError, match=f"{damaged}: is damaged: .*; remove it from the store"
        ) as raised:
            ask()
        assert "\n" not in str(raised.value)


def test_what_a_kill_left_half_written_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    made = filled(tmp_path, range(2))
    old, young = tmp_path / ".runs-000000.parquet.x.partial", tmp_path / "_arrived" / ".a.json.gz.y.partial"
    for file in (old, young):
        file.write_bytes(b"PAR1")
    os.utime(old, (0, 0))
    made.gather()
    assert not old.exists()
    assert young.exists()


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "_arrived" / "lock").mkdir(parents=True)  # a superuser may write everywhere else
    with pytest.raises(InputError, match=f"{tmp_path}: cannot be written to: "):
        Store(tmp_path, make=True)
