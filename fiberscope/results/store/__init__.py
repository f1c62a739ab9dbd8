"""Store of results: a folder of Parquet files with a row per run, shared by any number of sweeps."""

from fiberscope.results.store.store import Store

__all__ = ["Store"]
