"""Columns of a store: fixed columns, columns of a run, and the union of tables."""

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
    "decode_row",
    "encode_row",
    "name_column",
    "parameters",
    "tabulate_rows",
    "unify_schemas",
    "widen_table",
]

TEXT, COUNT, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()

FIXED: Final[Mapping[str, pa.DataType]] = {
    # the key of the row: of command, machine, parameters, operands, sources, sampling, and schema of reports
    "digest": TEXT,
    "status": TEXT,
    "reason": TEXT,  # one line; empty for a finished run
    "command": TEXT,
    "machine": TEXT,  # name in the study, or the accelerator
    "accelerator": TEXT,
    "parts": TEXT,  # JSON: components of the user by the part that they replace; null without any
    "workload": TEXT,
    "workload_name": TEXT,  # name in the study, or null
    "fidelity": TEXT,
    "complete": TRUTH,
    "cycles": COUNT,
    "cycles_low": COUNT,  # 95 % interval of an estimate; null for an exact count
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
    "edp": NUMBER,  # in J s
    "ed2p": NUMBER,  # in J s2
    "worker_kind": TEXT,  # family of the working components
    "worker_count": COUNT,
    "busy": COUNT,  # sum of cycles of these components, as the next three columns
    "input_stall": COUNT,
    "output_stall": COUNT,
    "idle": COUNT,
    "kinds": TEXT,  # JSON: the same sums for each family
    "bottleneck": TEXT,
    "wall_seconds": NUMBER,  # host time
    "version": TEXT,
    "source": TEXT,  # digest of all sources of the run; empty for a refused run, null in older releases
    "workload_source": TEXT,
    "workload_digest": TEXT,
    "config_digest": TEXT,
    "config": TEXT,  # JSON: all parameters by dotted key, in base units
    "settings": TEXT,  # JSON: the requested settings, unconverted
    "report": TEXT,  # JSON
}
_FIELDS: Final = [pa.field(name, kind) for name, kind in FIXED.items()]
EXACT: Final = 1 << 53  # larger integers are not exact as floats
LARGE: Final = "report"  # the largest column, which queries for all columns leave out
KEY = b"parameter"  # metadata key of a column: the dotted key of its parameter


def name_column(key: str) -> str:
    """Return the column of a parameter: ``pe.count`` is in ``pe_count``.

    Every character that is no letter, digit or underscore becomes an underscore.
    A parameter whose column would have the name of a fixed column gets the prefix ``set_``.
    """
    name = re.sub(r"\W", "_", key)
    return f"set_{name}" if name in FIXED else name


class Row(NamedTuple):
    """A row outside of a table.

    Args:
        values: the values by column; missing and None values are null.
        parameters: the columns of requested parameters, with their dotted keys.
    """

    values: Mapping[str, Any]
    parameters: Mapping[str, str]

    def schema(self) -> pa.Schema:
        """Return the fixed columns and the row's own columns."""
        own_fields = (
            self._build_field(name, value) for name, value in self.values.items() if name not in FIXED
        )
        return pa.schema([*_FIELDS, *own_fields])

    def _build_field(self, name: str, value: object) -> pa.Field:
        key = self.parameters.get(name)
        return pa.field(name, _type_of(value), metadata=None if key is None else {KEY: key.encode()})


def _type_of(value: object) -> pa.DataType:
    """Return the type of the column of a value; that of integers for None and other values."""
    # integers come before floats: an int has both types
    return next((kind for kind in (TRUTH, COUNT, NUMBER, TEXT) if _has_type(value, kind)), COUNT)


def encode_row(row: Mapping[str, object], parameters: Mapping[str, object]) -> bytes:
    """Encode a row as gzipped JSON, which is much faster than a Parquet file of one row.

    Args:
        row: the row by column; missing and None values are null.
        parameters: the requested parameters by dotted key, with their used values. A value that is no number
            or truth value, and an integer that is not exact as a float, is stored as text.
    """
    parameter_columns = {
        name_column(key): value if _is_plain(value) else str(value) for key, value in parameters.items()
    }
    keys = {name_column(key): key for key in parameters}
    return gzip.compress(
        json.dumps(escape_undecodable([{**row, **parameter_columns}, keys])).encode(),
        compresslevel=1,  # fast, as the file lasts only until the next compaction
        mtime=0,  # equal rows have equal bytes
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | float) or (isinstance(value, int) and abs(value) <= EXACT)


def decode_row(content: bytes) -> Row:
    """Decode a row of ``encode_row``.

    Raises:
        ValueError: the content is no row.
    """
    try:
        values, keys = json.loads(gzip.decompress(content))
        return Row({**values}, {**keys})  # raises TypeError unless both are objects
    except (OSError, EOFError, TypeError, zlib.error) as error:
        raise ValueError(str(error)) from error


def tabulate_rows(rows: Iterable[Row]) -> pa.Table:
    """Return a table of rows, with the columns of all rows.

    The rows do not keep their order: they are grouped by their columns.
    """
    values_by_schema: dict[pa.Schema, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        values_by_schema[row.schema()].append(row.values)
    schema = unify_schemas(values_by_schema)
    tables = (
        pa.Table.from_pylist(values, schema=row_schema) for row_schema, values in values_by_schema.items()
    )
    empty = pa.Table.from_batches([], schema)  # empty_table would load pandas
    return pa.concat_tables([empty, *(widen_table(table, schema) for table in tables)])


def parameters(schema: pa.Schema) -> dict[str, str]:
    """Return the columns of parameters with their dotted keys."""
    return {field.name: field.metadata[KEY].decode() for field in schema if KEY in (field.metadata or {})}


def unify_schemas(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return a schema with all columns: the fixed columns, then the others by name.

    A column with integers and floats becomes float; a column of any other two types becomes text.
    """
    fields = {name: pa.field(name, kind) for name, kind in FIXED.items()}
    for field in (field for schema in schemas for field in schema):
        known_field = fields.get(field.name, field)
        fields[field.name] = field.with_type(_choose_common_type(known_field.type, field.type))
    further_names = sorted(name for name in fields if name not in FIXED)
    return pa.schema([fields[name] for name in (*FIXED, *further_names)])


def _choose_common_type(first: pa.DataType, other: pa.DataType) -> pa.DataType:
    if first == other:
        return first
    return NUMBER if {first, other} == {COUNT, NUMBER} else TEXT


def widen_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with all columns of a schema, in its order and with its types.

    A missing parameter column is filled from the configuration, where a value of another type is null. A
    missing machine column, in rows of older releases, is the accelerator. Other missing columns are null.

    Args:
        table: the table, with the column ``config``; its columns are a part of those of the schema.
        schema: a schema of ``unify_schemas``.
    """
    existing = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type) if field.name in existing else _fill_column(table, field)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _fill_column(table: pa.Table, field: pa.Field) -> pa.Array:
    if field.name == "machine" and "accelerator" in table.column_names:
        return table.column("accelerator")
    key = (field.metadata or {}).get(KEY)
    if key is None:
        return pa.nulls(len(table), field.type)
    values = [json.loads(config or "{}").get(key.decode()) for config in table["config"].to_pylist()]
    return pa.array([value if _has_type(value, field.type) else None for value in values], field.type)


def _has_type(value: object, kind: pa.DataType) -> bool:
    """Return whether a value has a type; another machine's equal key may have another type.

    An integer counts as a number too. A truth value, which is an ``int`` of Python, has its own type only.
    """
    kinds = {TEXT: str, COUNT: int, NUMBER: int | float, TRUTH: bool}
    return isinstance(value, kinds[kind]) and (kind == TRUTH or not isinstance(value, bool))
