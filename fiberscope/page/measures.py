"""What of a run can be drawn: its measures, with their units and which way is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Measure", "measures", "with_rates"]

Better = Literal["less", "more"]


@dataclass(frozen=True)
class Measure:
    """A number that a run has: ``name`` is its column, ``unit`` one that the page knows how to write."""

    name: str
    label: str
    unit: str = ""
    better: Better = "less"


FIRST: Final = (
    Measure("cycles", "cycles"),
    Measure("traffic_bytes", "traffic", "bytes"),
    Measure("seconds", "simulated time", "s"),
    Measure("energy_pj", "energy in pJ"),
    Measure("memory_utilization", "memory bandwidth used", "share", "more"),
    Measure("workers_busy", "workers busy", "share", "more"),
    Measure("operations_per_second", "operations a second", "ops/s", "more"),
    Measure("intensity", "operations a byte of traffic", "", "more"),
    Measure("traffic_over_least", "traffic over the least possible"),
    Measure("traffic_minimum_bytes", "least traffic possible", "bytes"),
    Measure("traffic_read_bytes", "bytes read", "bytes"),
    Measure("traffic_write_bytes", "bytes written", "bytes"),
)
LAST: Final = (
    Measure("nonzeros", "nonzeros of the operands"),
    Measure("wall_seconds", "time of the host", "s"),
    Measure("memory_peak_bytes_per_second", "memory's peak bandwidth", "bytes/s", "more"),
    Measure("workers_peak_per_second", "operations a second of workers never idle", "ops/s", "more"),
)


def measures(columns: list[str]) -> Iterator[Measure]:
    """Those of the columns that are measures: the common ones, tensors' traffic, operations, the rest."""
    fixed = {measure.name for measure in (*FIRST, *LAST)}
    yield from (measure for measure in FIRST if measure.name in columns)
    for name in columns:
        if name.startswith("traffic_") and name.endswith("_bytes") and name not in fixed:
            yield Measure(
                name, name.removesuffix("_bytes").removeprefix("traffic_").replace("_", " "), "bytes"
            )
    for name in columns:
        if name.startswith("operations_") and name not in fixed:
            yield Measure(name, name.removeprefix("operations_").replace("_", " "))
    yield from (measure for measure in LAST if measure.name in columns)


def with_rates(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with what follows from its columns: rates, shares, and the roof that workers set.

    The work is multiplications; of a run that has none, the operation that it did most often. Workers that
    were never without work would do as much more as the part of their cycles that they were not busy.
    """
    work, seconds = _work(frame), frame["seconds"].where(frame["seconds"] > 0)
    worker_cycles = frame[["busy", "input_stall", "output_stall", "idle"]].sum(axis="columns", min_count=4)
    busy = frame["busy"] / worker_cycles.where(worker_cycles > 0)
    rate = work / seconds
    return frame.assign(
        workers_busy=busy,
        operations_per_second=rate,
        intensity=work / frame["traffic_bytes"].where(frame["traffic_bytes"] > 0),
        traffic_over_least=frame["traffic_bytes"]
        / frame["traffic_minimum_bytes"].where(frame["traffic_minimum_bytes"] > 0),
        workers_peak_per_second=rate / busy.where(busy > 0),
    )


def _work(frame: pd.DataFrame) -> pd.Series[float]:
    operations = [name for name in frame.columns if str(name).startswith("operations_")]
    most = frame[operations].max(axis="columns").astype("float64")
    return frame["operations_multiply"].fillna(most) if "operations_multiply" in operations else most
