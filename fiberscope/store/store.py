"""A folder of results that nothing half-written ever stands in, whoever is killed when.

A row arrives as a file of its own, named by its digest: written under another name and renamed, so that it is
there or not, and never twice. Now and then those that have arrived are gathered into parts of up to
``PART_ROWS`` rows: the part is written and renamed first, the arrived files go afterwards, and one that is
left over by a kill in between is passed over, as its digest is in a part. A row that tells of a failure stays
until the point was run again, and gives way to what came of it. All parts have the same columns, so that
other programs open ``FOLDER/*.parquet`` as it is.

    study/runs-000000.parquet     parts
    study/_arrived/<digest>.json.gz
    study/_arrived/lock           held by who gathers
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock

from fiberscope.errors import InputError
from fiberscope.report.document import Report
from fiberscope.report.files import make_folder, write_bytes
from fiberscope.store.columns import DONE, FIXED, LARGE, Row, decoded, parameters, tabulated, unified, widened

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PART_ROWS", "Store"]

PART_ROWS = 1000
ROW = ".json.gz"  # a file of one row
GATHER_ROWS = 500  # files of one row that may pile up
ABANDONED_SECONDS = 60.0  # what is still being written is younger


class Store:
    """The results of sweeps.

    Args:
        folder: made where it is not there, if ``make`` says so.

    Raises:
        InputError: the folder is not there, or cannot be made or written to.
    """

    def __init__(self, folder: str | Path, *, make: bool = False) -> None:
        self.folder = Path(folder)
        self._arrived = self.folder / "_arrived"
        if make:
            make_folder(self._arrived)
        if not self._arrived.is_dir():
            raise InputError(f"{folder}: holds no results; fiberscope sweep ... --store {folder} writes them")
        self._lock = FileLock(self._arrived / "lock")
        self._waiting = 0
        if make:
            self._check_writable()

    def _check_writable(self) -> None:
        try:
            with self._lock:
                pass
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written to: {error.strerror}") from error

    def digests(self) -> set[str]:
        """Of all rows."""
        new = self._new()  # first: one that is gathered meanwhile is in a part
        return set(map(_digest, new)).union(*map(_digests, self._parts()))

    def add(self, digest: str, content: bytes) -> None:
        """Keep a row, as ``columns.encoded`` makes it, in the place of one that tells of a failure.

        When this returns the row is there to stay, and once, whoever else adds it.
        """
        write_bytes(self._arrived / f"{digest}{ROW}", content)
        self._waiting += 1
        if self._waiting >= GATHER_ROWS:
            self.gather()

    def gather(self) -> None:
        """Put what has arrived into parts, and give all parts the same columns."""
        with self._lock:
            self._waiting = 0
            new = self._new()
            if new or not all(map(_has_all_columns, self._parts())):
                self._append(new)
            for file in new:
                file.unlink(missing_ok=True)
            self._sweep_abandoned()

    def _sweep_abandoned(self) -> None:
        for file in (*self.folder.glob(".*.partial"), *self._arrived.glob(".*.partial")):
            with suppress(FileNotFoundError):  # who writes it has renamed it
                if time.time() - file.stat().st_mtime > ABANDONED_SECONDS:
                    file.unlink()

    def table(self, sql: str) -> pa.Table:
        """What a query gives; the rows are called ``runs``.

        Raises:
            InputError: the query cannot be run.
        """
        from fiberscope.store.query import AskedWrongError, run  # noqa: PLC0415  (writing needs no DuckDB)

        with suppress(OSError):  # who may only read sees what has been gathered
            self.gather()
        try:
            return run(sql, self._parts())
        except InputError as error:
            for part in self._parts():  # a damaged one is named, whatever was asked
                _schema(part) if isinstance(error, AskedWrongError) else _table(part)
            raise

    def frame(self) -> pd.DataFrame:
        """A row a finished point, with all columns but the report."""
        found: pd.DataFrame = self.table(f"SELECT * EXCLUDE ({LARGE}) FROM runs").to_pandas()
        return found

    def reports(self, digests: Collection[str]) -> dict[str, Report]:
        """The reports of runs by digest; a run that was refused or killed has none."""
        names = ", ".join(f"'{digest}'" for digest in digests) or "''"
        wanted = f"digest IN ({names}) AND {LARGE} IS NOT NULL"
        rows = self.table(f"SELECT digest, {LARGE} FROM runs WHERE {wanted}").to_pylist()
        return {row["digest"]: Report.model_validate_json(row[LARGE]) for row in rows}

    def parameters(self) -> list[str]:
        """The columns that are parameters of the runs."""
        arrived = tabulated(map(_row, self._new()))
        return parameters(unified([*map(_schema, self._parts()), arrived.schema]))

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob(f"runs-{'[0-9]' * 6}.parquet"))

    def _new(self) -> list[Path]:
        return sorted(self._arrived.glob(f"*{ROW}"))

    def _append(self, new: Sequence[Path]) -> None:
        """Put rows that are not there yet into the last part, if there is room, and into further ones."""
        parts = self._parts()
        done = set().union(*map(_done, parts))
        rows = tabulated(_row(file) for file in new if _digest(file) not in done)
        schema, again = unified([*map(_schema, parts), rows.schema]), set(rows["digest"].to_pylist())
        last = parts.pop() if len(rows) and parts and _rows(parts[-1]) < PART_ROWS else None
        for part in parts:
            if not _schema(part).equals(schema) or not again.isdisjoint(_digests(part)):
                _write(widened(_without(again, part), schema), part)
        number = _number(last) if last else _number(parts[-1]) + 1 if parts else 0  # one may be taken out
        self._write_parts([*([_without(again, last)] if last else []), rows], schema, number)

    def _write_parts(self, tables: Sequence[pa.Table], schema: pa.Schema, number: int) -> None:
        whole = pa.concat_tables([widened(table, schema) for table in tables])
        for offset in range(0, len(whole), PART_ROWS):
            path = self.folder / f"runs-{number + offset // PART_ROWS:06}.parquet"
            _write(whole.slice(offset, PART_ROWS), path)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """A line on a file that has been damaged."""
    try:
        yield
    except (ValueError, OSError) as error:  # pyarrow's are ValueErrors
        said = str(error).replace(f"Could not open Parquet input source '{file}': ", "")
        told = " ".join(said.partition(". ")[0].split()).rstrip(".:")
        raise InputError(
            f"{file}: is damaged: {told}; take it out of the store, and its points run again"
        ) from error


def _digest(file: Path) -> str:
    return file.name.removesuffix(ROW)


def _row(file: Path) -> Row:
    with _readable(file):
        return decoded(file.read_bytes())


def _table(part: Path, columns: list[str] | None = None) -> pa.Table:
    with _readable(part):
        return pq.read_table(part, columns=columns)


def _schema(file: Path) -> pa.Schema:
    with _readable(file):
        return pq.read_schema(file)


def _has_all_columns(part: Path) -> bool:
    """Whether a part has those of every row; an older version knew fewer."""
    return FIXED.keys() <= set(_schema(part).names)


def _digests(part: Path) -> set[str]:
    return set(_table(part, ["digest"])["digest"].to_pylist())


def _done(part: Path) -> set[str]:
    """The digests of rows that are there to stay."""
    table = _table(part, ["digest", "status"])
    return set(table.filter(pc.equal(table["status"], DONE))["digest"].to_pylist())


def _without(digests: Collection[str], part: Path) -> pa.Table:
    """The rows of a part but for these."""
    table = _table(part)
    return table.filter(pc.invert(pc.is_in(table["digest"], pa.array(digests, pa.string()))))


def _number(part: Path) -> int:
    return int(part.stem.removeprefix("runs-"))


def _rows(part: Path) -> int:
    with _readable(part):
        rows: int = pq.read_metadata(part).num_rows
    return rows


def _write(table: pa.Table, path: Path) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes())
