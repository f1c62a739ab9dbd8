"""Which runs of a large store a page carries, so that the file stays small and opens at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["carried"]

FAILED_PART = 10  # at most one in so many of those carried
FRONT_PART = 2


def carried(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many rows, in their order: all, or the best, some failed, an even sample of the rest.

    The best are those that no other of their accelerator and workload beats in both cycles and traffic.
    """
    if len(frame) <= most:
        return frame
    best = _even(np.flatnonzero(_front(frame)), most // FRONT_PART)
    failed = _even(np.flatnonzero(frame["status"] != "done"), most // FAILED_PART)
    kept = np.union1d(best, failed)
    others = np.setdiff1d(np.flatnonzero(frame["status"] == "done"), kept)
    return frame.iloc[np.union1d(kept, _even(others, most - len(kept)))]


def _even(positions: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of them, evenly spread."""
    if len(positions) <= most:
        return positions
    spread: NDArray[np.int64] = positions[np.linspace(0, len(positions) - 1, most).astype(int)]
    return spread


def _front(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Which rows are on the front of their accelerator and workload."""
    done = frame[(frame["status"] == "done") & frame["cycles"].notna() & frame["traffic_bytes"].notna()]
    ordered = done.sort_values(["cycles", "traffic_bytes"], kind="stable")
    groups = [ordered["accelerator"], ordered["workload"]]
    least = ordered["traffic_bytes"].groupby(groups).cummin()
    before = least.groupby(groups).shift()
    best = ordered.index[(before.isna() | (ordered["traffic_bytes"] < before)).to_numpy()]
    return np.asarray(frame.index.isin(best))
