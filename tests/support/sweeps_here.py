"""Sweeps whose worker is in this process, for tests of what a command is told; for a ``conftest.py``."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import fiberscope


@contextmanager
def worker_here(_workers: int = 1) -> Iterator[Any]:
    """The client of a worker in this process; its points have a process of their own, as everywhere."""
    from distributed import Client

    with Client(n_workers=1, processes=False, threads_per_worker=1, dashboard_address=None) as client:
        yield client


@pytest.fixture
def sweeps_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps start no processes of workers, which tests of clusters and of sweeps are about."""
    if importlib.util.find_spec("distributed"):
        monkeypatch.setattr("fiberscope.explore.sweeps.clusters.open_local_client", worker_here)


def sweep_by_key(key: dict[str, object], **options: Any) -> Any:
    """Sweep at a scheduler that asks for a key."""
    import dask

    with dask.config.set(key):
        return fiberscope.sweep(**options)
