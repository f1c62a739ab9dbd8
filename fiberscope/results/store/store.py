"""Store of results with crash-safe writes.

A row arrives as a file named by its digest, written under another name and renamed, so that it exists whole
and once. From time to time, arrived rows are compacted into parts of up to ``PART_ROWS`` rows. The part is
written first and the arrived files are removed afterwards. A kill in between leaves files whose rows are in
a part too: the row of a finished run in a part has priority over its file, and any other row is replaced by
its file. The row of a failed run is thus replaced when the point is run again. All parts have the same
columns, so that other programs can open ``FOLDER/*.parquet``.

    study/runs-000000.parquet     parts
    study/_arrived/<digest>.json.gz
    study/_arrived/lock           held during compaction
    study/_arrived/stale_sources.json

On object storage no process waits for the lock: if the lock is taken, rows stay in ``_arrived`` and are read
from there.
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

PART_ROWS = 1000  # maximum number of rows of a part
ROW_SUFFIX = ".json.gz"  # suffix of a file of one row
STALE_FILE = "stale_sources.json"  # file with the digests of changed sources
WORKLOAD_NAME = "workload_name"
MAX_PENDING_ROWS = 500  # rows added by this process after which it compacts the store


class Store:
    """Results of sweeps.

    Args:
        address: a folder, or an address of object storage such as ``s3://bucket/study``.
        make: whether to create a missing store, and to check that the store can be written to.

    Attributes:
        address: the address as text.

    Raises:
        InputError: the store does not exist, or cannot be created, reached or written to; or the library of
            the address is missing.
    """

    def __init__(self, address: str | Path, *, make: bool = False) -> None:
        self._location = open_location(address)
        self.address = str(address)
        if make:
            self._location.make()
        elif not self._location.exists():
            raise InputError(
                f"{address}: holds no results; fiberscope sweep ... --store {address} writes them"
            )
        self._pending = 0

    @property
    def name(self) -> str:
        """Return the last part of the address."""
        return self._location.root.resolve().name

    def digests(self) -> set[str]:
        """Return the digests of all rows, including the rows of failed runs."""
        new = self._list_arrived_files()  # listed first: rows compacted meanwhile are in parts
        return set(map(_digest, new)).union(*map(self._digests, self._parts()))

    def add(self, digest: str, content: bytes) -> None:
        """Add a row, or replace the row of a failed run; a finished row in a part has priority over it.

        After the return the row is in a file of its own and survives a kill of this process. The row is
        unique, even if other processes add the same row. Each ``MAX_PENDING_ROWS`` rows, the store is
        compacted, which may wait for another process (see ``gather``).

        Args:
            digest: the key of the row.
            content: the row, as ``columns.encode_row`` returns it.

        Raises:
            InputError: the store cannot be written to, or a file of the store is damaged.
            OSError: the lock of a folder cannot be created.
        """
        self._location.write(self._location.arrived / f"{digest}{ROW_SUFFIX}", content)
        self._pending += 1
        if self._pending >= MAX_PENDING_ROWS:
            self.gather()

    def gather(self) -> None:
        """Compact arrived rows into parts with the same columns.

        If another process compacts a store in a folder, wait for that process. On object storage, return at
        once instead; the rows stay in ``_arrived``. Parts that older versions wrote with fewer columns are
        rewritten, even if no row has arrived.

        Raises:
            InputError: a file of the store is damaged or cannot be written.
            OSError: the lock of a folder cannot be created, for example without write access.
        """
        with suppress(BusyError), self._location.locked():
            self._pending = 0
            new = self._list_arrived_files()
            if new or not all(map(self._has_all_columns, self._parts())):
                self._append_to_parts(new)
            self._location.remove(new)
            self._location.remove_abandoned()

    def name_workloads(self, names: Mapping[str, str]) -> None:
        """Set the column ``workload_name`` of stored rows, after compaction.

        Rows that arrive after the compaction are not renamed. On object storage, nothing is set if another
        process holds the lock.

        Args:
            names: the new name of the workload of a run, by the digest of the run. Digests without a row are
                ignored.

        Raises:
            InputError, OSError: as for ``gather``.
        """
        if not names:
            return
        self.gather()
        with suppress(BusyError), self._location.locked():
            for part in self._parts():
                names_table = self._read_table(part, ["digest", WORKLOAD_NAME])
                old_names = names_table[WORKLOAD_NAME].to_pylist()
                digests = names_table["digest"].to_pylist()
                new_names = [names.get(digest, name) for digest, name in zip(digests, old_names, strict=True)]
                if new_names != old_names:
                    table = self._read_table(part)
                    field = table.schema.field(WORKLOAD_NAME)
                    column = table.column_names.index(WORKLOAD_NAME)
                    self._write(table.set_column(column, field, pa.array(new_names, field.type)), part)

    def table(self, sql: str, *, all_sources: bool = True) -> pa.Table:
        """Return the result of a query of the rows ``runs``.

        The store is compacted first, unless it can only be read.

        Args:
            sql: the query, a single SELECT.
            all_sources: whether to include rows of changed sources (``stale_sources``). Rows of older
                releases and refused rows have no sources; they are always included.

        Raises:
            InputError: the query is no SELECT or cannot be run, or a file of the store is damaged.
            KeyboardInterrupt: the query was interrupted.
        """
        from fiberscope.results.store.query import QueryError, run  # noqa: PLC0415  (writing needs no DuckDB)

        with suppress(OSError):  # read access only
            self.gather()
        new, stale = self._list_arrived_files(), [] if all_sources else self.stale_sources()
        try:
            return run(sql, self._all_rows(new) if new else [*map(self._location.copy, self._parts())], stale)
        except InputError as error:
            # DuckDB's message about a damaged part has no advice: reading the parts raises the error of the
            # damaged one instead. For a wrong query, reading their schemas is enough.
            for part in self._parts():
                self._read_schema(part) if isinstance(error, QueryError) else self._read_table(part)
            raise

    def frame(self, *, all_sources: bool = False) -> pd.DataFrame:
        """Return a row for each stored run, also refused and failed runs, with all columns but the report.

        Columns of parameters have dotted keys, as ``pe.count``. A parameter with the key of a fixed column
        keeps the name of its column, which begins with ``set_``.

        Args:
            all_sources: as for ``table``, but rows of changed sources are left out by default.

        Raises:
            InputError: a file of the store is damaged.
            ModuleNotFoundError: pandas is not installed.
        """
        query = f"SELECT * EXCLUDE ({LARGE}) FROM runs"
        frame: pd.DataFrame = self.table(query, all_sources=all_sources).to_pandas()
        keys = {name: key for name, key in self.parameters().items() if key not in FIXED}
        return frame.rename(columns=keys)

    def reports(self, digests: Collection[str]) -> dict[str, Report]:
        """Return the reports of runs by digest, in any order.

        Runs without a report are left out: unknown digests, and refused, crashed and killed runs. A run that
        deadlocked or whose result was wrong has a report.

        Raises:
            InputError: a report cannot be read, such as a report of a later release.
        """
        names = ", ".join(f"'{digest}'" for digest in digests) or "''"  # SQL has no empty list
        condition = f"digest IN ({names}) AND {LARGE} IS NOT NULL"
        rows = self.table(f"SELECT digest, {LARGE} FROM runs WHERE {condition}").to_pylist()
        return {
            digest: Report.parse(row[LARGE], f"{self.address}: row {digest[:12]}")
            for row in rows
            if (digest := row["digest"])
        }

    def stale_sources(self) -> list[str]:
        """Return the digests of changed sources, as the last sweep recorded them.

        Rows of a changed source were written by an older version of the sources of their machine.

        Raises:
            InputError: the file of the digests is damaged.
        """
        files, stale = self._location.files(self._location.arrived, STALE_FILE), []
        for file, content in self._location.read_contents(files):
            with _convert_damage_errors(file):
                stale += json.loads(content)
        return stale

    def note_stale(self, sources: Iterable[str]) -> None:
        """Record the digests of changed sources, in place of those recorded before."""
        if (digests := sorted(sources)) != self.stale_sources():
            self._location.write(self._location.arrived / STALE_FILE, json.dumps(digests).encode())

    def hidden(self) -> int:
        """Return the number of rows of changed sources."""
        stale = ", ".join(f"'{source}'" for source in self.stale_sources())
        if not stale:
            return 0
        count = self.table(f"SELECT count(*) AS rows FROM runs WHERE source IN ({stale})")
        return int(count["rows"][0].as_py())

    def parameters(self) -> dict[str, str]:
        """Return the columns of parameters with their dotted keys."""
        arrived = tabulate_rows(self._read_rows(self._list_arrived_files()))
        return parameters(unify_schemas([*map(self._read_schema, self._parts()), arrived.schema]))

    def contents(self) -> dict[str, bytes]:
        """Return the contents of all files of the store by relative path, after compaction; for an archive.

        The lock and partial files are left out. In a folder, the saved operands are included.
        """
        with suppress(OSError):  # read access only
            self.gather()
        arrived = [*self._list_arrived_files(), *self._location.files(self._location.arrived, STALE_FILE)]
        folder = self._location.arrived.name
        # The arrived rows come first: rows compacted meanwhile are in parts
        files = {f"{folder}/{file.name}": content for file, content in self._location.read_contents(arrived)}
        files |= {file.name: content for file, content in self._location.read_contents(self._parts())}
        root = Path(str(self._location.root))  # remote stores have no operands
        operands = sorted(root.glob(f"{OPERANDS}/*/*.npz"))
        return files | {file.relative_to(root).as_posix(): file.read_bytes() for file in operands}

    def _parts(self) -> list[Address]:
        return self._location.files(self._location.root, f"runs-{'[0-9]' * 6}.parquet")

    def _list_arrived_files(self) -> list[Address]:
        return self._location.files(self._location.arrived, f"*{ROW_SUFFIX}")

    def _read_rows(self, files: Sequence[Address]) -> list[Row]:
        """Return the rows of files of one row; a file that is gone is skipped: its row is in a part."""
        rows = []
        for file, content in self._location.read_contents(files):
            with _convert_damage_errors(file):
                rows.append(decode_row(content))
        return rows

    def _drop_rows_in_parts(self, rows: Iterable[Row], parts: Sequence[Address]) -> pa.Table:
        """Return the rows without those of finished runs that are in a part, which have priority."""
        finished = set().union(*map(self._finished_digests, parts))
        return tabulate_rows(row for row in rows if row.values["digest"] not in finished)

    def _all_rows(self, new: Sequence[Address]) -> pa.Table:
        """Return all rows, including those of the files ``new``; each digest occurs once."""
        arrived = self._read_rows(new)
        parts = self._parts()  # listed later: rows compacted meanwhile are included
        rows = self._drop_rows_in_parts(arrived, parts)
        replaced = set(rows["digest"].to_pylist())
        tables = [*(self._read_rows_except(replaced, part) for part in parts), rows]
        schema = unify_schemas(table.schema for table in tables)
        return pa.concat_tables([widen_table(table, schema) for table in tables])

    def _append_to_parts(self, new: Sequence[Address]) -> None:
        """Add arrived rows to the last part if it has space, and to further parts.

        The other parts are rewritten only if they lack a column or have a row that an arrived row replaces. A
        kill between two writes loses no row: replaced rows are still in their files, and the rows of the last
        part come first in the part that takes its name.
        """
        parts = self._parts()
        rows = self._drop_rows_in_parts(self._read_rows(new), parts)
        schema = unify_schemas([*map(self._read_schema, parts), rows.schema])
        replaced = set(rows["digest"].to_pylist())
        last = parts.pop() if len(rows) and parts and self._count(parts[-1]) < PART_ROWS else None
        for part in parts:
            if not self._read_schema(part).equals(schema) or not replaced.isdisjoint(self._digests(part)):
                self._write(widen_table(self._read_rows_except(replaced, part), schema), part)
        number = _number(last) if last else _number(parts[-1]) + 1 if parts else 0  # a part may be rewritten
        self._write_parts([*([self._read_rows_except(replaced, last)] if last else []), rows], schema, number)

    def _write_parts(self, tables: Sequence[pa.Table], schema: pa.Schema, number: int) -> None:
        merged = pa.concat_tables([widen_table(table, schema) for table in tables])
        for offset in range(0, len(merged), PART_ROWS):
            path = self._location.root / f"runs-{number + offset // PART_ROWS:06}.parquet"
            self._write(merged.slice(offset, PART_ROWS), path)

    def _write(self, table: pa.Table, part: Address) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self._location.write(part, sink.getvalue().to_pybytes())

    def _read_table(self, part: Address, columns: list[str] | None = None) -> pa.Table:
        with self._open(part) as file:
            return pq.read_table(file, columns=columns, partitioning=None)

    def _read_schema(self, part: Address) -> pa.Schema:
        with self._open(part) as file:
            return pq.read_schema(file)

    def _count(self, part: Address) -> int:
        """Return the number of rows of a part."""
        with self._open(part) as file:
            metadata = pq.read_metadata(file)
        rows: int = metadata.num_rows
        return rows

    @contextmanager
    def _open(self, part: Address) -> Iterator[BinaryIO]:
        """Open a local copy of a part, because Arrow interprets some names as addresses."""
        copy = self._location.copy(part)
        try:
            file = copy.open("rb")
        except OSError as error:
            raise InputError(f"{part}: cannot be read: {error.strerror or error}") from error
        with file, _convert_damage_errors(part):
            yield file

    def _has_all_columns(self, part: Address) -> bool:
        """Return whether a part has all fixed columns; older versions wrote fewer."""
        return FIXED.keys() <= set(self._read_schema(part).names)

    def _digests(self, part: Address) -> set[str]:
        return set(self._read_table(part, ["digest"])["digest"].to_pylist())

    def _finished_digests(self, part: Address) -> set[str]:
        """Return the digests of finished runs in a part."""
        table = self._read_table(part, ["digest", "status"])
        return set(table.filter(pc.equal(table["status"], DONE))["digest"].to_pylist())

    def _read_rows_except(self, digests: Collection[str], part: Address) -> pa.Table:
        """Return the rows of a part without some digests."""
        table = self._read_table(part)
        return table.filter(pc.invert(pc.is_in(table["digest"], pa.array(digests, pa.string()))))


@contextmanager
def _convert_damage_errors(file: Address) -> Iterator[None]:
    """Convert errors of a damaged file into an ``InputError``."""
    try:
        yield
    except (ValueError, OSError) as error:  # pyarrow's are ValueErrors
        text = str(error).replace("Could not open Parquet input source '<Buffer>': ", "")
        reason = " ".join(text.partition(". ")[0].split()).rstrip(".:")
        raise InputError(
            f"{file}: is damaged: {reason}; remove it from the store; the next sweep then repeats its runs"
        ) from error


def describe_hidden_rows(count: int) -> str:
    """Return the note on hidden rows of changed sources."""
    rows = f"{count:,} {'row' if count == 1 else 'rows'}"
    return f"Hidden: {rows} of sources that have changed since; --all-sources shows all rows"


def _digest(file: Address) -> str:
    """Return the digest of the row in a file of one row."""
    return file.name.removesuffix(ROW_SUFFIX)


def _number(part: Address) -> int:
    """Return the number in the name of a part."""
    return int(part.stem.removeprefix("runs-"))
