"""What runs a sweep: workers here, at a Dask scheduler that is there, or in jobs of a batch system."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import dask
from distributed import Client, LocalCluster

from fiberscope.accelerators.yaml_layer import read_document
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.executors import Where

__all__ = ["connected"]

PATIENCE = "30s"
START_PATIENCE = "120s"  # of workers on this computer, which may be busy
LOOK_SECONDS = 1.0
LAST_SECONDS = 3.0
_OPTIONS = (
    "--nthreads",
    "1",
    "--memory-limit",
    "0",
    "--no-dashboard",
    "--preload-nanny",
    "fiberscope.explore.sweeps.watchdog",
)
# It cleans up after who was killed, and need not say so.
_QUIET = {"PYTHONWARNINGS": "ignore:resource_tracker"}
CONFIGURATION = {  # of Dask; what it looks after many times a second costs more than short points bear
    "logging.distributed": "critical",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.allowed-failures": 0,  # the sweep gives again what is unfinished of a batch
    "distributed.scheduler.work-stealing-interval": "1s",
    "distributed.worker.profile.enabled": False,
}


@contextmanager
def connected(where: Where) -> Iterator[Client]:
    """A client of the workers, who are there; those that were started for it go with it.

    Raises:
        InputError: nobody answers, or the file is not as it should be.
    """
    with dask.config.set(CONFIGURATION):
        if where.scheduler is not None:
            opened = _there(where.scheduler)
        elif where.slurm is not None or where.pbs is not None:
            opened = _jobs(where)
        else:
            opened = _here(where.workers or len(os.sched_getaffinity(0)))
        with opened as client:
            yield client


@contextmanager
def _there(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: no Dask scheduler answers ({' '.join(str(error).split())})") from error
    with client:
        yield client


@contextmanager
def _here(workers: int) -> Iterator[Client]:
    """Workers as a cluster has them, started by Dask's command: no script needs a guard of ``__main__``."""
    with (
        LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        _Workers(cluster.scheduler_address, workers),
        Client(cluster) as client,
    ):
        try:
            client.wait_for_workers(workers, timeout=START_PATIENCE)
        except TimeoutError as error:
            raise InputError(f"{workers} workers have not started within {START_PATIENCE}") from error
        yield client


class _Workers:
    """Dask's command for workers, which is started again when it dies; their points are then run again."""

    def __init__(self, address: str, workers: int) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *_OPTIONS]
        self._command = [*command, "--nworkers", str(workers)]
        self._ending = threading.Event()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            env={**os.environ, **_as_environment(CONFIGURATION), **_QUIET},
            start_new_session=True,  # Ctrl-C is for the sweep
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    def _keep(self) -> None:
        while not self._ending.wait(LOOK_SECONDS):
            if self._process.poll() is not None:
                self._process = self._start()

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End the workers, and the points that they run: at once where nobody waits for these any more."""
        self._ending.set()
        self._keeper.join()
        self._process.terminate()
        try:
            self._process.wait(LAST_SECONDS if kind is None else 0)
        except subprocess.TimeoutExpired:  # points are running
            self._process.kill()
            self._process.wait()


def _as_environment(configuration: Mapping[str, object]) -> dict[str, str]:
    """As Dask reads it there."""
    return {
        f"DASK_{key.upper().replace('-', '_').replace('.', '__')}": str(value)
        for key, value in configuration.items()
    }


def _dask_jobqueue() -> ModuleType:
    """The library, whose import has Ctrl-C end the process without a word, with Ctrl-C as it was."""
    before = signal.getsignal(signal.SIGINT)
    import dask_jobqueue  # noqa: PLC0415  (only here)

    signal.signal(signal.SIGINT, before)
    return dask_jobqueue


@contextmanager
def _jobs(where: Where) -> Iterator[Client]:
    kind, file = ("SLURMCluster", where.slurm) if where.slurm else ("PBSCluster", where.pbs)
    assert file is not None
    options = _options(file)
    jobs = options.pop("jobs", 1)
    try:
        cluster = getattr(_dask_jobqueue(), kind)(**options)
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}") from error
    with cluster, Client(cluster) as client:
        cluster.scale(jobs=jobs)
        client.wait_for_workers(1)
        yield client


def _options(file: Path) -> dict[str, Any]:
    options = read_document(file, str(file))
    if not isinstance(options, dict):
        raise InputError(f"{file}: expected options of the cluster as 'key: value', as in 'memory: 4GB'")
    return options
