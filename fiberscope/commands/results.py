"""``fiberscope results``: queries, tables and exports of a store."""

from __future__ import annotations

import sys
from decimal import Decimal
from json import dumps, loads
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import AllSources, Markdown
from fiberscope.commands.stored_comparison import ComparisonOptions
from fiberscope.commands.study_files import StudyFileOptions
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_text
from fiberscope.results.report.surrogates import DAGGER, SURROGATE, format_footnote

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fiberscope.results.store import Store

MAX_ROWS = 40  # printed rows, except as Markdown
# SQL expressions and columns of the table runs
NAME = "coalesce(workload_name, workload)"
WORKLOAD = f"{NAME} || if(workload_source = '{SURROGATE}', '{DAGGER}', '') AS workload"
CYCLES, INTERVAL, SAMPLING = "cycles", ("cycles_low", "cycles_high"), "sampling"
SOURCES = "substr(runs.source, 1, 12) AS source, version"

_Address = Annotated[str, typer.Argument(metavar="DIR|URL", help="Store of a sweep: a folder or an address.")]
_Where = Annotated[
    str | None,
    typer.Option(
        metavar="SQL", help="Show only these rows, for example \"pe_count > 16 AND status = 'done'\"."
    ),
]
_Sort = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Sort by this column, for example 'cycles DESC'; repeatable."),
]
_Columns = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Show these columns, or SQL over columns.")
]
_Sources = Annotated[
    bool, typer.Option("--sources", help="Show all rows with their sources and version, grouped by these.")
]
_Sql = Annotated[
    str | None, typer.Option(metavar="SQL", help="Run this DuckDB query; the table is called runs.")
]
_Csv = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the rows as CSV to this file; - prints them.")
]
_Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the rows as JSON to this file; - prints them.")
]
_Latex = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the table as LaTeX to this file; - prints it.")
]


@expand_groups()
def results(
    address: _Address,
    files: StudyFileOptions,
    comparison: ComparisonOptions,
    where: _Where = None,
    sort: _Sort = None,
    columns: _Columns = None,
    sources: _Sources = False,
    all_sources: AllSources = False,
    sql: _Sql = None,
    csv: _Csv = None,
    json: _Json = None,
    latex: _Latex = None,
    markdown: Markdown = False,
) -> None:
    """Show the results of a sweep as a table, a row for each run.

    Prints the most important columns, as --latex and --markdown do; --csv and --json write all columns.
    --compare shows machines side by side, --plot draws a figure, --archive writes the store for others.

    \b
    Examples:
      fiberscope results study --where "pe_count > 16" --sort cycles
      fiberscope results study --csv -
      fiberscope results study --where "pe_count = 32" --plot speedups.pdf
      fiberscope results study --compare --columns speedup,edp --mean geometric,harmonic --latex table.tex
      fiberscope results study --archive study.zip
      fiberscope results study --sql "SELECT workload, min(cycles) FROM runs GROUP BY ALL"
    """
    _check_query(sql, where or sort or columns or sources or files.plot)
    comparison.check(files.against, files.plot, {"--sql": sql, "--sources": sources, "--json": json})
    outputs = {"--csv": csv, "--json": json, "--latex": latex}
    check_outputs({**outputs, "--plot": files.plot, "--archive": files.archive}, {})
    store, all_rows = _open(address), sources or all_sources
    files.write(store, where, sort or [], all_sources=all_rows)
    if comparison.compare:
        tables = {"columns": columns, "latex": latex, "csv": csv, "markdown": markdown}
        row_options = {"store": store, "where": where, "sort": sort or [], "against": files.against}
        comparison.write(tables, **row_options, all_sources=all_rows)
        return
    hides_table = not {csv, json, files.plot, files.archive} <= {None} or latex == STANDARD_OUTPUT
    order = sort or (["version", "source", "machine", "workload", "digest"] if sources else [])
    if csv is not None or json is not None:
        selection = columns or "* EXCLUDE (report)"  # the JSON of a whole report would be in every row
        _write_rows(store.table(sql or _query(selection, where, order), all_sources=all_rows), csv, json)
    if latex is not None or not hides_table:
        selection = ", ".join([*([SOURCES] if sources else []), columns or _choose_columns(store, all_rows)])
        rows = store.table(sql or _query(selection, where, order), all_sources=all_rows)
        _write_table(rows, latex, None if hides_table else markdown, store, all_rows)
    _print_hidden(store, 0 if all_rows else store.hidden(), hides_table, bool(sources or sql))


def _open(address: str) -> Store:
    from fiberscope.results.store import Store

    return Store(address)


def _check_query(sql: str | None, additions: object) -> None:
    """Check that no option adds to a complete query.

    Raises:
        InputError: there are a query and such options.
    """
    if sql is not None and additions:
        raise InputError("--sql is a whole query; put --where, --sort, --columns and --sources into it")


def _print_hidden(store: Store, hidden: int, hides_table: bool, has_selected_sources: bool) -> None:
    """Print the number of hidden rows, or that rows have several sources.

    Args:
        hidden: the number of hidden rows.
        hides_table: whether files are written in place of the table; the note then goes to stderr.
        has_selected_sources: whether the user has selected the sources.
    """
    from fiberscope.results.store.store import describe_hidden_rows

    if hidden:
        print(describe_hidden_rows(hidden), file=sys.stderr if hides_table else sys.stdout)
    elif not (hides_table or has_selected_sources):
        _print_source_count(store)


def _write_rows(rows: pa.Table, csv: Path | None, json: Path | None) -> None:
    """Write the rows to the requested files."""
    if csv is not None:
        write_text(csv, _as_csv(rows))
    if json is not None:
        write_text(json, dumps(_as_json(rows.to_pylist()), indent=2, default=str) + "\n")


def _query(columns: str, where: str | None, sort: Sequence[str]) -> str:
    """Return the query for columns and rows in an order."""
    order = [f"ORDER BY {', '.join(sort)}"] if sort else []
    return " ".join([f"SELECT {columns} FROM runs", *([f"WHERE {where}"] if where else []), *order])


def _format_surrogate_note(store: Store, all_sources: bool) -> str:
    """Return the note on the surrogate workloads of all rows, also of rows not shown; empty without any."""
    query = f"SELECT DISTINCT workload FROM runs WHERE workload_source = '{SURROGATE}' ORDER BY workload"
    return format_footnote(row["workload"] for row in store.table(query, all_sources=all_sources).to_pylist())


def _count_estimates(store: Store, all_sources: bool) -> int:
    """Return the number of all rows with estimated cycles, also of rows not shown."""
    query = "SELECT count(*) AS rows FROM runs WHERE cycles_low IS NOT NULL"
    return int(store.table(query, all_sources=all_sources)["rows"][0].as_py())


def _print_notes(store: Store, all_sources: bool) -> None:
    """Print notes on surrogates and on estimated cycles, which concern all rows, whether shown or not."""
    if note := _format_surrogate_note(store, all_sources):
        print(note)
    if count := _count_estimates(store, all_sources):
        print(f"Estimated cycles: {count:,} rows; the 95% interval is from cycles_low to cycles_high")


def _print_source_count(store: Store) -> None:
    """Print a note if rows of a machine have several sources."""
    counts = store.table(
        "SELECT count(DISTINCT source) AS count FROM runs GROUP BY command, accelerator, parts"
    )
    largest = max((row["count"] for row in counts.to_pylist()), default=0)
    if largest > 1:
        print(f"Rows of a machine are of up to {largest:,} sources; --sources tells them apart")


def _choose_columns(store: Store, all_sources: bool) -> str:
    """Return the default columns: machine, workload, parameters and the most important results."""
    # Quoted, since the name of a parameter may be a word of SQL.
    parameters = [f'"{name}"' for name in store.parameters()]
    interval = [*INTERVAL, SAMPLING] if _count_estimates(store, all_sources) else []
    first, last = ("machine", WORKLOAD), ("traffic_bytes", "wall_seconds", "reason")
    return ", ".join([*first, *parameters, "status", CYCLES, *interval, *last])


def _as_csv(rows: pa.Table) -> str:
    import pyarrow as pa
    from pyarrow.csv import write_csv

    sink = pa.BufferOutputStream()
    try:
        write_csv(rows, sink)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"as CSV: {' '.join(str(error).split())}; --json has lists and structures"
        ) from error
    return str(sink.getvalue().to_pybytes(), "utf-8")


def _as_json(value: object) -> object:
    """Convert a value to JSON: non-finite numbers become null, DuckDB's decimals become numbers.

    Keys of a mapping become text. JSON has no infinity and no NaN.
    """
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def _count_label_columns(kinds: Sequence[pa.DataType]) -> int:
    """Return the number of leading columns with texts or truth values, by the types of all columns."""
    return next((index for index, kind in enumerate(kinds) if kind not in ("string", "bool")), len(kinds))


def _as_latex(rows: pa.Table, note: str) -> str:
    """Return all rows as a LaTeX float with booktabs, without empty columns."""
    from fiberscope.results.report.latex import format_latex_float, format_latex_tabular

    rows = _add_spreads(rows)
    columns = {
        index: texts
        for index, column in enumerate(rows.columns)
        if any(texts := [_format_value(value) for value in column.to_pylist()])
    }
    heads = [rows.column_names[index] for index in columns]
    labels = _count_label_columns([rows.schema.field(index).type for index in columns])
    tabular = format_latex_tabular(heads, [("", list(zip(*columns.values(), strict=True)))], labels=labels)
    return format_latex_float("Results.", "tab:results", [tabular], filter(None, [note]))


def _write_table(
    rows: pa.Table, latex: Path | None, markdown: bool | None, store: Store, all_sources: bool
) -> None:
    """Write the table as LaTeX, and print the table with its notes.

    Args:
        rows: the table.
        latex: the file for LaTeX, if any.
        markdown: whether to print Markdown; None prints nothing.
        all_sources: whether the rows include all sources.
    """
    if latex is not None:
        write_text(latex, _as_latex(rows, _format_surrogate_note(store, all_sources)))
    if markdown is not None:
        _show_table(rows, markdown)
        _print_notes(store, all_sources)


def _show_table(result_table: pa.Table, markdown: bool) -> None:
    from rich.text import Text

    from fiberscope.commands.output import print_stacked, show
    from fiberscope.results.report.table import Table, ruled_table

    result_table = _add_spreads(result_table)
    if markdown:
        table_rows = zip(*(column.to_pylist() for column in result_table.columns), strict=True)
        markdown_table = Table(
            "Results", result_table.column_names, labels=_count_label_columns(result_table.schema.types)
        )
        for row in table_rows:
            markdown_table.add(*map(_format_value, row))
        show([markdown_table], markdown=True)
        return
    rows = result_table.slice(0, MAX_ROWS)
    texts = ("string", "bool")
    # Cycles with a half-width are text (``_add_spreads``), but are aligned as numbers.
    numbers = [field.name for field in result_table.schema if field.type not in texts or field.name == CYCLES]
    table = ruled_table(*result_table.column_names, numbers=numbers)
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        table.add_row(*(Text(_format_value(value)) for value in row))
    print_stacked(table)
    remaining = result_table.num_rows - rows.num_rows
    if remaining > 0:
        print(f"and {remaining:,} more; --csv FILE has all of them")


def _add_spreads(rows: pa.Table) -> pa.Table:
    """Return rows with half-widths after estimated cycles, and sampling requests as text.

    The columns of the interval are dropped. Rows without these columns are returned as they are.
    """
    import pyarrow as pa

    from fiberscope.accelerators.sampling import Sample

    if not {CYCLES, *INTERVAL} <= set(rows.column_names):  # no estimates, or columns that the user chose
        return rows
    columns = (rows[name].to_pylist() for name in (CYCLES, *INTERVAL))
    texts = [_add_spread(*values) for values in zip(*columns, strict=True)]
    rows = rows.set_column(rows.column_names.index(CYCLES), CYCLES, pa.array(texts, pa.string()))
    if SAMPLING in rows.column_names:
        requests = [text and str(Sample(**loads(text))) for text in rows[SAMPLING].to_pylist()]
        rows = rows.set_column(rows.column_names.index(SAMPLING), SAMPLING, pa.array(requests, pa.string()))
    return rows.drop_columns(list(INTERVAL))


def _add_spread(cycles: int | None, low: int | None, high: int | None) -> str:
    """Return cycles with their relative half-width; alone if the run was not sampled."""
    from fiberscope.results.report.estimates import compute_relative_half_width, format_half_width

    if cycles is None or low is None or high is None:
        return _format_value(cycles)
    return f"{_format_value(cycles)}{format_half_width(compute_relative_half_width(cycles, low, high))}"


def _format_value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
