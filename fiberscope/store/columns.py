"""The columns of a store: those of every row, those that a run adds, and how tables of both go together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["FIXED", "LARGE", "column_of", "decoded", "encoded", "parameters", "unified", "widened"]

TEXT, COUNT, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()

FIXED: Final[Mapping[str, pa.DataType]] = {
    "digest": TEXT,  # of configuration, content of the workload and version: what the row is found by
    "status": TEXT,
    "reason": TEXT,  # one line; empty where the run was done
    "command": TEXT,
    "accelerator": TEXT,
    "workload": TEXT,
    "fidelity": TEXT,
    "complete": TRUTH,
    "cycles": COUNT,
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
    "workers": TEXT,  # the family of components that does the work
    "worker_count": COUNT,
    "busy": COUNT,  # cycles of all workers together, as the three below
    "input_stall": COUNT,
    "output_stall": COUNT,
    "idle": COUNT,
    "families": TEXT,  # JSON: the same by family of components
    "bottleneck": TEXT,
    "wall_seconds": NUMBER,  # of the host
    "version": TEXT,
    "workload_source": TEXT,
    "workload_digest": TEXT,
    "config_digest": TEXT,
    "config": TEXT,  # JSON: every parameter as used, by dotted key, in base units
    "settings": TEXT,  # JSON: those that were given, as they were
    "report": TEXT,  # JSON
}
LARGE: Final = "report"  # left out where all columns are asked for
KEY = b"parameter"  # in what a file says of a column: the dotted key of the parameter that it is


def column_of(key: str) -> str:
    """The column of a parameter: ``pe.count`` is in ``pe_count``."""
    name = re.sub(r"\W", "_", key)
    return f"set_{name}" if name in FIXED else name


def encoded(row: Mapping[str, object], parameters: Mapping[str, object]) -> bytes:
    """A Parquet file of one row.

    Args:
        row: by column; what is None or not there is null.
        parameters: those that were given, by dotted key, as they were used.
    """
    fields = [pa.field(name, kind) for name, kind in FIXED.items()]
    columns = [pa.array([row.get(name)], kind) for name, kind in FIXED.items()]
    for name, value in row.items():
        if name not in FIXED:
            columns.append(pa.array([value], COUNT))
            fields.append(pa.field(name, COUNT))
    for key, value in parameters.items():
        columns.append(pa.array([value if isinstance(value, bool | int | float) else str(value)]))
        fields.append(pa.field(column_of(key), columns[-1].type, metadata={KEY: key.encode()}))
    sink = pa.BufferOutputStream()
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def decoded(content: bytes) -> dict[str, object]:
    """The row of a Parquet file of one row."""
    row: dict[str, object] = pq.read_table(pa.BufferReader(content)).to_pylist()[0]
    return row


def parameters(schema: pa.Schema) -> list[str]:
    """Those of the columns that are parameters."""
    return [field.name for field in schema if KEY in (field.metadata or {})]


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """A schema that has every column: the fixed ones, then the others by name.

    Whole numbers beside others become floating; what is text in one of them becomes text in all.
    """
    fields = {name: pa.field(name, kind) for name, kind in FIXED.items()}
    for field in (field for schema in schemas for field in schema):
        known = fields.get(field.name, field)
        fields[field.name] = field.with_type(_common(known.type, field.type))
    others = sorted(name for name in fields if name not in FIXED)
    return pa.schema([fields[name] for name in (*FIXED, *others)])


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if one == other:
        return one
    return NUMBER if {one, other} == {COUNT, NUMBER} else TEXT


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with all columns of a schema, in its order and of its types.

    A parameter that was not given is what it was by default: a run has it in its configuration.
    """
    have = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type) if field.name in have else _filled(table, field)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _filled(table: pa.Table, field: pa.Field) -> pa.Array:
    key = (field.metadata or {}).get(KEY)
    if key is None:
        return pa.nulls(len(table), field.type)
    values = [json.loads(config or "{}").get(key.decode()) for config in table["config"].to_pylist()]
    return pa.array([value if _fits(value, field.type) else None for value in values], field.type)


def _fits(value: object, kind: pa.DataType) -> bool:
    """Whether it is of this kind; a parameter of another machine may have the same key and be of another."""
    kinds = {TEXT: str, COUNT: int, NUMBER: int | float, TRUTH: bool}
    return isinstance(value, kinds[kind]) and (kind == TRUTH or not isinstance(value, bool))
