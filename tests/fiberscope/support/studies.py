"""A store of runs that were never made: numbers from formulas that a test can work out again."""

import hashlib
import itertools
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fiberscope.results.store import Store
from fiberscope.results.store.columns import FIXED, KEY, name_column

EVIL = "</script><img src=x onerror=document.title='broken'><!--"
WORKLOADS = ("wiki-Vote", "p2p-Gnutella31", EVIL)
PES, SIZES = (8, 16, 32, 64), ("192KiB", "768KiB", "3MiB")
BYTES = {"192KiB": 192 << 10, "768KiB": 768 << 10, "3MiB": 3 << 20}
PARTS = ("scheduler", "pe.merger", "pe.multiplier", "fibercache.bank", "memory.channel")
MULTIPLIES = 1_000_000
CLOCK = 1e9  # hertz


def study(folder: Path, runs: int = 36) -> Store:
    """So many runs of Gamma: each workload with all pairs of PEs and sizes, then with another queue."""
    made = Store(folder, make=True)
    points = itertools.product(range(1, runs // 36 + 2), WORKLOADS, PES, SIZES)
    rows = [_row(*point) for point in itertools.islice(points, runs)]
    counts = sorted(name for name in _done("", 1, "3MiB") if name not in FIXED)
    parameters = {name_column(key): {KEY: key.encode()} for key in _given(1, 1, "3MiB")}
    fields = [*FIXED.items(), *((name, pa.int64()) for name in (*counts, *parameters))]
    schema = pa.schema([pa.field(name, kind, metadata=parameters.get(name)) for name, kind in fields])
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / "runs-000000.parquet")
    return made


def _given(queue: int, pes: int, size: str) -> dict[str, object]:
    return {"pe.count": pes, "fibercache.size": size, "network.queue": queue}


def _row(queue: int, workload: str, pes: int, size: str) -> dict[str, object]:
    given = _given(queue, pes, size)
    used = {**given, "fibercache.size": BYTES[size]}
    row = _failed(workload, pes) if pes == 64 and size == "192KiB" else _done(workload, pes, size)
    return {
        **row,
        **{name_column(key): value for key, value in used.items()},
        "digest": hashlib.sha256(f"{workload} {sorted(given.items())}".encode()).hexdigest(),
        "config": json.dumps({"clock": 1_000_000_000, **used}),
        "settings": json.dumps(given),
    }


def cycles(pes: int) -> int:
    """Of a run with so many PEs."""
    return 8_000_000 // pes


def traffic(size: str) -> int:
    """Bytes of a run with such a FiberCache."""
    return 40_000_000 - 8 * BYTES[size]


def _common(workload: str) -> dict[str, object]:
    return {
        "command": "sim",
        "accelerator": "gamma",
        "machine": "gamma",
        "workload": workload,
        "fidelity": "event",
        "version": "0.1.0",
        "workload_source": "real",
    }


def _failed(workload: str, pes: int) -> dict[str, object]:
    reason = f"gamma.pe00 waits for {EVIL} with {pes} PEs"
    return {**_common(workload), "status": "deadlock", "reason": reason, "complete": False}


def _done(workload: str, pes: int, size: str) -> dict[str, object]:
    ran, moved = cycles(pes), traffic(size)
    states = (ran * pes // 2, ran * pes // 4, ran * pes // 8, ran * pes // 8)
    named = dict(zip(("busy", "input_stall", "output_stall", "idle"), states, strict=True))
    return {
        **_common(workload),
        **named,
        "status": "done",
        "reason": "",
        "complete": True,
        "cycles": ran,
        "seconds": ran / CLOCK,
        "traffic_bytes": moved,
        "traffic_read_bytes": moved - 1_000_000,
        "traffic_write_bytes": 1_000_000,
        "traffic_minimum_bytes": 10_000_000,
        "traffic_A_read_bytes": moved - 1_000_000,
        "memory_bytes_per_second": moved / (ran / CLOCK),
        "memory_peak_bytes_per_second": 128e9,
        "memory_utilization": moved / (ran / CLOCK) / 128e9,
        "operations_multiply": MULTIPLIES,
        "nonzeros": 200_000,
        "worker_kind": "pe.merger",
        "worker_count": pes,
        "kinds": json.dumps({part: {"count": pes, **named} for part in PARTS}),
        "bottleneck": f"Computation is the limit: the {pes} pe.merger are busy.",
        "wall_seconds": 0.05,
    }
