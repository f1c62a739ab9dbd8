"""Measures of a run for charts, with their units and directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Better = Literal["less", "more"]
USEFUL_OPERATION: Final = "useful_multiply"
FAILED_DIVISOR = 10  # failed runs are at most 1/FAILED_DIVISOR of the rows
FRONT_DIVISOR = 2  # the best runs are at most 1/FRONT_DIVISOR of the rows


@dataclass(frozen=True)
class Measure:
    """A number of a run for a chart.

    Args:
        name: the column.
        label: the name on the page.
        unit: a unit that the page can format; empty for a number without a unit.
        better: whether less or more is better.
    """

    name: str
    label: str
    unit: str = ""
    better: Better = "less"


COMMON_MEASURES: Final = (
    Measure("cycles", "cycles"),
    Measure("traffic_bytes", "traffic", "bytes"),
    Measure("seconds", "simulated time", "s"),
    Measure("energy_pj", "energy, as far as known", "pJ"),
    Measure("energy_upper", "energy, upper end", "pJ"),
    Measure("area_um2", "area, as far as known", "um2"),
    Measure("area_upper", "area, upper end", "um2"),
    Measure("edp", "energy times time in J s"),
    Measure("memory_utilization", "memory bandwidth used", "share", "more"),
    Measure("workers_busy", "workers busy", "share", "more"),
    Measure("operations_per_second", "operations a second", "ops/s", "more"),
    Measure("intensity", "operations a byte of traffic", "", "more"),
    Measure("traffic_over_least", "traffic over the least possible"),
    Measure("traffic_minimum_bytes", "least traffic possible", "bytes"),
    Measure("traffic_read_bytes", "bytes read", "bytes"),
    Measure("traffic_write_bytes", "bytes written", "bytes"),
)
SECONDARY_MEASURES: Final = (
    Measure("nonzeros", "nonzeros of the operands"),
    Measure("wall_seconds", "time of the host", "s"),
    Measure("memory_peak_bytes_per_second", "memory's peak bandwidth", "bytes/s", "more"),
    Measure("workers_peak_per_second", "operations a second of workers never idle", "ops/s", "more"),
)


def measures(columns: list[str]) -> Iterator[Measure]:
    """Yield the columns that are measures: common measures, traffic by tensor, operations, then others."""
    fixed = {measure.name for measure in (*COMMON_MEASURES, *SECONDARY_MEASURES)}
    yield from (measure for measure in COMMON_MEASURES if measure.name in columns)
    for name in columns:
        if name.startswith("traffic_") and name.endswith("_bytes") and name not in fixed:
            yield Measure(
                name, name.removesuffix("_bytes").removeprefix("traffic_").replace("_", " "), "bytes"
            )
    for name in columns:
        if name.startswith("operations_") and name not in fixed:
            yield Measure(name, name.removeprefix("operations_").replace("_", " "))
    yield from (measure for measure in SECONDARY_MEASURES if measure.name in columns)


def add_rates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with derived columns: rates, shares, and the peak rate of the workers.

    The operations are multiplications, or the most frequent operation of a run without multiplications. Rates
    count useful operations only. The workers' peak is the rate of all operations, useful or not, divided by
    the busy share of the workers. A rate or share whose divisor is 0 or missing is missing.

    Args:
        frame: rows of a store, with the columns of its measures.
    """
    executed_operations, seconds = (
        _find_executed_operations(frame),
        frame["seconds"].where(frame["seconds"] > 0),
    )
    useful_operations = _find_useful_operations(frame, executed_operations)
    # ``min_count``: without one of the four states, the sum is missing, and so is the share
    worker_cycles = frame[["busy", "input_stall", "output_stall", "idle"]].sum(axis="columns", min_count=4)
    busy_share = frame["busy"] / worker_cycles.where(worker_cycles > 0)
    return frame.assign(
        workers_busy=busy_share,
        operations_per_second=useful_operations / seconds,
        intensity=useful_operations / frame["traffic_bytes"].where(frame["traffic_bytes"] > 0),
        traffic_over_least=frame["traffic_bytes"]
        / frame["traffic_minimum_bytes"].where(frame["traffic_minimum_bytes"] > 0),
        workers_peak_per_second=executed_operations / seconds / busy_share.where(busy_share > 0),
    )


def _find_executed_operations(frame: pd.DataFrame) -> pd.Series[float]:
    """Return the number of multiplications, or of the most frequent operation of a run without them.

    The number is missing for a run without operations.
    """
    operations = [name for name in frame.columns if str(name).startswith("operations_")]
    largest = frame[operations].max(axis="columns").astype("float64")
    return frame["operations_multiply"].fillna(largest) if "operations_multiply" in operations else largest


def _find_useful_operations(frame: pd.DataFrame, executed_operations: pd.Series[float]) -> pd.Series[float]:
    """Return the number of useful operations; all if the machine does not distinguish useful operations."""
    name = f"operations_{USEFUL_OPERATION}"
    return frame[name].astype("float64").fillna(executed_operations) if name in frame else executed_operations


def select_rows(frame: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return at most ``limit`` rows in order: the best, some failed rows, and an even sample of the others.

    The best rows are the Pareto front of cycles and traffic for each accelerator and workload; they are at
    most half of ``limit``, and failed rows a tenth. More rows of a kind are sampled evenly. All rows are
    returned if there are no more than ``limit``.

    Args:
        frame: rows of a store, with a unique index.
        limit: the maximum number of rows.
    """
    if len(frame) <= limit:
        return frame
    front = _sample_evenly(np.flatnonzero(_is_on_front(frame)), limit // FRONT_DIVISOR)
    failed = _sample_evenly(np.flatnonzero(frame["status"] != "done"), limit // FAILED_DIVISOR)
    selected = np.union1d(front, failed)
    unselected = np.setdiff1d(np.flatnonzero(frame["status"] == "done"), selected)
    return frame.iloc[np.union1d(selected, _sample_evenly(unselected, limit - len(selected)))]


def _sample_evenly(positions: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return at most ``limit`` positions, evenly spread; the first and the last of two or more remain."""
    if len(positions) <= limit:
        return positions
    sample: NDArray[np.int64] = positions[np.linspace(0, len(positions) - 1, limit).astype(int)]
    return sample


def _is_on_front(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows are finished and on the Pareto front of their accelerator and workload.

    In the order of rising cycles, a row is on the front if it has less traffic than all rows before. Of equal
    rows, the first is on the front.
    """
    finished = frame[(frame["status"] == "done") & frame["cycles"].notna() & frame["traffic_bytes"].notna()]
    ordered = finished.sort_values(["cycles", "traffic_bytes"], kind="stable")
    groups = [ordered["accelerator"], ordered["workload"]]
    least_traffic = ordered["traffic_bytes"].groupby(groups).cummin()
    previous_least = least_traffic.groupby(groups).shift()
    best = ordered.index[(previous_least.isna() | (ordered["traffic_bytes"] < previous_least)).to_numpy()]
    return np.asarray(frame.index.isin(best))
