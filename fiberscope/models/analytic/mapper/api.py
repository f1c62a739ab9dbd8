"""Search for mappings from Python: ``best = find(["arch.yaml", "problem.yaml"])``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fiberscope.base.errors import InputError
from fiberscope.base.notebook import open_progress_callback
from fiberscope.base.progress import Progress
from fiberscope.models.analytic.api import evaluate_case
from fiberscope.models.analytic.inputs import Case, read_case
from fiberscope.models.analytic.mapper.constraints import Constraints, read_constraints
from fiberscope.models.analytic.mapper.search import METRICS, Limits, SearchState, evaluate_chunks, judge
from fiberscope.models.analytic.mapper.space import Space
from fiberscope.models.analytic.mapper.walks import WALKS, search_guided
from fiberscope.models.analytic.mapping import Mapping as NamedMapping
from fiberscope.models.analytic.report import report
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing
from fiberscope.workloads.errors import suggest

SEARCHES: Final = (*WALKS, "optuna")
EXHAUSTIVE_LIMIT = 10_000_000  # largest ``Space.size``, a bound of mappings, for an exhaustive search


@dataclass(frozen=True)
class MapperResult:
    """The result of a search.

    Args:
        case: the design, without a mapping.
        best_mapping: the best mapping that the search evaluated.
        outcome: the costs of the best mapping, and statistics of the search.
        metrics: the metrics of the search, in the order in which they break ties.
    """

    case: Case
    best_mapping: NamedMapping
    outcome: SearchState
    metrics: tuple[str, ...]

    def report(self) -> Report:
        """Evaluate the mapping again and return its full report, as ``fiberscope.analyze`` does.

        The host time in the report is the time of this evaluation, not of the search.
        """
        start = time.perf_counter()
        case = replace(self.case, mapping=self.best_mapping)
        evaluation = evaluate_case(case)
        seconds = time.perf_counter() - start
        return report(case, evaluation, Timing(seconds, seconds))

    def mapping(self) -> str:
        """Return the section ``mapping``, which ``fiberscope analyze`` reads back unchanged."""
        return self.best_mapping.as_yaml(self.case.design.architecture, self.case.design.problem)


def collect_constraints(case: Case) -> Constraints:
    """Return the constraints on mappings in the files of a case."""
    return read_constraints(case.constraints, case.design.architecture, case.design.problem)


def _make_reporter(progress: Progress, points: int) -> Callable[[SearchState], None]:
    """Return a callback for a search that reports the mappings evaluated and the best cost so far."""

    def report_state(state: SearchState) -> None:
        cost = f"best {state.costs[0]:.4g}" if state.best else "none yet"
        progress(f"mappings, {cost}", state.evaluated, points)

    return report_state


def find(
    paths: Sequence[str | Path],
    *,
    search: str = "random_pruned",
    metrics: Sequence[str] = ("edp",),
    limits: Limits | None = None,
    seed: int = 0,
    workers: int = 1,
    settings: Mapping[str, object] | None = None,
    progress: Progress | bool | None = None,
) -> MapperResult:
    """Return the mapping with the lowest cost among those that a search evaluates.

    Args:
        paths: YAML files with ``architecture`` and ``problem``, and optionally ``constraints``,
            ``mapspace_constraints`` or ``architecture_constraints``; a section ``mapping`` is ignored.
        search: one of ``SEARCHES``.
        metrics: at least one of ``edp``, ``delay`` and ``energy``; a later metric breaks ties of the others.
        limits: limits that end the search, checked after each chunk; None: those of ``Limits()``.
        seed: the seed of random numbers; ``exhaustive`` and ``linear_pruned`` draw none.
        workers: processes, without effect on the result; ``optuna`` uses one.
        settings: options of the model, as of ``analyze``.
        progress: a callback with best cost, evaluated mappings and limit; or whether a notebook shows a bar.

    Raises:
        ConfigurationError, InputError: an input is invalid, the mapspace is empty or too large to exhaust, no
            evaluated mapping is valid, or a worker cannot start or dies (``StartError``).
    """
    _check(search, metrics)
    case = read_case(paths, settings, with_mapping=False)
    space = _build_space(case)
    limits = limits or Limits()
    if search == "exhaustive" and space.size > EXHAUSTIVE_LIMIT:
        raise InputError(
            f"{case.name}: exhaustive: there may be {space.size:,} mappings; "
            f"constrain them to {EXHAUSTIVE_LIMIT:,}, or search random_pruned"
        )
    with open_progress_callback(progress) as tell:
        # lazy: a chunk is evaluated when ``judge`` asks for it, so a limit ends the evaluation, too
        evaluations = (
            search_guided(case.design, space, metrics, seed)
            if search == "optuna"
            else evaluate_chunks(case.design, WALKS[search](space, seed), metrics, limits, workers)
        )
        outcome = judge(evaluations, limits, _make_reporter(tell, limits.points))
    if outcome.best is None:
        raise InputError(
            f"{case.name}: none of the {outcome.evaluated:,} mappings is valid: {outcome.reasons}"
        )
    return MapperResult(case, outcome.best, outcome, tuple(metrics))


def _check(search: str, metrics: Sequence[str]) -> None:
    if search not in SEARCHES:
        raise InputError(f"there is no search {search}; {suggest(search, SEARCHES)}")
    if not metrics:
        raise InputError(f"the search has no metric; give at least one of {', '.join(METRICS)}")
    for name in metrics:
        if name not in METRICS:
            raise InputError(f"there is no metric {name}; {suggest(name, METRICS)}")


def _build_space(case: Case) -> Space:
    space = Space(case.design.architecture, case.design.problem, collect_constraints(case))
    if space.impossible:
        index = case.design.problem.dimensions.index(space.impossible)
        raise InputError(
            f"{case.name}: with these constraints no loops over {space.impossible} "
            f"make {case.design.problem.bounds[index]} iterations"
        )
    return space
