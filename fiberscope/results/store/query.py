"""Queries of a store, by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from fiberscope.base.errors import InputError
from fiberscope.results.store.columns import FIXED

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["AskedWrongError", "run"]

LOOK_SECONDS = 0.05


class AskedWrongError(InputError):
    """A query that no rows could answer."""


def run(sql: str, rows: Sequence[str] | pa.Table, filesystem: AbstractFileSystem | None = None) -> pa.Table:
    """What a query gives of rows, which it calls ``runs``.

    It runs in a thread of its own, for in its midst DuckDB seldom looks whether Ctrl-C was pressed.

    Args:
        sql: the query.
        rows: themselves, or the addresses of the Parquet files that they are in.
        filesystem: that has the files, where it is not this computer's.

    Raises:
        InputError: as DuckDB puts it, in a line; ``AskedWrongError`` if that is the query's fault alone.
        KeyboardInterrupt: it was interrupted.
    """
    with duckdb.connect(":memory:") as connection, ThreadPoolExecutor(1) as beside:
        if filesystem is not None:
            connection.register_filesystem(filesystem)
        future = beside.submit(_table, connection, sql, rows)
        try:
            while not future.done():  # a signal that another thread got is heard of in between
                wait([future], LOOK_SECONDS)
            return future.result()
        except KeyboardInterrupt:
            while not future.done():  # one that is about to begin would not hear of it
                connection.interrupt()
                wait([future], LOOK_SECONDS)
            raise
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            raise AskedWrongError(f"{' '.join(sql.split())}: {_line(error)}") from error
        except duckdb.Error as error:
            raise InputError(f"{' '.join(sql.split())}: {_line(error)}") from error


def _table(connection: duckdb.DuckDBPyConnection, sql: str, rows: Sequence[str] | pa.Table) -> pa.Table:
    if isinstance(rows, pa.Table):
        connection.from_arrow(rows).create_view("runs")
    elif rows:
        connection.from_parquet(rows).create_view("runs")
    else:
        empty = pa.Table.from_batches([], pa.schema(FIXED.items()))  # empty_table loads pandas
        connection.from_arrow(empty).create_view("runs")
    return connection.sql(_asked(connection, sql)).to_arrow_table()


def _asked(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """A query that is one question: others may write files, or load them from a network."""
    kinds = [statement.type for statement in connection.extract_statements(sql)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise InputError(
            f"{' '.join(sql.split()) or 'no SQL'}: write one SELECT; a store is asked and not changed"
        )
    return sql


def _line(error: Exception) -> str:
    """What is wrong, and what might have been meant."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    advice = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    return "; ".join([lines[0], *advice])
