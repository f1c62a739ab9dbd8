"""The store of results: a folder of Parquet files, a row a run, that any number of sweeps may share."""

from fiberscope.results.store.store import Store

__all__ = ["Store"]
