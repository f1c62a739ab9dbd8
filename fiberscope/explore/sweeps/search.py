"""Search for the best designs by optuna.

A *design* is a choice of a value for each parameter of the space; it has a point for each workload. The state
of a search is its store alone: a new search reads the stored designs, and continues where the last ended.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import hypot, isnan
from statistics import geometric_mean
from typing import Any, Literal

import duckdb
import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.cost_comparison import CostComparison
from fiberscope.explore.sweeps.dispatch import run_batches
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.plan import ParameterResolver, Task, plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.point_process import Limits
from fiberscope.explore.sweeps.progress import Follow, Progress, group_singly, show_progress
from fiberscope.explore.sweeps.search_space import build_distribution
from fiberscope.explore.sweeps.space import Range, Span
from fiberscope.explore.sweeps.stale_sources import note_stale
from fiberscope.explore.sweeps.task_status import DONE, TaskOutcome
from fiberscope.results.store import Store
from fiberscope.results.store.columns import Row, decode_row, tabulate_rows
from fiberscope.results.store.query import open_database, suggest_columns

MAX_REPEATS = 100  # limit of consecutive suggestions of known designs
TIE_EXCESS = 1e-300  # excess over a limit with < if both sides are equal: positive, so a violation
_LIMIT = re.compile(r"([^<>=]+)(<=|>=|<|>)([^<>=]+)")


@dataclass(frozen=True)
class Goal:
    """A measure to minimise or maximise.

    Args:
        measure: a column of the store, or an SQL expression over columns.
        is_maximised: whether to maximise the measure, not to minimise it.
    """

    measure: str
    is_maximised: bool = False

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """Return the direction in optuna's terms."""
        return "maximize" if self.is_maximised else "minimize"


@dataclass(frozen=True)
class Limit:
    """Constraint on a design.

    Args:
        text: the text of the limit.
        excess: the excess over the limit as SQL; a positive value violates the limit.
    """

    text: str
    excess: str

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Parse a limit such as ``area_um2 < 40e6``: two measures, with ``<``, ``<=``, ``>`` or ``>=``.

        Raises:
            InputError: the text is no limit.
        """
        match = _LIMIT.fullmatch(text)
        if not match:
            raise InputError(f"{text}: is no limit; write it as 'area_um2 < 40e6'")
        left, sign, right = match.groups()
        excess = f"({left}) - ({right})" if sign[0] == "<" else f"({right}) - ({left})"
        return cls(
            text, excess if sign[1:] else f"CASE WHEN {excess} = 0 THEN {TIE_EXCESS} ELSE {excess} END"
        )


@dataclass(frozen=True)
class DesignMeasures:
    """Measures of a design.

    Args:
        values: the value of each goal; with several workloads, the geometric mean.
        excess: the largest excess over each limit on a workload; a positive value violates the limit.
    """

    values: Sequence[float]
    excess: Sequence[float]


@dataclass
class _Design:
    """A running design: its trial, and the rows of its ended points."""

    trial: Trial
    digests: tuple[str, ...]
    rows: dict[str, Mapping[str, Any]]


class Search:
    """Search for the best designs of a space.

    The constructor loads the stored designs, records changed sources in the store, and silences optuna.

    Args:
        points: the common fields of all designs, a point per workload.
        space: spans by parameter.
        goals: one or several goals; with several workloads, a goal is the geometric mean.
        store: the store of results; stored results of the search are reused.
        count: the number of designs, including stored designs with the current sources, also failed ones.
        limits: limits of a design on every workload.
        seed: the seed of the suggestions.

    Raises:
        ConfigurationError, InputError, WorkloadError: an argument is invalid, or a measure is null.
    """

    def __init__(
        self,
        points: Sequence[Point],
        space: Mapping[str, Span],
        goals: Sequence[Goal],
        store: Store,
        count: int,
        limits: Sequence[Limit] = (),
        seed: int = 0,
    ) -> None:
        self.points, self.goals, self.store, self.count, self.limits = points, goals, store, count, limits
        self.distributions = {key: build_distribution(key, span) for key, span in space.items()}
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(
            directions=[goal.direction for goal in goals],
            # The constant liar gives running designs a bad value, so that parallel suggestions differ.
            sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
        )
        # Measures by the digests of the rows; None for a failed row.
        self._measured_points: dict[tuple[str, ...], DesignMeasures | None] = {}
        self._running: dict[str, _Design] = {}  # by digest
        self._costs = CostComparison()
        self._resolver = ParameterResolver()  # optuna often repeats designs
        self._load_stored(space)

    def run(
        self, executors: ExecutorChoice, limits: Limits, quiet: bool = False, follow: Follow | None = None
    ) -> None:
        """Run designs until the requested number is reached, or no new design is suggested.

        Args:
            executors: the processes or nodes that run points.
            limits: limits of the time and memory of a point.
            quiet: whether to show no progress.
            follow: creates a context that shows the progress elsewhere, such as the live view.

        Raises:
            InputError: a measure is null, no worker can be started, or the store cannot be written to. The
                errors of ``plan_tasks`` are raised too.
        """
        remaining = self.count - len(self._measured_points)
        if remaining <= 0:
            return
        first = plan_tasks(self.points, self._resolver)  # raises errors before the first run
        self._progress = Progress(first * remaining)  # stand-ins: the designs are not known yet
        try:
            with show_progress(self._progress, quiet, follow):
                run_batches(executors, group_singly(self._suggest_tasks(remaining)), self.store, limits, self)
        finally:
            self.store.gather()

    def find_best(self) -> list[tuple[dict[str, Any], list[float]]]:
        """Return parameters and values of the goals of each Pareto-optimal design, ascending by value."""
        front = self._study.best_trials
        unique = {json.dumps(trial.params, sort_keys=True): (trial.params, trial.values) for trial in front}
        return sorted(unique.values(), key=lambda measured: measured[1])

    def designs(self, *measures: str) -> list[tuple[list[float], bool]]:
        """Return ``measures`` of every design that has not failed, and whether the design meets all limits.

        Raises:
            InputError: a measure is invalid or null, or not above 0 on one of several workloads.
        """
        goals = [Goal(measure) for measure in measures]
        evaluated = [
            (digests, measured) for digests, measured in self._measured_points.items() if measured is not None
        ]
        all_digests = {digest for digests, _found in evaluated for digest in digests}
        by_digest = {row["digest"]: row for row in self._query(f"digest IN ({_quote(all_digests)})")}
        return [
            (
                list(self._measure([by_digest[digest] for digest in digests], goals).values),
                all(excess <= 0 for excess in measured.excess),
            )
            for digests, measured in evaluated
        ]

    def list_spreads(self) -> list[float]:
        """Return the half-width of the interval of each design's cycles, as a fraction.

        Designs are in the order of ``designs``. With several workloads, the cycles are the geometric mean; an
        exact count has 0.
        """
        width = "coalesce((cycles_high - cycles_low) / 2.0 / cycles, 0)"
        evaluated = [digests for digests, measured in self._measured_points.items() if measured is not None]
        all_digests = {digest for digests in evaluated for digest in digests}
        rows = self.store.table(
            f"SELECT digest, {width} AS spread FROM runs WHERE digest IN ({_quote(all_digests)})"
        ).to_pylist()
        spreads = {row["digest"]: row["spread"] for row in rows}
        return [hypot(*map(spreads.__getitem__, digests)) / len(digests) for digests in evaluated]

    def set_workers(self, workers: int) -> None:
        """See ``watcher.Watcher``."""
        self._progress.set_workers(workers)

    def record_end(self, task: Task, outcome: TaskOutcome) -> None:
        """See ``watcher.Watcher``; optuna receives a design when all its points have ended."""
        self._progress.record_end(task, outcome)
        design = self._running.pop(task.digest)
        design.rows[task.digest] = dict(decode_row(outcome.content).values)
        if len(design.rows) == len(design.digests):
            measured = self._collect_outcome([design.rows[digest] for digest in design.digests])
            self._measured_points[design.digests] = measured
            self._report_trial(design.trial, measured)

    def _suggest_tasks(self, count: int) -> Iterator[Task]:
        """Yield tasks of new designs that optuna suggests; end early if it repeats known designs only."""
        for _ in range(count):
            for _ in range(MAX_REPEATS):
                trial = self._study.ask(self.distributions)
                tasks = self._build_tasks(trial.params)
                digests = tuple(task.digest for task in tasks)
                if digests not in self._measured_points and self._running.keys().isdisjoint(digests):
                    design = _Design(trial, digests, {})
                    self._running |= dict.fromkeys(digests, design)
                    yield from tasks
                    break
                # The trial of a known design gets its result; that of a running design counts as failed.
                self._report_trial(trial, self._measured_points.get(digests))
            else:
                return

    def _build_tasks(self, values: Mapping[str, object]) -> list[Task]:
        """Return the tasks of a design, one per workload."""
        points = [replace(point, settings={**point.settings, **values}) for point in self.points]
        return plan_tasks(points, self._resolver)

    def _report_trial(self, trial: Trial, measured: DesignMeasures | None) -> None:
        if measured is None:
            self._study.tell(trial, state=TrialState.FAIL)
            return
        for limit, excess in self._compute_constraints(measured).items():
            trial.set_constraint(limit, excess)
        self._study.tell(trial, list(measured.values))

    def _load_stored(self, space: Mapping[str, Span]) -> None:
        """Load the stored results of the search that have the current sources."""
        rows_by_settings: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        first, samples = self.points[0], plan_tasks(self._iterate_samples(space), self._resolver)
        note_stale(self.store, samples)
        sources = {str(task.row["source"]) for task in samples}
        condition = f"command = {_quote([first.command])}"
        condition = f"{condition} AND accelerator = {_quote([first.accelerator])}"
        condition = f"{condition} AND machine = {_quote([first.machine])}"
        parts = samples[0].row["parts"]
        condition = f"{condition} AND parts {'IS NULL' if parts is None else f'= {_quote([str(parts)])}'}"
        workloads = _quote(point.workload for point in self.points)
        request = "IS NULL" if first.sample is None else f"= {_quote([str(samples[0].row['sampling'])])}"
        condition = f"{condition} AND sampling {request}"
        for row in self._query(
            f"{condition} AND workload IN ({workloads}) AND source IN ({_quote(sources)})"
        ):
            rows_by_settings[row["settings"]][row["workload"]] = row  # a design is its settings
        for settings, by_workload in rows_by_settings.items():
            rows = [by_workload[point.workload] for point in self.points if point.workload in by_workload]
            trial = self._build_trial(json.loads(settings), rows) if len(rows) == len(self.points) else None
            if trial is not None:
                self._study.add_trial(trial)

    def _query(self, condition: str) -> list[dict[str, Any]]:
        """Return rows of the store."""
        query = f"SELECT * EXCLUDE (report) FROM runs WHERE {condition}"
        rows: list[dict[str, Any]] = self.store.table(query).to_pylist()
        return rows

    def _iterate_samples(self, space: Mapping[str, Span]) -> Iterator[Point]:
        """Yield points that cover all sources of the space, because sources may depend on a parameter."""
        for point in self.points:
            yield point
            for key, span in space.items():
                for value in () if isinstance(span, Range) else span:
                    yield replace(point, settings={**point.settings, key: value})

    def _build_trial(self, settings: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> FrozenTrial | None:
        """Return the trial of a design's rows, and record its measures; None if the rows do not match."""
        base_settings = self.points[0].settings
        base = {key: value for key, value in settings.items() if key not in self.distributions}
        if base != dict(base_settings) or len(settings) != len(base) + len(self.distributions):
            return None
        measured = self._collect_outcome(rows)
        try:
            trial = optuna.trial.create_trial(
                params={key: settings[key] for key in self.distributions},
                distributions=self.distributions,
                values=None if measured is None else list(measured.values),
                state=TrialState.FAIL if measured is None else TrialState.COMPLETE,
                constraints=None if measured is None else self._compute_constraints(measured),
            )
        except ValueError:  # a value is outside the current space
            return None
        self._measured_points[tuple(row["digest"] for row in rows)] = measured
        return trial

    def _compute_constraints(self, measured: DesignMeasures) -> dict[str, float]:
        """Return the constraints for optuna; a positive value violates a limit."""
        return {limit.text: excess for limit, excess in zip(self.limits, measured.excess, strict=True)}

    def _collect_outcome(self, rows: Sequence[Mapping[str, Any]]) -> DesignMeasures | None:
        """Return the measures of a design from a row per workload; None if a row has failed."""
        if any(row["status"] != DONE for row in rows):
            return None
        return self._measure(rows, self.goals, self.limits)

    def _measure(
        self, rows: Sequence[Mapping[str, Any]], goals: Sequence[Goal], limits: Sequence[Limit] = ()
    ) -> DesignMeasures:
        """Return the measures of rows of one design.

        Raises:
            InputError: a measure is invalid, or null for a run.
        """
        expressions = [goal.measure for goal in goals] + [limit.excess for limit in limits]
        measures = [goal.measure for goal in goals] + [limit.text for limit in limits]
        for measure, row in product(measures, rows):
            self._costs.check(measure, row)
        measured = _evaluate(rows, expressions)
        for measure, numbers in zip(measures, measured, strict=True):
            if any(number is None or isnan(number) for number in numbers):
                name = self.points[0].machine
                raise InputError(
                    f"{measure}: is null for {name}, which has no such number; give another measure"
                )
        values = [_average(goal.measure, numbers) for goal, numbers in zip(goals, measured, strict=False)]
        return DesignMeasures(values, [max(numbers) for numbers in measured[len(goals) :]])


def _evaluate(rows: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> list[list[float]]:
    """Evaluate each measure in each row.

    Raises:
        InputError: a measure is invalid.
    """
    expressions = ", ".join(f"CAST({measure} AS DOUBLE)" for measure in measures)
    with open_database() as connection:
        connection.register("runs", tabulate_rows(Row(row, {}) for row in rows))
        try:
            result_rows = connection.execute(f"SELECT {expressions} FROM runs").fetchall()
        except duckdb.Error as error:
            message = " ".join(str(error).split("\n\n")[0].split())
            parts = [
                f"no measures of a run: {expressions}: {message}",
                *suggest_columns(expressions, connection),
            ]
            raise InputError("; ".join(parts)) from error
    return [list(numbers) for numbers in zip(*result_rows, strict=True)]


def _average(measure: str, numbers: Sequence[float]) -> float:
    """Return the geometric mean over workloads; the value itself for a single workload.

    Raises:
        InputError: a value is not positive.
    """
    if len(numbers) == 1:
        return numbers[0]
    if min(numbers) <= 0:
        raise InputError(
            f"{measure}: is {min(numbers):g} on a workload; a geometric mean is of numbers above 0"
        )
    return geometric_mean(numbers)


def _quote(texts: Iterable[str]) -> str:
    """Return texts as an SQL list; an empty list contains a text that no row has."""
    return ", ".join("'{}'".format(text.replace("'", "''")) for text in sorted(texts)) or "''"
