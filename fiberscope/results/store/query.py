"""SQL queries of a store, executed by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from fiberscope.base.errors import InputError
from fiberscope.results.store.columns import FIXED

POLL_SECONDS = 0.05  # interval at which a waiting query handles signals


class QueryError(InputError):
    """A query is wrong, for example its syntax or a name; the files of the rows are not at fault."""


def open_database() -> duckdb.DuckDBPyConnection:
    """Open an empty database that loads no extensions from a network."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=settings)


def run(sql: str, rows: Sequence[Path] | pa.Table, stale: Sequence[str] = ()) -> pa.Table:
    """Return the result of a query of the rows ``runs``.

    Each call opens a database of its own in memory and reads the files anew. The query runs in a separate
    thread, because DuckDB rarely checks for Ctrl-C.

    Args:
        sql: the query.
        rows: a table, or the Parquet files with the rows.
        stale: digests of sources whose rows are excluded; rows without a source are included.

    Raises:
        InputError: an error of DuckDB in one line; ``QueryError`` if only the query is at fault.
        KeyboardInterrupt: the query was interrupted.
    """
    with _link_files(rows) as source, open_database() as connection, ThreadPoolExecutor(1) as executor:
        future = executor.submit(_execute, connection, sql, source, stale)
        try:
            while not future.done():  # signals are handled between waits
                wait([future], POLL_SECONDS)
            return future.result()
        except KeyboardInterrupt:
            while not future.done():  # a query that has not started ignores an interrupt
                connection.interrupt()
                wait([future], POLL_SECONDS)
            raise
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            advice = suggest_columns(sql, connection)
            raise QueryError(
                "; ".join([f"{' '.join(sql.split())}: {_format_error(error)}", *advice])
            ) from error
        except duckdb.Error as error:
            raise InputError(_format_error(error)) from error


@contextmanager
def _link_files(rows: Sequence[Path] | pa.Table) -> Iterator[Sequence[str] | pa.Table]:
    """Link files to names without special characters, because DuckDB interprets names as patterns."""
    if isinstance(rows, pa.Table):
        yield rows
        return
    with TemporaryDirectory(prefix="fiberscope-") as folder:
        links = [Path(folder, f"{number}.parquet") for number in range(len(rows))]
        for link, file in zip(links, rows, strict=True):
            link.symlink_to(file.absolute())
        yield [str(link) for link in links]


def _execute(
    connection: duckdb.DuckDBPyConnection, sql: str, rows: Sequence[str] | pa.Table, stale: Sequence[str]
) -> pa.Table:
    """Create the view ``runs`` of the rows whose source is not stale, and execute a query.

    Without files, the view has the fixed columns and no rows, so that a query of an empty store is valid.
    """
    if isinstance(rows, pa.Table):
        runs = connection.from_arrow(rows)
    elif rows:
        runs = connection.from_parquet(rows, hive_partitioning=False)
    else:
        empty = pa.Table.from_batches([], pa.schema(FIXED.items()))  # empty_table loads pandas
        runs = connection.from_arrow(empty)
    if stale:
        digests = ", ".join(f"'{digest}'" for digest in stale)
        runs = runs.filter(f"source IS NULL OR source NOT IN ({digests})")
    runs.create_view("runs")
    return connection.sql(_check_select(connection, sql)).to_arrow_table()


def _check_select(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return a query if it is a single SELECT; other statements could write files or access a network."""
    kinds = [statement.type for statement in connection.extract_statements(sql)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise InputError(
            f"{' '.join(sql.split()) or 'no SQL'}: write one SELECT; a store can be queried, not changed"
        )
    return sql


def suggest_columns(sql: str, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Suggest columns for parameters in the notation of other places: ``pe.count`` or ``pe__count``.

    Words of the query that are columns already, or that name no column, give no suggestion.

    Args:
        sql: the query, or a part of a query.
        connection: a database with the rows as ``runs``.
    """
    columns = set(connection.table("runs").columns)
    names = {name: re.sub(r"\.|__", "_", name) for name in re.findall(r"[A-Za-z_][\w.]*", sql)}
    return [
        f"the column of {name} is {column}"
        for name, column in names.items()
        if name not in columns and column in columns
    ]


def _format_error(error: Exception) -> str:
    """Return the first line of DuckDB's error, and its suggestions, in one line; the position is left out."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    advice = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    return "; ".join([lines[0], *advice])
