"""Names of the executors of a sweep, without an import of what runs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ExecutorChoice"]


@dataclass(frozen=True)
class ExecutorChoice:
    """One of these, or else this computer.

    Args:
        scheduler: the address of one.
        slurm, pbs: a YAML file of what ``dask_jobqueue``'s cluster of that name takes; ``jobs`` is how many.
        workers: on this computer; a core each by default.
    """

    scheduler: str | None = None
    slurm: Path | None = None
    pbs: Path | None = None
    workers: int | None = None

    def local_workers(self, cores: int) -> int | None:
        """Return the number of workers on this computer; None where a cluster runs the points."""
        elsewhere = self.scheduler is not None or self.slurm is not None or self.pbs is not None
        return None if elsewhere else self.workers or cores
