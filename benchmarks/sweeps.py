"""What a sweep costs beside the runs that it is of: ``python benchmarks/sweeps.py``.

The same short runs are made twice, one after the other in one process, and as a sweep; in processor time.
``--rows`` asks a store of so many rows instead.
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
    """Points that differ in the seed of their matrix."""
    settings = {"pe.count": 4, "memory.channels": 4}
    return plan_tasks(Point("sim", "gamma", MATRIX.format(nonzeros, seed), settings) for seed in range(count))


def alone(given: list[Task]) -> float:
    """Processor seconds of the runs alone, in this process."""
    gc.freeze()  # as the process of a sweep's points does
    execute_task(asdict(given[0]), None)  # imports
    began = time.process_time()
    for task in given:
        simulate("gamma", task.point.workload, settings=dict(task.point.settings))
    return time.process_time() - began


def side_by_side(given: list[Task]) -> float:
    """Processor seconds of a run alone, as there are as many at a time as in the sweep."""
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        return sum(pool.map(alone, [given[core::CORES] for core in range(CORES)])) / len(given)


def spent() -> Counter[str]:
    """Processor seconds so far, of this process, of Dask's workers and of the points' processes."""
    here = psutil.Process()
    seconds = Counter({"the sweep and its scheduler": time.process_time()})
    for process in here.children(recursive=True):
        of_points = "fiberscope.explore.sweeps.worker" in process.cmdline()
        times = process.cpu_times()
        seconds["the points" if of_points else "Dask's workers"] += times.user + times.system
    return seconds


def sweep(count: int, nonzeros: int) -> None:
    """Both ways, and the difference."""
    began = time.process_time()
    given = tasks(count, nonzeros)
    planning = time.process_time() - began
    some = given[: max(50, count // 5)]
    before_it = side_by_side(some)
    with tempfile.TemporaryDirectory() as folder, connect_workers(ExecutorChoice(workers=CORES)) as client:
        store = Store(folder, make=True)
        for each in (tasks(2 * CORES, nonzeros + 1), given):  # the first for imports
            before, began = spent(), time.perf_counter()
            progress = Progress(each)
            execute_batches(client, group_tasks(each, progress), store, Limits(), progress)
            store.gather()
        by_process, wall = spent() - before, time.perf_counter() - began
    single = (before_it + side_by_side(some)) / 2  # other programs slow down both a run and a sweep
    print(f"a run alone: {1e3 * single:.2f} ms; planning {1e3 * planning / count:.2f} ms a point")
    seconds = by_process.total() + planning
    for name, its in by_process.items():
        print(f"{name}: {1e3 * its / count:.2f} ms a point")
    print(f"overhead {1e3 * (seconds / count - single):.2f} ms a point of processor time")
    print(f"simulation is {single * count / seconds:.1%} of the processor time")
    print(f"{wall:.1f} s on the clock: {single * count / (CORES * wall):.1%} of the time of {CORES} cores")


def filled(folder: str, rows: int) -> Store:
    """A store with the row of one run under so many digests, each with cycles and a parameter of its own."""
    made = Store(folder, make=True)
    content = execute_task(asdict(tasks(1, 300)[0]), None).content
    part = pa.concat_tables([tabulate_rows([decode_row(content)])] * PART_ROWS)
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        count = min(PART_ROWS, rows - first)
        own = {
            "digest": [f"{each:064x}" for each in range(first, first + count)],
            "cycles": [each % 9973 for each in range(first, first + count)],
            "pe_count": [each % 64 for each in range(first, first + count)],
        }
        table = part.slice(0, count)
        for name, values in own.items():
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), [values])
        pq.write_table(table, f"{folder}/runs-{number:06}.parquet", compression="zstd")
    return made


def query(rows: int) -> None:
    """A store of so many rows, and what questions take."""
    with tempfile.TemporaryDirectory() as folder:
        made = filled(folder, rows)
        for sql in (
            "SELECT workload, pe_count, cycles FROM runs WHERE pe_count > 16 ORDER BY cycles LIMIT 40",
            "SELECT workload, pe_count, min(cycles), avg(traffic_bytes) FROM runs GROUP BY ALL",
        ):
            began = time.perf_counter(), time.process_time()
            found = made.table(sql)
            wall, processor = time.perf_counter() - began[0], time.process_time() - began[1]
            print(f"{len(found)} of {rows:,} rows, {wall:.3f} s, {processor:.3f} s of processor time: {sql}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--nonzeros", type=int, default=700, help="of a matrix: how long a run is")
    parser.add_argument("--rows", type=int, help="ask a store of so many rows")
    given = parser.parse_args()
    if given.rows:
        query(given.rows)
    else:
        sweep(given.points, given.nonzeros)
