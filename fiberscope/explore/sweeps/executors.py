"""Where a sweep runs, for those who say so: nothing of what runs it is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Where"]


@dataclass(frozen=True)
class Where:
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
