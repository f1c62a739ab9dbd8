"""Overhead of a sweep over its runs: ``python benchmarks/sweeps.py``.

The same short runs are executed sequentially in one process, and as a sweep; both in processor time.
``--rows`` queries a store of this number of rows instead.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context

import psutil  # comes with distributed
import pyarrow as pa
import pyarrow.parquet as pq

from fiberscope.explore.sweeps.clusters import connect_workers
from fiberscope.explore.sweeps.dask_execution import execute_batches
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.outcome import execute_task
from fiberscope.explore.sweeps.plan import Task, plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.point_process import Limits
from fiberscope.explore.sweeps.progress import Progress, group_tasks
from fiberscope.results.store import Store
from fiberscope.results.store.columns import decode_row, tabulate_rows
from fiberscope.results.store.store import PART_ROWS
from fiberscope.run.api import simulate

CORES = 2
MATRIX = "uniform:rows=150,cols=150,nonzeros={},seed={}"


def tasks(count: int, nonzeros: int) -> list[Task]:
    """Return points that differ in the seed of their matrix."""
    settings = {"pe.count": 4, "memory.channels": 4}
    return plan_tasks(Point("sim", "gamma", MATRIX.format(nonzeros, seed), settings) for seed in range(count))


def alone(points: list[Task]) -> float:
    """Return the mean processor seconds of runs in this process."""
    gc.freeze()  # as in the processes of a sweep
    execute_task(asdict(points[0]), None)  # imports
    start = time.process_time()
    for task in points:
        simulate("gamma", task.point.workload, settings=dict(task.point.settings))
    return time.process_time() - start


def side_by_side(points: list[Task]) -> float:
    """Return the mean processor seconds of a run, with as many concurrent runs as in the sweep."""
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        return sum(pool.map(alone, [points[core::CORES] for core in range(CORES)])) / len(points)


def spent() -> Counter[str]:
    """Return the processor seconds of this process, of Dask's workers and of the points' processes."""
    this_process = psutil.Process()
    seconds = Counter({"the sweep and its scheduler": time.process_time()})
    for process in this_process.children(recursive=True):
        of_points = "fiberscope.explore.sweeps.worker" in process.cmdline()
        times = process.cpu_times()
        seconds["the points" if of_points else "Dask's workers"] += times.user + times.system
    return seconds


def sweep(count: int, nonzeros: int) -> None:
    """Run both ways, and print the difference."""
    start = time.process_time()
    points = tasks(count, nonzeros)
    planning = time.process_time() - start
    subset = points[: max(50, count // 5)]
    first_single = side_by_side(subset)
    with tempfile.TemporaryDirectory() as folder, connect_workers(ExecutorChoice(workers=CORES)) as client:
        store = Store(folder, make=True)
        for batch in (tasks(2 * CORES, nonzeros + 1), points):  # the first loads modules
            before, start = spent(), time.perf_counter()
            progress = Progress(batch)
            execute_batches(client, group_tasks(batch, progress), store, Limits(), progress)
            store.gather()
        by_process, wall = spent() - before, time.perf_counter() - start
    single = (first_single + side_by_side(subset)) / 2  # other programs slow down both
    print(f"a run alone: {1e3 * single:.2f} ms; planning {1e3 * planning / count:.2f} ms a point")
    seconds = by_process.total() + planning
    for name, process_seconds in by_process.items():
        print(f"{name}: {1e3 * process_seconds / count:.2f} ms a point")
    print(f"overhead {1e3 * (seconds / count - single):.2f} ms a point of processor time")
    print(f"simulation is {single * count / seconds:.1%} of the processor time")
    print(f"{wall:.1f} s on the clock: {single * count / (CORES * wall):.1%} of the time of {CORES} cores")


def filled(folder: str, rows: int) -> Store:
    """Return a store with one run's row under many digests, with different cycles and parameters."""
    store = Store(folder, make=True)
    content = execute_task(asdict(tasks(1, 300)[0]), None).content
    part = pa.concat_tables([tabulate_rows([decode_row(content)])] * PART_ROWS)
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        count = min(PART_ROWS, rows - first)
        columns = {
            "digest": [f"{serial:064x}" for serial in range(first, first + count)],
            "cycles": [serial % 9973 for serial in range(first, first + count)],
            "pe_count": [serial % 64 for serial in range(first, first + count)],
        }
        table = part.slice(0, count)
        for name, values in columns.items():
            index = table.schema.get_field_index(name)
            table = table.set_column(index, table.schema.field(index), [values])
        pq.write_table(table, f"{folder}/runs-{number:06}.parquet", compression="zstd")
    return store


def query(rows: int) -> None:
    """Print the duration of queries of a store with ``rows`` rows."""
    with tempfile.TemporaryDirectory() as folder:
        store = filled(folder, rows)
        for sql in (
            "SELECT workload, pe_count, cycles FROM runs WHERE pe_count > 16 ORDER BY cycles LIMIT 40",
            "SELECT workload, pe_count, min(cycles), avg(traffic_bytes) FROM runs GROUP BY ALL",
        ):
            start = time.perf_counter(), time.process_time()
            result = store.table(sql)
            wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
            print(f"{len(result)} of {rows:,} rows, {wall:.3f} s, {processor:.3f} s of processor time: {sql}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--nonzeros", type=int, default=700, help="of a matrix: how long a run is")
    parser.add_argument("--rows", type=int, help="ask a store of so many rows")
    arguments = parser.parse_args()
    if arguments.rows:
        query(arguments.rows)
    else:
        sweep(arguments.points, arguments.nonzeros)
