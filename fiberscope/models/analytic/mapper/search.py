"""The search for a mapping: chunks evaluated by any number of workers, judged in the order of the walk.

The result does not depend on the number of workers: what ends a search is decided chunk by chunk, in order,
and what workers have done ahead of it is dropped.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fiberscope.base.processes import ALONE, StartError, check_processes
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.evaluate import Design, Evaluated, evaluate_many
from fiberscope.models.analytic.fits import Fault, first_faults, mesh_faults, tile_faults
from fiberscope.models.analytic.mapping import Mapping, Mappings

__all__ = ["METRICS", "Limits", "Outcome", "SearchState", "evaluate", "judge", "outcomes"]

Whole = NDArray[np.int64]

# What mappings can be judged by: joules times cycles, cycles, picojoules.
METRICS: Final = {"edp": attrgetter("edp"), "delay": attrgetter("cycles"), "energy": attrgetter("energy_pj")}
FILES_EACH = 4  # that this process opens for a worker
AHEAD = 4  # chunks that each worker is given before its first is asked for
_REMEMBERED: list[tuple[Design, tuple[str, ...]]] = []  # of a worker: what all of its chunks share


@dataclass(frozen=True)
class Outcome:
    """Result of some mappings.

    Args:
        evaluated: how many were looked at.
        rejected: how many cannot be had, by reason.
        values: of each, by the first metric; infinite if it cannot be had.
        best: the best of them, None if none can be had; among equals the first.
        costs: the costs of the best, by the metrics.
    """

    evaluated: int
    rejected: Counter[str]
    values: Numbers = field(repr=False)
    best: Mapping | None = None
    costs: tuple[float, ...] = ()

    @property
    def valid(self) -> int:
        """Return the number of valid mappings."""
        return self.evaluated - self.rejected.total()


def evaluate(design: Design, mappings: Mappings, metrics: Sequence[str]) -> Outcome:
    """Evaluate mappings, those with too many instances or too large tiles no further than that.

    Args:
        design: what they are mappings of.
        mappings: which.
        metrics: names in ``METRICS``: the first counts, the next among equals.
    """
    faults = [
        *mesh_faults(design.problem, design.architecture, mappings),
        *tile_faults(design.problem, design.architecture, design.features, mappings),
    ]
    first = first_faults(len(mappings), faults)
    rejected = _rejected(first, faults)
    left = np.flatnonzero(first == 0)
    values = np.full(len(mappings), np.inf)
    if not len(left):
        return Outcome(len(mappings), rejected, values)
    evaluation = evaluate_many(design, mappings.only(left))
    rejected += _rejected(evaluation.fault, evaluation.faults)
    costs = np.stack([METRICS[name](evaluation) for name in metrics])
    values[left] = np.where(evaluation.valid, costs[0], np.inf)
    return Outcome(len(mappings), rejected, values, *_best(evaluation, costs))


def _best(evaluation: Evaluated, costs: Numbers) -> tuple[Mapping | None, tuple[float, ...]]:
    valid = np.flatnonzero(evaluation.valid)
    if not len(valid):
        return None, ()
    best = int(valid[np.lexsort(costs[::-1, valid])[0]])
    return Mapping.from_batch(evaluation.mappings, best), tuple(costs[:, best].tolist())


def _rejected(first: Whole, faults: Sequence[Fault]) -> Counter[str]:
    """Count the mappings that fail first by each fault."""
    rejected: Counter[str] = Counter()
    for fault, count in zip(faults, np.bincount(first, minlength=len(faults) + 1)[1:].tolist(), strict=True):
        if count:
            rejected[str(fault)] += count
    return rejected


@dataclass(frozen=True)
class Limits:
    """Limits of a search, beside the end of the mapspace; numbers of mappings.

    Args:
        points: looked at.
        victory: that can be had, one after another, none better than the best.
        invalid: that cannot be had, one after another.
    """

    points: int = 100_000
    victory: int | None = None
    invalid: int | None = None


@dataclass
class SearchState:
    """Progress of a search: its results so far.

    Args:
        best: the best mapping; None while there is none.
        costs: the costs of it, by the metrics.
        evaluated, valid: mappings looked at, and those that can be had.
        rejected: the others, by reason.
        improvements: mappings looked at when a better one was found, and what that costs by the first metric.
        ended: why the search is over.
    """

    best: Mapping | None = None
    costs: tuple[float, ...] = (inf,)
    evaluated: int = 0
    valid: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    improvements: list[tuple[int, float]] = field(default_factory=list)
    ended: str = "all mappings were looked at"
    _since_better: int = 0
    _since_valid: int = 0

    def add(self, outcome: Outcome) -> None:
        """Take the next chunk into account."""
        self.evaluated += outcome.evaluated
        self.valid += outcome.valid
        self.rejected += outcome.rejected
        self._since_valid = 0 if outcome.valid else self._since_valid + outcome.evaluated
        self._since_better += outcome.valid
        if outcome.best is not None and outcome.costs < self.costs:
            self.best, self.costs, self._since_better = outcome.best, outcome.costs, 0
            self.improvements.append((self.evaluated, outcome.costs[0]))

    @property
    def reasons(self) -> str:
        """Why mappings were rejected, the commonest reason first."""
        return ", ".join(f"{count:,} {reason}" for reason, count in self.rejected.most_common())

    def over(self, limits: Limits) -> bool:
        """Return whether a limit is reached; ``ended`` says which."""
        reached = {
            f"{limits.points:,} mappings were looked at": self.evaluated >= limits.points,
            f"the last {limits.victory} that can be had were no better": _past(
                self._since_better, limits.victory
            ),
            f"none of the last {limits.invalid} can be had": _past(self._since_valid, limits.invalid),
        }
        self.ended = next((words for words, now in reached.items() if now), self.ended)
        return any(reached.values())


def _past(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def judge(
    results: Iterable[Outcome], limits: Limits, progress: Callable[[SearchState], None] = lambda _found: None
) -> SearchState:
    """Search chunk by chunk until a limit is reached; ``progress`` is called after each."""
    best = SearchState()
    for outcome in results:
        best.add(outcome)
        progress(best)
        if best.over(limits):
            break
    return best


def outcomes(
    design: Design, chunks: Iterator[Mappings], metrics: Sequence[str], limits: Limits, workers: int = 1
) -> Iterator[Outcome]:
    """The outcomes of chunks in order, evaluated by as many processes.

    Args:
        design: what the mappings are of.
        chunks: the mappings to look at.
        metrics: names in ``METRICS``: the first counts, the next among equals.
        limits: no more mappings than these are looked at.
        workers: processes.
    """
    cut = _up_to(chunks, limits.points)
    if workers > 1:
        return _by_workers(design, cut, metrics, workers)
    return (evaluate(design, chunk, metrics) for chunk in cut)


def _up_to(chunks: Iterator[Mappings], points: int) -> Iterator[Mappings]:
    """Chunks with so many mappings in all."""
    left = points
    for chunk in chunks:
        yield chunk if len(chunk) <= left else chunk.only(range(left))
        left -= len(chunk)
        if left <= 0:
            return


def _by_workers(
    design: Design, chunks: Iterator[Mappings], metrics: Sequence[str], workers: int
) -> Iterator[Outcome]:
    """Yield the outcomes in order.

    Raises:
        StartError: the workers cannot be started, or one has died.
    """
    check_processes(workers, FILES_EACH)
    try:
        with ProcessPoolExecutor(workers, initializer=_remember, initargs=(design, tuple(metrics))) as pool:
            yield from _in_order(pool, chunks, AHEAD * workers)
    except BrokenProcessPool as error:
        raise StartError(f"a worker process has died; {ALONE}") from error


def _in_order(pool: ProcessPoolExecutor, chunks: Iterator[Mappings], ahead: int) -> Iterator[Outcome]:
    """Yield the outcomes of chunks, with some chunks given to the workers ahead."""
    waiting: deque[Future[Outcome]] = deque()
    try:
        for chunk in islice(chunks, ahead):
            waiting.append(_submit(pool, chunk))
        while waiting:
            yield waiting.popleft().result()
            for chunk in islice(chunks, 1):
                waiting.append(_submit(pool, chunk))
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, chunk: Mappings) -> Future[Outcome]:
    """Give a chunk to a worker; the first ones start their workers."""
    try:
        return pool.submit(_evaluate, chunk)
    except OSError as error:
        raise StartError(
            f"workers cannot start: the system starts no process ({error.strerror}); {ALONE}"
        ) from error


def _remember(design: Design, metrics: tuple[str, ...]) -> None:
    _REMEMBERED[:] = [(design, metrics)]


def _evaluate(chunk: Mappings) -> Outcome:
    design, metrics = _REMEMBERED[0]
    return evaluate(design, chunk, metrics)
