"""Workers of a sweep: local, at an existing Dask scheduler, or in jobs of a batch system."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import dask
from distributed import Client
from distributed.security import Security

from fiberscope.accelerators.yaml_layer import read_document
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.local_workers import CONFIGURATION, open_local_client
from fiberscope.explore.sweeps.nodes import WORKER, QuietScheduler

CONNECT_TIMEOUT = "30s"


@contextmanager
def connect_workers(executors: ExecutorChoice) -> Iterator[Client]:
    """Yield a client of the workers; workers started for the client end with it.

    For jobs of a batch system, this waits without a time limit until the first job runs.

    Raises:
        InputError: no scheduler answers, the options of the cluster are invalid, or a worker cannot start.
        ModuleNotFoundError: a batch system is chosen, and dask_jobqueue is not installed.
    """
    with dask.config.set(CONFIGURATION):
        if executors.scheduler is not None:
            context = _open_existing_scheduler(executors.scheduler)
        elif executors.slurm is not None or executors.pbs is not None:
            context = _batch_jobs(executors)
        else:
            context = open_local_client(executors.count_local_workers(len(os.sched_getaffinity(0))) or 1)
        with context as client:
            yield client


@contextmanager
def _open_existing_scheduler(address: str) -> Iterator[Client]:
    """Yield a client of a scheduler that goes on after the sweep, with or without workers so far."""
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: no Dask scheduler answers ({' '.join(str(error).split())})") from error
    except TypeError as error:  # raised by Dask without a key
        raise InputError(
            f"{address}: the scheduler uses TLS and there is no key for it; "
            "give one in Dask's configuration under distributed.comm.tls"
        ) from error
    with client:
        yield client


def _import_dask_jobqueue() -> ModuleType:
    """Import dask_jobqueue, and restore the handler of Ctrl-C that its import replaces."""
    handler = signal.getsignal(signal.SIGINT)
    import dask_jobqueue  # noqa: PLC0415  (optional)

    if threading.current_thread() is threading.main_thread():  # only this thread may set, and so replace, it
        signal.signal(signal.SIGINT, handler)
    return dask_jobqueue


@contextmanager
def _batch_jobs(executors: ExecutorChoice) -> Iterator[Client]:
    """Yield a client of workers in jobs of a batch system, with TLS and a temporary key."""
    # If both files are given, the file of Slurm counts
    kind, file = ("SLURMCluster", executors.slurm) if executors.slurm else ("PBSCluster", executors.pbs)
    assert file is not None
    options = _read_options(file)
    # our option; all others are arguments of dask_jobqueue's cluster
    jobs = options.pop("jobs", 1)
    # in the shared folder, because jobs on other computers read the key
    with tempfile.TemporaryDirectory(prefix=".fiberscope-tls-", dir=_find_shared_folder(options)) as folder:
        try:
            cluster = getattr(_import_dask_jobqueue(), kind)(**_add_tls(options, folder))
        except (TypeError, ValueError) as error:  # an unknown or invalid option
            raise InputError(f"{file}: {' '.join(str(error).split())}") from error
        with cluster, Client(cluster) as client:
            cluster.scale(jobs=jobs)
            # points run as soon as the first job has started
            client.wait_for_workers(1)
            yield client


def _find_shared_folder(options: Mapping[str, Any]) -> str:
    """Return the folder that jobs share: an option of the file, or the working directory."""
    return os.path.expanduser(os.path.expandvars(str(options.get("shared_temp_directory") or os.getcwd())))


def _add_tls(options: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the options of a cluster with TLS and without HTTP servers.

    Args:
        options: the options of the user.
        folder: the folder of the key, which jobs read and only the user can access.
    """
    extra = ["--no-dashboard", "--worker-class", WORKER, *options.get("worker_extra_args", ())]
    scheduler = {"dashboard": False, "dashboard_address": None, **options.get("scheduler_options", {})}
    return {
        **options,
        # after the user's options, so that a sweep has its own key, folder and scheduler
        "security": Security.temporary(),
        "protocol": "tls://",
        "shared_temp_directory": folder,
        "scheduler_cls": QuietScheduler,
        "scheduler_options": scheduler,
        "worker_extra_args": extra,
    }


def _read_options(file: Path) -> dict[str, Any]:
    options = read_document(file, str(file))
    if not isinstance(options, dict):
        raise InputError(f"{file}: expected options of the cluster as 'key: value', as in 'memory: 4GB'")
    return options
