"""Choice of the executors of a sweep, without an import of their libraries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExecutorChoice:
    """A scheduler or a batch system; this computer by default.

    Args:
        scheduler: the address of a Dask scheduler.
        slurm, pbs: a YAML file of options of ``dask_jobqueue``'s cluster; ``jobs`` is the number of jobs.
        workers: processes on this computer; one per core by default.
    """

    scheduler: str | None = None
    slurm: Path | None = None
    pbs: Path | None = None
    workers: int | None = None

    def count_local_workers(self, cores: int) -> int | None:
        """Return the number of workers on this computer; None if a cluster runs the points."""
        is_remote = self.scheduler is not None or self.slurm is not None or self.pbs is not None
        return None if is_remote else self.workers or cores
