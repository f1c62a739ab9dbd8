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
    study/_arrived/stale_sources.json

On object storage it is the same, but that nobody waits for the lock: who finds it taken leaves the rows where
they have arrived, and reads them there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.results.store.columns import (
    DONE,
    FIXED,
    LARGE,
    Row,
    decode_row,
    parameters,
    tabulate_rows,
    unify_schemas,
    widen_table,
)
from fiberscope.results.store.locations import Address, BusyError, open_location
from fiberscope.results.store_layout import OPERANDS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PART_ROWS", "Store", "hidden_rows"]

PART_ROWS = 1000
ROW = ".json.gz"  # a file of one row
STALE = "stale_sources.json"
WORKLOAD_NAME = "workload_name"
GATHER_ROWS = 500  # files of one row that may pile up


class Store:
    """The results of sweeps.

    Args:
        address: of its folder, or of object storage, as ``s3://bucket/study``; made where it is not there, if
            ``make`` says so.

    Raises:
        InputError: there is none, or it cannot be made, reached or written to.
    """

    def __init__(self, address: str | Path, *, make: bool = False) -> None:
        self._place = open_location(address)
        self.address = str(address)
        if make:
            self._place.make()
        elif not self._place.is_made():
            raise InputError(
                f"{address}: holds no results; fiberscope sweep ... --store {address} writes them"
            )
        self._waiting = 0

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self._place.root.resolve().name

    def digests(self) -> set[str]:
        """Return the digests of all rows."""
        new = self._new()  # first: one that is gathered meanwhile is in a part
        return set(map(_digest, new)).union(*map(self._digests, self._parts()))

    def add(self, digest: str, content: bytes) -> None:
        """Keep a row, as ``columns.encoded`` makes it, in the place of one that tells of a failure.

        When this returns the row is there to stay, and once, whoever else adds it.
        """
        self._place.write(self._place.arrived / f"{digest}{ROW}", content)
        self._waiting += 1
        if self._waiting >= GATHER_ROWS:
            self.gather()

    def gather(self) -> None:
        """Put what has arrived into parts, and give all parts the same columns; where others do, leave it."""
        with suppress(BusyError), self._place.locked():
            self._waiting = 0
            new = self._new()
            if new or not all(map(self._has_all_columns, self._parts())):
                self._append(new)
            self._place.remove(new)
            self._place.remove_abandoned()

    def name_workloads(self, names: Mapping[str, str]) -> None:
        """Give workloads of runs their names, by the digests of the runs, in the place of those before."""
        if not names:
            return
        self.gather()
        with suppress(BusyError), self._place.locked():
            for part in self._parts():
                named = self._table(part, ["digest", WORKLOAD_NAME])
                before = named[WORKLOAD_NAME].to_pylist()
                digests = named["digest"].to_pylist()
                after = [names.get(digest, name) for digest, name in zip(digests, before, strict=True)]
                if after != before:
                    table = self._table(part)
                    field = table.schema.field(WORKLOAD_NAME)
                    at = table.column_names.index(WORKLOAD_NAME)
                    self._write(table.set_column(at, field, pa.array(after, field.type)), part)

    def table(self, sql: str, *, all_sources: bool = True) -> pa.Table:
        """Return the result of a query; the rows are called ``runs``.

        Args:
            sql: the query.
            all_sources: whether the rows include those of sources that have changed since. Rows of older
                releases and refused rows have no sources; they are always included.

        Raises:
            InputError: the query cannot be run.
        """
        from fiberscope.results.store.query import QueryError, run  # noqa: PLC0415  (writing needs no DuckDB)

        with suppress(OSError):  # of who may only read
            self.gather()
        new, stale = self._new(), [] if all_sources else self.stale_sources()
        try:
            return run(sql, self._whole(new) if new else [*map(self._place.copy, self._parts())], stale)
        except InputError as error:
            for part in self._parts():  # a damaged one is named, whatever was asked
                self._schema(part) if isinstance(error, QueryError) else self._table(part)
            raise

    def frame(self, *, all_sources: bool = False) -> pd.DataFrame:
        """Return a row for each finished point, with all columns but the report.

        Columns of parameters have dotted keys, as ``pe.count``, unless another column has this name.

        Args:
            all_sources: as of ``table``.
        """
        query = f"SELECT * EXCLUDE ({LARGE}) FROM runs"
        frame: pd.DataFrame = self.table(query, all_sources=all_sources).to_pandas()
        keys = {name: key for name, key in self.parameters().items() if key not in FIXED}
        return frame.rename(columns=keys)

    def reports(self, digests: Collection[str]) -> dict[str, Report]:
        """The reports of runs by digest; a run that was refused or killed has none.

        Raises:
            InputError: the report of a row cannot be read, as one of a later release.
        """
        names = ", ".join(f"'{digest}'" for digest in digests) or "''"
        wanted = f"digest IN ({names}) AND {LARGE} IS NOT NULL"
        rows = self.table(f"SELECT digest, {LARGE} FROM runs WHERE {wanted}").to_pylist()
        return {
            digest: Report.parse(row[LARGE], f"{self.address}: row {digest[:12]}")
            for row in rows
            if (digest := row["digest"])
        }

    def stale_sources(self) -> list[str]:
        """Return the digests of sources that have changed since, as the last sweep of a machine found."""
        files = self._place.files(self._place.arrived, STALE)
        return [source for _file, content in self._place.contents(files) for source in json.loads(content)]

    def note_stale(self, sources: Iterable[str]) -> None:
        """Keep the digests of sources that have changed, in the place of those before."""
        if sorted(sources) != self.stale_sources():
            self._place.write(self._place.arrived / STALE, json.dumps(sorted(sources)).encode())

    def hidden(self) -> int:
        """Return the number of rows of sources that have changed since."""
        stale = ", ".join(f"'{source}'" for source in self.stale_sources())
        if not stale:
            return 0
        count = self.table(f"SELECT count(*) AS rows FROM runs WHERE source IN ({stale})")
        return int(count["rows"][0].as_py())

    def parameters(self) -> dict[str, str]:
        """The columns that are parameters of the runs, with their dotted keys."""
        arrived = tabulate_rows(self._rows(self._new()))
        return parameters(unify_schemas([*map(self._schema, self._parts()), arrived.schema]))

    def contents(self) -> dict[str, bytes]:
        """Return the files of the store by their names in it, with the rows in as few of them as can be."""
        with suppress(OSError):  # of who may only read
            self.gather()
        arrived = [*self._new(), *self._place.files(self._place.arrived, STALE)]
        folder = self._place.arrived.name
        parts = {file.name: content for file, content in self._place.contents(self._parts())}
        parts |= {f"{folder}/{file.name}": content for file, content in self._place.contents(arrived)}
        root = Path(str(self._place.root))  # of a folder of this computer; others have no operands
        operands = sorted(root.glob(f"{OPERANDS}/*/*.npz"))
        return parts | {file.relative_to(root).as_posix(): file.read_bytes() for file in operands}

    def _parts(self) -> list[Address]:
        return self._place.files(self._place.root, f"runs-{'[0-9]' * 6}.parquet")

    def _new(self) -> list[Address]:
        return self._place.files(self._place.arrived, f"*{ROW}")

    def _rows(self, files: Sequence[Address]) -> list[Row]:
        """The rows of files of one row; one that is gone has been gathered."""
        rows = []
        for file, content in self._place.contents(files):
            with _readable(file):
                rows.append(decode_row(content))
        return rows

    def _fresh(self, rows: Iterable[Row], parts: Sequence[Address]) -> pa.Table:
        """Return the rows that are not in parts yet."""
        done = set().union(*map(self._done, parts))
        return tabulate_rows(row for row in rows if row.values["digest"] not in done)

    def _whole(self, new: Sequence[Address]) -> pa.Table:
        """Return all rows, with those that have arrived and are not gathered."""
        arrived = self._rows(new)
        parts = self._parts()  # later: what is gathered meanwhile is in one of them
        rows = self._fresh(arrived, parts)
        again = set(rows["digest"].to_pylist())
        tables = [*(self._without(again, part) for part in parts), rows]
        schema = unify_schemas(table.schema for table in tables)
        return pa.concat_tables([widen_table(table, schema) for table in tables])

    def _append(self, new: Sequence[Address]) -> None:
        """Put rows that are not there yet into the last part, if there is room, and into further ones."""
        parts = self._parts()
        rows = self._fresh(self._rows(new), parts)
        schema = unify_schemas([*map(self._schema, parts), rows.schema])
        again = set(rows["digest"].to_pylist())
        last = parts.pop() if len(rows) and parts and self._count(parts[-1]) < PART_ROWS else None
        for part in parts:
            if not self._schema(part).equals(schema) or not again.isdisjoint(self._digests(part)):
                self._write(widen_table(self._without(again, part), schema), part)
        number = _number(last) if last else _number(parts[-1]) + 1 if parts else 0  # one may be taken out
        self._write_parts([*([self._without(again, last)] if last else []), rows], schema, number)

    def _write_parts(self, tables: Sequence[pa.Table], schema: pa.Schema, number: int) -> None:
        whole = pa.concat_tables([widen_table(table, schema) for table in tables])
        for offset in range(0, len(whole), PART_ROWS):
            path = self._place.root / f"runs-{number + offset // PART_ROWS:06}.parquet"
            self._write(whole.slice(offset, PART_ROWS), path)

    def _write(self, table: pa.Table, part: Address) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self._place.write(part, sink.getvalue().to_pybytes())

    def _table(self, part: Address, columns: list[str] | None = None) -> pa.Table:
        with self._opened(part) as file:
            return pq.read_table(file, columns=columns, partitioning=None)

    def _schema(self, part: Address) -> pa.Schema:
        with self._opened(part) as file:
            return pq.read_schema(file)

    def _count(self, part: Address) -> int:
        """Return the number of rows of a part."""
        with self._opened(part) as file:
            metadata = pq.read_metadata(file)
        rows: int = metadata.num_rows
        return rows

    @contextmanager
    def _opened(self, part: Address) -> Iterator[BinaryIO]:
        """Open a file of this computer with the content of a part; Arrow takes some names for addresses."""
        copy = self._place.copy(part)
        try:
            file = copy.open("rb")
        except OSError as error:
            raise InputError(f"{part}: cannot be read: {error.strerror or error}") from error
        with file, _readable(part):
            yield file

    def _has_all_columns(self, part: Address) -> bool:
        """Return whether a part has those of every row; an older version knew fewer."""
        return FIXED.keys() <= set(self._schema(part).names)

    def _digests(self, part: Address) -> set[str]:
        return set(self._table(part, ["digest"])["digest"].to_pylist())

    def _done(self, part: Address) -> set[str]:
        """The digests of rows that are there to stay."""
        table = self._table(part, ["digest", "status"])
        return set(table.filter(pc.equal(table["status"], DONE))["digest"].to_pylist())

    def _without(self, digests: Collection[str], part: Address) -> pa.Table:
        """The rows of a part but for these."""
        table = self._table(part)
        return table.filter(pc.invert(pc.is_in(table["digest"], pa.array(digests, pa.string()))))


@contextmanager
def _readable(file: Address) -> Iterator[None]:
    """A line on a file that has been damaged."""
    try:
        yield
    except (ValueError, OSError) as error:  # pyarrow's are ValueErrors
        said = str(error).replace("Could not open Parquet input source '<Buffer>': ", "")
        reason = " ".join(said.partition(". ")[0].split()).rstrip(".:")
        raise InputError(
            f"{file}: is damaged: {reason}; remove it from the store; the next sweep then repeats its runs"
        ) from error


def hidden_rows(count: int) -> str:
    """Return the note on rows that are not shown, as their sources have changed since."""
    rows = f"{count:,} {'row' if count == 1 else 'rows'}"
    return f"Hidden: {rows} of sources that have changed since; --all-sources shows all rows"


def _digest(file: Address) -> str:
    return file.name.removesuffix(ROW)


def _number(part: Address) -> int:
    return int(part.stem.removeprefix("runs-"))
