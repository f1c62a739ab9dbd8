"""Workers of a sweep: here, at an existing Dask scheduler, or in jobs of a batch system."""

from __future__ import annotations

import os
import signal
import tempfile
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
from fiberscope.explore.sweeps.local_workers import CONFIGURATION, local_client
from fiberscope.explore.sweeps.nodes import WORKER, QuietScheduler

__all__ = ["connect_workers"]

PATIENCE = "30s"


@contextmanager
def connect_workers(executors: ExecutorChoice) -> Iterator[Client]:
    """A client of the workers, who are there; those that were started for it go with it.

    Raises:
        InputError: nobody answers, or the file is not as it should be.
    """
    with dask.config.set(CONFIGURATION):
        if executors.scheduler is not None:
            opened = _there(executors.scheduler)
        elif executors.slurm is not None or executors.pbs is not None:
            opened = _jobs(executors)
        else:
            opened = local_client(executors.local_workers(len(os.sched_getaffinity(0))) or 1)
        with opened as client:
            yield client


@contextmanager
def _there(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: no Dask scheduler answers ({' '.join(str(error).split())})") from error
    except TypeError as error:  # what Dask raises where its configuration has no key
        raise InputError(
            f"{address}: the scheduler uses TLS and there is no key for it; "
            "give one in Dask's configuration under distributed.comm.tls"
        ) from error
    with client:
        yield client


def _dask_jobqueue() -> ModuleType:
    """The library, whose import has Ctrl-C end the process without a word, with Ctrl-C as it was."""
    before = signal.getsignal(signal.SIGINT)
    import dask_jobqueue  # noqa: PLC0415  (only here)

    signal.signal(signal.SIGINT, before)
    return dask_jobqueue


@contextmanager
def _jobs(executors: ExecutorChoice) -> Iterator[Client]:
    """Workers in jobs of a batch system, which talk by TLS with a key of this sweep."""
    kind, file = ("SLURMCluster", executors.slurm) if executors.slurm else ("PBSCluster", executors.pbs)
    assert file is not None
    options = _options(file)
    jobs = options.pop("jobs", 1)
    with tempfile.TemporaryDirectory(prefix=".fiberscope-tls-", dir=_shared(options)) as folder:
        try:
            cluster = getattr(_dask_jobqueue(), kind)(**_secured(options, folder))
        except (TypeError, ValueError) as error:
            raise InputError(f"{file}: {' '.join(str(error).split())}") from error
        with cluster, Client(cluster) as client:
            cluster.scale(jobs=jobs)
            client.wait_for_workers(1)
            yield client


def _shared(options: Mapping[str, Any]) -> str:
    """The folder that jobs see too; the working directory unless the file names another."""
    return os.path.expanduser(os.path.expandvars(str(options.get("shared_temp_directory") or os.getcwd())))


def _secured(options: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The options of a cluster with TLS and without HTTP servers.

    Args:
        options: the options of the user.
        folder: for the key, which jobs read there; nobody but the user may look into it.
    """
    extra = ["--no-dashboard", "--worker-class", WORKER, *options.get("worker_extra_args", ())]
    scheduler = {"dashboard": False, "dashboard_address": None, **options.get("scheduler_options", {})}
    return {
        **options,
        "security": Security.temporary(),
        "protocol": "tls://",
        "shared_temp_directory": folder,
        "scheduler_cls": QuietScheduler,
        "scheduler_options": scheduler,
        "worker_extra_args": extra,
    }


def _options(file: Path) -> dict[str, Any]:
    options = read_document(file, str(file))
    if not isinstance(options, dict):
        raise InputError(f"{file}: expected options of the cluster as 'key: value', as in 'memory: 4GB'")
    return options
