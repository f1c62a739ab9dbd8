"""The search for the best points by some measures, by optuna; what it has learnt is in the store alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import optuna
import pyarrow as pa
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, Trial, TrialState
from pydantic import RootModel

from fiberscope.accelerators.yaml_document import read_document
from fiberscope.accelerators.yaml_schema import checked
from fiberscope.errors import InputError
from fiberscope.store import Store
from fiberscope.store.columns import decoded, tabulated
from fiberscope.sweeps.clusters import connected
from fiberscope.sweeps.ending import DONE, Outcome
from fiberscope.sweeps.engine import execute
from fiberscope.sweeps.plan import Task, planned
from fiberscope.sweeps.point import Point
from fiberscope.sweeps.progress import Progress, shown, single
from fiberscope.sweeps.runner import Limits
from fiberscope.sweeps.space import Range, Span
from fiberscope.sweeps.where import Where

__all__ = ["Goal", "Search", "read_space"]

IN_VAIN = 100  # suggestions in a row that were run before
NO_AREA = (
    "area: no area of a whole machine is known, only gates of blocks (fiberscope rtl area); any column of "
    "the store is a measure, or SQL of several, as in 'fibercache_size + 65536 * pe_count'"
)


class _Space(RootModel[dict[str, Span]]):
    """Spans by parameter."""


def read_space(path: Path, point: Point) -> dict[str, Span]:
    """The spans of a file, by parameter.

    Args:
        path: of the file.
        point: whose parameters they are.

    Raises:
        ConfigurationError, InputError: it cannot be read, or is not as it should be, or has a value that can
            never be; with line and column.
    """
    document = read_document(path)
    space = checked(_Space, document).root
    if not space:
        raise document.error((), "there is nothing to search in; give a parameter, as in pe.count: [8, 16]")
    for key, span in space.items():
        place = document.place((key,))
        for value in (span.low, span.high) if isinstance(span, Range) else span:
            planned([replace(point, settings={**point.settings, key: value}, places={key: place})])
        try:
            _distribution(key, span)
        except (InputError, ValueError) as error:
            raise InputError(f"{place}: {error}") from error
    return space


@dataclass(frozen=True)
class Goal:
    """A measure, a column of the store or SQL of several, that is to be small, or large."""

    measure: str
    largest: bool = False

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """As optuna has it."""
        return "maximize" if self.largest else "minimize"


class Search:
    """A search for the best points of a space.

    Args:
        point: what is the same for all points.
        space: what is not, by parameter.
        goals: of the search, one or several.
        store: for the results; those it has of this search count, so that it goes on where it was ended.
        points: to be run, those that were before among them.
        seed: of what is suggested.

    Raises:
        InputError: a goal or a space that cannot be searched by.
    """

    def __init__(
        self,
        point: Point,
        space: Mapping[str, Span],
        goals: Sequence[Goal],
        store: Store,
        points: int,
        seed: int = 0,
    ) -> None:
        if any(goal.measure == "area" for goal in goals):
            raise InputError(NO_AREA)
        self.point, self.goals, self.store, self.points = point, goals, store, points
        self.distributions = {key: _distribution(key, span) for key, span in space.items()}
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(
            directions=[goal.direction for goal in goals],
            sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True),
        )
        self._known: dict[str, list[float] | None] = {}  # of digests; None of those that failed
        self._asked: dict[str, Trial] = {}
        self._remember(space)

    def run(self, where: Where, limits: Limits, quiet: bool = False) -> None:
        """Run points until there are as many as wanted, or nothing new is suggested."""
        left = self.points - len(self._known)
        if left <= 0:
            return
        first = planned([self.point])  # a mistake is told before anything starts
        self._progress = Progress(first * left)
        try:
            with connected(where) as client, shown(self._progress, quiet):
                execute(client, single(self._suggested(left)), self.store, limits, self)
        finally:
            self.store.gather()

    def best(self) -> list[tuple[dict[str, Any], list[float]]]:
        """The points that no other one beats in all measures: what they are and what they measure."""
        front = self._study.best_trials
        unique = {json.dumps(trial.params, sort_keys=True): (trial.params, trial.values) for trial in front}
        return sorted(unique.values(), key=lambda found: found[1])

    def working(self, workers: int) -> None:
        """As ``engine.Watcher``."""
        self._progress.working(workers)

    def ended(self, task: Task, outcome: Outcome) -> None:
        """As ``engine.Watcher``: optuna learns of it."""
        self._progress.ended(task, outcome)
        values = self._values(tabulated([decoded(outcome.content)]))[0]
        self._tell(self._asked.pop(task.digest), values)
        self._known[task.digest] = values

    def _suggested(self, count: int) -> Iterator[Task]:
        """Tasks that have not been run, as optuna suggests them."""
        for _ in range(count):
            for _ in range(IN_VAIN):
                trial = self._study.ask(self.distributions)
                task = self._task(trial.params)
                if task.digest not in self._known and task.digest not in self._asked:
                    self._asked[task.digest] = trial
                    yield task
                    break
                self._tell(trial, self._known.get(task.digest))
            else:
                return

    def _task(self, values: Mapping[str, object]) -> Task:
        return planned([replace(self.point, settings={**self.point.settings, **values})])[0]

    def _tell(self, trial: Trial, values: list[float] | None) -> None:
        if values is None:
            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._study.tell(trial, values)

    def _remember(self, space: Mapping[str, Span]) -> None:
        """Learn what the store has of this search, by the sources as they are."""
        names = ("command", "accelerator", "workload")
        ours = " AND ".join(f"{name} = '{_quoted(getattr(self.point, name))}'" for name in names)
        sources = ", ".join(f"'{task.row['source']}'" for task in planned(self._samples(space)))
        asked = f"SELECT * EXCLUDE (report) FROM runs WHERE {ours} AND source IN ({sources})"
        rows = self.store.table(asked)
        values = self._values(rows) if len(rows) else []
        for row, measured in zip(rows.to_pylist(), values, strict=True):
            trial = self._trial(json.loads(row["settings"]), measured)
            if trial is not None:
                self._known[row["digest"]] = measured
                self._study.add_trial(trial)

    def _samples(self, space: Mapping[str, Span]) -> Iterator[Point]:
        """Points of all sources that those of the space can have: what runs may depend on a parameter."""
        yield self.point
        for key, span in space.items():
            for value in () if isinstance(span, Range) else span:
                yield replace(self.point, settings={**self.point.settings, key: value})

    def _trial(self, settings: dict[str, Any], values: list[float] | None) -> FrozenTrial | None:
        """The trial that a row is, if it is of this search."""
        base = {key: value for key, value in settings.items() if key not in self.distributions}
        if base != dict(self.point.settings) or len(settings) != len(base) + len(self.distributions):
            return None
        try:
            return optuna.trial.create_trial(
                params={key: settings[key] for key in self.distributions},
                distributions=self.distributions,
                values=values,
                state=TrialState.FAIL if values is None else TrialState.COMPLETE,
            )
        except ValueError:  # outside of the space, as it is now
            return None

    def _values(self, rows: pa.Table) -> list[list[float] | None]:
        """What rows measure; nothing where they failed or have no such number.

        Raises:
            InputError: a measure that is none.
        """
        asked = ", ".join(f"CAST({goal.measure} AS DOUBLE)" for goal in self.goals)
        with duckdb.connect(":memory:") as connection:
            connection.register("runs", rows)
            try:
                found = connection.execute(f"SELECT status, {asked} FROM runs").fetchall()
            except duckdb.Error as error:
                message = " ".join(str(error).split("\n\n")[0].split())
                raise InputError(f"no measures of a run: {asked}: {message}") from error
        return [list(values) if status == DONE and None not in values else None for status, *values in found]


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _distribution(key: str, span: Span) -> BaseDistribution:
    """As optuna has it.

    Raises:
        InputError: a range that optuna does not know.
    """
    if not isinstance(span, Range):
        return CategoricalDistribution(span)
    log, step = span.scale == "log", span.step
    if log and step is not None:
        raise InputError(f"{key}: a search takes a log scale or a step, not both; a list has any numbers")
    if not span.whole:
        return FloatDistribution(span.low, span.high, log=log, step=step)
    low, high, by = int(span.low), int(span.high), int(step or 1)
    return IntDistribution(low, low + (high - low) // by * by, log=log, step=by)
