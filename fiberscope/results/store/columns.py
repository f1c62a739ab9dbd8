"""The columns of a store: those of every row, those that a run adds, and how tables of both go together."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from fiberscope.base.text_encoding import escape_undecodable
from fiberscope.results.store_layout import DONE

__all__ = [
    "DONE",
    "FIXED",
    "LARGE",
    "Row",
    "column_of",
    "decode_row",
    "encode_row",
    "parameters",
    "tabulate_rows",
    "unify_schemas",
    "widen_table",
]

TEXT, COUNT, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()

FIXED: Final[Mapping[str, pa.DataType]] = {
    "digest": TEXT,  # of configuration, content of the workload and sources: what the row is found by
    "status": TEXT,
    "reason": TEXT,  # one line; empty where the run was done
    "command": TEXT,
    "machine": TEXT,  # its name: its own in the study, or that of its accelerator
    "accelerator": TEXT,
    "parts": TEXT,  # JSON: components of the user by the part that they replace; null without any
    "workload": TEXT,
    "workload_name": TEXT,  # its own in the study; null without one
    "fidelity": TEXT,
    "complete": TRUTH,
    "cycles": COUNT,
    "cycles_low": COUNT,  # the 95 % interval of an estimate; null of a count
    "cycles_high": COUNT,
    "sampling": TEXT,  # JSON: the request of a sampled run
    "seconds": NUMBER,  # simulated
    "traffic_bytes": COUNT,
    "traffic_read_bytes": COUNT,
    "traffic_write_bytes": COUNT,
    "traffic_minimum_bytes": COUNT,
    "memory_bytes_per_second": NUMBER,
    "memory_peak_bytes_per_second": NUMBER,
    "memory_utilization": NUMBER,
    "nonzeros": COUNT,  # of all operands
    "energy_pj": NUMBER,
    "energy_upper": NUMBER,  # in pJ; null if a part has no upper end
    "energy_without": TEXT,  # parts without a known energy
    "area_um2": NUMBER,
    "area_upper": NUMBER,  # in um2; null if a part has no upper end
    "area_without": TEXT,  # parts without a known area
    "edp": NUMBER,  # energy times time, J s
    "ed2p": NUMBER,  # and times time again, J s2
    "worker_kind": TEXT,  # the kind of components that do the work
    "worker_count": COUNT,
    "busy": COUNT,  # cycles of all these components together, as the three below
    "input_stall": COUNT,
    "output_stall": COUNT,
    "idle": COUNT,
    "kinds": TEXT,  # JSON: the same by kind of components
    "bottleneck": TEXT,
    "wall_seconds": NUMBER,  # of the host
    "version": TEXT,
    "source": TEXT,  # digest of all sources that it was run by
    "workload_source": TEXT,
    "workload_digest": TEXT,
    "config_digest": TEXT,
    "config": TEXT,  # JSON: every parameter as used, by dotted key, in base units
    "settings": TEXT,  # JSON: those that were given, as they were
    "report": TEXT,  # JSON
}
_FIELDS: Final = [pa.field(name, kind) for name, kind in FIXED.items()]
EXACT: Final = 1 << 53  # beyond, a column of fractions does not hold every whole number
LARGE: Final = "report"  # left out where all columns are asked for
KEY = b"parameter"  # in what a file says of a column: the dotted key of the parameter that it is


def column_of(key: str) -> str:
    """The column of a parameter: ``pe.count`` is in ``pe_count``."""
    name = re.sub(r"\W", "_", key)
    return f"set_{name}" if name in FIXED else name


class Row(NamedTuple):
    """A row that is not in a table yet.

    Args:
        values: the values by column; what is None or not there is null.
        parameters: the columns of those that were given, with their dotted keys.
    """

    values: Mapping[str, Any]
    parameters: Mapping[str, str]

    def schema(self) -> pa.Schema:
        """The columns of every row, and its own."""
        own = (self._field(name, value) for name, value in self.values.items() if name not in FIXED)
        return pa.schema([*_FIELDS, *own])

    def _field(self, name: str, value: object) -> pa.Field:
        key = self.parameters.get(name)
        return pa.field(name, _kind(value), metadata=None if key is None else {KEY: key.encode()})


def _kind(value: object) -> pa.DataType:
    return next((kind for kind in (TRUTH, COUNT, NUMBER, TEXT) if _fits(value, kind)), COUNT)


def encode_row(row: Mapping[str, object], parameters: Mapping[str, object]) -> bytes:
    """A file of one row: JSON in gzip, many times quicker than Parquet, which is for many rows.

    Args:
        row: the row by column; what is None or not there is null.
        parameters: those that were given, by dotted key, as they were used.
    """
    parameter_columns = {
        column_of(key): value if _is_plain(value) else str(value) for key, value in parameters.items()
    }
    keys = {column_of(key): key for key in parameters}
    return gzip.compress(
        json.dumps(escape_undecodable([{**row, **parameter_columns}, keys])).encode(),
        compresslevel=1,
        mtime=0,
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | float) or (isinstance(value, int) and abs(value) <= EXACT)


def decode_row(content: bytes) -> Row:
    """The row of such a file.

    Raises:
        ValueError: it is none.
    """
    try:
        values, keys = json.loads(gzip.decompress(content))
        return Row({**values}, {**keys})  # a TypeError where either is no object
    except (OSError, EOFError, TypeError, zlib.error) as error:
        raise ValueError(str(error)) from error


def tabulate_rows(rows: Iterable[Row]) -> pa.Table:
    """A table of rows, with the columns of all of them."""
    alike: dict[pa.Schema, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        alike[row.schema()].append(row.values)
    schema = unify_schemas(alike)
    tables = (pa.Table.from_pylist(values, schema=own) for own, values in alike.items())
    empty = pa.Table.from_batches([], schema)  # as empty_table, which would load pandas
    return pa.concat_tables([empty, *(widen_table(table, schema) for table in tables)])


def parameters(schema: pa.Schema) -> dict[str, str]:
    """Return the columns that are parameters, with their dotted keys."""
    return {field.name: field.metadata[KEY].decode() for field in schema if KEY in (field.metadata or {})}


def unify_schemas(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """A schema that has every column: the fixed ones, then the others by name.

    Whole numbers beside others become floating; what is text in one of them becomes text in all.
    """
    fields = {name: pa.field(name, kind) for name, kind in FIXED.items()}
    for field in (field for schema in schemas for field in schema):
        before = fields.get(field.name, field)
        fields[field.name] = field.with_type(_common(before.type, field.type))
    others = sorted(name for name in fields if name not in FIXED)
    return pa.schema([fields[name] for name in (*FIXED, *others)])


def _common(first: pa.DataType, other: pa.DataType) -> pa.DataType:
    if first == other:
        return first
    return NUMBER if {first, other} == {COUNT, NUMBER} else TEXT


def widen_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with all columns of a schema, in its order and of its types.

    A parameter that was not given is what it was by default: a run has it in its configuration. A machine
    without a name of its own, as in rows of older releases, has that of its accelerator.
    """
    have = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type) if field.name in have else _filled(table, field)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _filled(table: pa.Table, field: pa.Field) -> pa.Array:
    if field.name == "machine" and "accelerator" in table.column_names:
        return table.column("accelerator")
    key = (field.metadata or {}).get(KEY)
    if key is None:
        return pa.nulls(len(table), field.type)
    values = [json.loads(config or "{}").get(key.decode()) for config in table["config"].to_pylist()]
    return pa.array([value if _fits(value, field.type) else None for value in values], field.type)


def _fits(value: object, kind: pa.DataType) -> bool:
    """Return whether the value is of this kind; another machine's parameter of this key may not be."""
    kinds = {TEXT: str, COUNT: int, NUMBER: int | float, TRUTH: bool}
    return isinstance(value, kinds[kind]) and (kind == TRUTH or not isinstance(value, bool))
