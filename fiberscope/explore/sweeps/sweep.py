"""Python entry point of sweeps: ``fiberscope.sweep("gamma", ["wiki-Vote"], grid={"pe.count": [8, 16]})``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fiberscope.base.errors import InputError
from fiberscope.base.extras import name_extras
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.machines import AnyMachine, parse_machine
from fiberscope.explore.sweeps.memory_operands import save_operands
from fiberscope.explore.sweeps.study import Study, StudyKeys, make_study, read_study

if TYPE_CHECKING:
    import pandas as pd

    from fiberscope.explore.sweeps.progress import Follow


def sweep(
    accelerator: str | Path | list[AnyMachine],
    workloads: object = (),
    *,
    store: str | Path | None = None,
    scheduler: str | None = None,
    slurm: str | Path | None = None,
    pbs: str | Path | None = None,
    workers: int | None = None,
    retry: bool = False,
    progress: bool = True,
    follow: Follow | None = None,
    **study: Unpack[StudyKeys],
) -> pd.DataFrame:
    """Run all points of a study that are missing in its store, on all cores or on a cluster.

    Args:
        accelerator: one or several machines, or the path of a study (``study.yaml``).
            ``NAME=MACHINE:KEY=VALUE`` is a machine with a name and settings, as is a mapping with ``name``,
            ``accelerator``, ``set`` and ``parts``.
        workloads: one or several workloads. A text names operands: A, ``"A B"``, or ``"NAME=TENSOR ..."``. A
            matrix in memory is A; a ``fiberscope.workloads.Workload`` has a name. Or a mapping to names.
        store: the folder of the results, or an address as ``s3://bucket/study``; by default that of the
            study. If there is none, the results are only returned.
        scheduler: the address of a Dask scheduler with workers.
        slurm, pbs: the YAML file of a batch system's jobs.
        workers: processes on this computer; one per core by default.
        retry: run failed points again.
        progress: whether to show the progress in a notebook or terminal.
        follow: receives the progress, such as a page.
        study: ``grid``, ``points``, ``settings`` and further keys of a study, see ``StudyKeys``; they
            override the keys of a file.

    Returns:
        A row per point in order, with all columns of a store but the report. Columns of parameters have
        dotted keys, as ``pe.count``.

    Raises:
        ConfigurationError, InputError, WorkloadError: a value, an operand or a machine is invalid.
    """
    with name_extras("fiberscope.sweep"):
        from fiberscope.explore.sweeps.api import run_study  # noqa: PLC0415  (needs the extra sweep)

    executors = ExecutorChoice(scheduler, _resolve_path(slurm), _resolve_path(pbs), workers)
    keys = {**study, **({"store": str(store)} if store else {})}
    with save_operands(workloads, store) as names:
        study_ = merge_study(accelerator, list_workload_entries(names), keys)
        with store_address(study_.store) as address:  # a temporary store is deleted at the end
            result = run_study(study_, address, executors, retry=retry, quiet=not progress, follow=follow)
            return result.frame().replace({"workload": {text: name for text, name in names.items() if name}})


def list_workload_entries(names: Mapping[str, str]) -> list[str | Mapping[str, str]]:
    """Return workloads in the form of a study, from their names by text; an empty name is omitted."""
    return [{name: text} if name else text for text, name in names.items()]


def _resolve_path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def merge_study(
    accelerator: str | Path | list[AnyMachine],
    workloads: Sequence[str | Mapping[str, str]],
    keys: Mapping[str, Any],
) -> Study:
    """Return the study of a file with overridden keys, or the study of keys alone.

    Args:
        accelerator: the path of a study, see ``is_study``; otherwise one or several machines.
        workloads: workloads that replace those of a file; empty to keep them.
        keys: further keys of ``Study``.

    Raises:
        ConfigurationError, InputError: the errors of ``sweep``; the file is a suite (it has ``evaluation``).
    """
    entries = dict(keys)
    if workloads:
        entries["workloads"] = list(workloads)
    if isinstance(accelerator, str | Path) and is_study(accelerator, keys):
        study = read_study(Path(accelerator), entries)
        if study.evaluation is not None:
            fix = f"run fiberscope suite {accelerator}"
            raise InputError(f"{study.location('evaluation')}: evaluation is of a suite; {fix}")
        return study
    if isinstance(accelerator, list):
        entries["machines"] = [parse_machine(machine) for machine in accelerator]
    else:
        entries["accelerator"] = str(accelerator)
    return make_study(entries)


def is_study(accelerator: str | Path, keys: Mapping[str, Any]) -> bool:
    """Return whether a text is the path of a study file, not the machine of a command.

    With ``command`` among the keys, a YAML file is the machine of that command, such as a specification.
    """
    return str(accelerator).endswith((".yaml", ".yml")) and "command" not in keys


@contextmanager
def store_address(store: str | None) -> Iterator[str]:
    """Yield the address of the store; for None, of a folder that is deleted at the end of the context."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="fiberscope-") as folder:
        yield folder
