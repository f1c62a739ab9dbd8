"""Python entry point of searches: ``fiberscope.search("gamma", "wiki-Vote", SPACE, minimise="cycles")``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from fiberscope.accelerators.quantities import SIZE
from fiberscope.accelerators.sampling import Sample
from fiberscope.base.errors import InputError
from fiberscope.base.extras import name_extras
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.machines import AnyMachine, parse_machine
from fiberscope.explore.sweeps.memory_operands import save_operands
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.sweep import store_address

if TYPE_CHECKING:
    import pandas as pd

    from fiberscope.explore.sweeps.search import Search


class SearchKeys(TypedDict, total=False):
    """Options of the runs of a search, as for ``fiberscope.sweep``.

    ``parts`` are the user's components, ``module:Class`` by the name of the part.
    """

    command: str
    settings: Mapping[str, object]
    parts: Mapping[str, str]
    config: str | None
    exact: bool
    sample: Sample | float | str | bool
    timeout: float
    memory: int | str
    scheduler: str
    slurm: Path
    pbs: Path
    workers: int


@dataclass(frozen=True)
class Objectives:
    """Goals and limits of a search: columns of a store, or SQL over columns.

    Args:
        minimise, maximise: measures to minimise or maximise.
        subject_to: limits, such as ``area_um2 < 40e6``.
        points: the number of designs, including those in the store.
        seed: the seed of the suggestions.
    """

    minimise: Sequence[str] = ()
    maximise: Sequence[str] = ()
    subject_to: Sequence[str] = ()
    points: int = 100
    seed: int = 0


@dataclass(frozen=True)
class SearchResult:
    """Result of a search.

    Args:
        best: the Pareto-optimal designs: parameters and measures by name.
        runs: the rows of all runs in the store of the search, except those of changed sources.
    """

    best: Sequence[Mapping[str, Any]]
    runs: pd.DataFrame = field(repr=False, compare=False)

    def frame(self) -> pd.DataFrame:
        """Return a row for each of the best designs, with parameters by dotted key and measures."""
        import pandas as pd  # noqa: PLC0415  (it takes time to load)

        return pd.DataFrame(self.best)

    def _repr_html_(self) -> str:
        """Return the frame as a table, for a notebook."""
        return str(self.frame().to_html(index=False))


def search(
    accelerator: AnyMachine,
    workloads: object,
    over: Mapping[str, object] | str | Path,
    *,
    minimise: str | Sequence[str] = (),
    maximise: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    points: int = 100,
    seed: int = 0,
    store: str | Path | None = None,
    progress: bool = True,
    **keys: Unpack[SearchKeys],
) -> SearchResult:
    """Search for the parameters that optimise measures such as cycles.

    Args:
        accelerator, workloads: as for ``fiberscope.sweep``; with several workloads, a measure is the
            geometric mean.
        over: for each parameter a list of values, or a range as ``{"from": 1, "to": 9}``; or a YAML file.
        minimise, maximise: columns of a store or SQL over columns, such as ``"cycles * pe_count"``.
        subject_to: limits, such as ``"area_um2 < 40e6"``.
        points: the number of designs, including those in the store.
        seed: the seed of the suggestions.
        store: the folder or address of the results; a search with the same store continues.
        progress: whether to show the progress.
        keys: see ``SearchKeys``.

    Returns:
        The Pareto-optimal designs and all runs. Without ``store``, the results are kept nowhere else.

    Raises:
        ConfigurationError, InputError, WorkloadError: a value, an operand or a measure is invalid.
    """
    with name_extras("fiberscope.search"):
        from fiberscope.explore.sweeps.point_process import Limits  # noqa: PLC0415

    objectives = Objectives(_as_list(minimise), _as_list(maximise), _as_list(subject_to), points, seed)
    memory = keys.get("memory")
    limits = Limits(keys.get("timeout"), None if memory is None else SIZE.read(memory, "memory"))
    executors = ExecutorChoice(keys.get("scheduler"), keys.get("slurm"), keys.get("pbs"), keys.get("workers"))
    address_text = None if store is None else str(store)
    with save_operands(workloads, store) as names, store_address(address_text) as address:
        study = prepare_search(make_design(accelerator, keys), list(names), over, objectives, address)
        study.run(executors, limits, quiet=not progress)
        # inside of the context: a temporary store is deleted at its end
        return _build_result(study)


def prepare_search(
    design: Point,
    workloads: Sequence[str],
    over: Mapping[str, object] | str | Path,
    objectives: Objectives,
    store: str | Path,
) -> Search:
    """Return a search that is ready to run.

    Args:
        design: the common fields of all designs, without a workload.
        workloads: at least one workload; duplicates count once.
        over: spans by parameter, or the file with the spans.
        objectives: the goals and limits.
        store: the folder or address of the results, which is created once the limits and the space are read.
            Stored runs of the search are then loaded.

    Raises:
        ConfigurationError, InputError, WorkloadError: a goal, a limit, the space, the machine or a workload
            is invalid, or the store cannot be created.
    """
    with name_extras("fiberscope.search"):
        from fiberscope.explore.sweeps.search import Goal, Limit, Search  # noqa: PLC0415
        from fiberscope.explore.sweeps.search_space import read_space  # noqa: PLC0415
        from fiberscope.results.store import Store  # noqa: PLC0415

    is_maximised = [Goal(measure, is_maximised=True) for measure in objectives.maximise]
    goals = [*map(Goal, objectives.minimise), *is_maximised]
    if not goals:
        raise InputError("nothing to search for; give --minimise, as in --minimise cycles")
    shared = [replace(design, workload=workload) for workload in dict.fromkeys(workloads)]
    limits, space = [Limit.parse(text) for text in objectives.subject_to], read_space(over, shared[0])
    opened_store = Store(store, make=True)  # after the limits and the space: an error there leaves no folder
    return Search(shared, space, goals, opened_store, objectives.points, limits, objectives.seed)


def _as_list(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts


def make_design(accelerator: AnyMachine, keys: SearchKeys) -> Point:
    """Return the point from which all designs of a search derive, without a workload.

    Args:
        accelerator: the machine, as for ``search``; its settings and parts override those of ``keys``.
        keys: the options of all runs.

    Raises:
        InputError: the machine or the sample is invalid.
    """
    from fiberscope.run.sampled import parse_requested_sample  # noqa: PLC0415  (needed for sampled runs only)

    machine, sample = parse_machine(accelerator), parse_requested_sample(keys.get("sample"))
    return Point(
        keys.get("command", "sim"),
        machine.accelerator,
        "",
        {**keys.get("settings", {}), **machine.set},
        keys.get("config"),
        keys.get("exact", False),
        None if sample is None else asdict(sample),
        name=machine.distinct_name,
        parts={**keys.get("parts", {}), **machine.parts},
    )


def _build_result(study: Search) -> SearchResult:
    measures = [goal.measure for goal in study.goals]
    best = [
        {**values, **dict(zip(measures, measured, strict=True))} for values, measured in study.find_best()
    ]
    return SearchResult(best, study.store.frame())
