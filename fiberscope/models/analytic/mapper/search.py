"""Search for a mapping: workers evaluate chunks, and the search judges the chunks in order.

The result does not depend on the number of workers. Limits are checked chunk by chunk, in order; chunks that
workers evaluate beyond a limit are dropped.
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

from fiberscope.base.processes import ALONE, StartError, check_processes
from fiberscope.models.analytic.arrays import Integers, Numbers
from fiberscope.models.analytic.evaluate import Design, Evaluation, evaluate_many
from fiberscope.models.analytic.fits import Fault, find_first_faults, find_mesh_faults, tile_faults
from fiberscope.models.analytic.mapping import Mapping, Mappings

# Metrics of mappings: joules times cycles, cycles, picojoules.
METRICS: Final = {"edp": attrgetter("edp"), "delay": attrgetter("cycles"), "energy": attrgetter("energy_pj")}
FILES_EACH = 4  # files that this process opens for a worker
CHUNKS_IN_FLIGHT = 4  # chunks in flight for each worker
_SHARED: list[tuple[Design, tuple[str, ...]]] = []  # in a worker: the design and the metrics of all chunks


@dataclass(frozen=True)
class Outcome:
    """Result of a chunk of mappings.

    Args:
        evaluated: number of mappings.
        rejected: number of invalid mappings, by reason.
        values: of each mapping, by the first metric; infinite for an invalid mapping.
        best: the first of the best mappings; None if no mapping is valid.
        costs: the costs of the best mapping, by the metrics.
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
    """Evaluate mappings; those with too many instances or too large tiles are rejected without statistics.

    Args:
        metrics: names in ``METRICS``, at least one; each further metric breaks ties of those before.
    """
    faults = [
        *find_mesh_faults(design.problem, design.architecture, mappings),
        *tile_faults(design.problem, design.architecture, design.features, mappings),
    ]
    first = find_first_faults(len(mappings), faults)
    rejected = _count_faults(first, faults)
    candidates = np.flatnonzero(first == 0)
    values = np.full(len(mappings), np.inf)
    if not len(candidates):
        return Outcome(len(mappings), rejected, values)
    evaluation = evaluate_many(design, mappings.select(candidates))
    rejected += _count_faults(evaluation.fault, evaluation.faults)
    costs = np.stack([METRICS[name](evaluation) for name in metrics])
    values[candidates] = np.where(evaluation.valid, costs[0], np.inf)
    return Outcome(len(mappings), rejected, values, *_find_best(evaluation, costs))


def _find_best(evaluation: Evaluation, costs: Numbers) -> tuple[Mapping | None, tuple[float, ...]]:
    valid = np.flatnonzero(evaluation.valid)
    if not len(valid):
        return None, ()
    best = int(valid[np.lexsort(costs[::-1, valid])[0]])
    return Mapping.from_batch(evaluation.mappings, best), tuple(costs[:, best].tolist())


def _count_faults(first: Integers, faults: Sequence[Fault]) -> Counter[str]:
    """Count the mappings whose first fault is each fault."""
    rejected: Counter[str] = Counter()
    for fault, count in zip(faults, np.bincount(first, minlength=len(faults) + 1)[1:].tolist(), strict=True):
        if count:
            rejected[str(fault)] += count
    return rejected


@dataclass(frozen=True)
class Limits:
    """Limits of a search, in addition to the end of the mapspace; numbers of mappings.

    Mappings are counted by whole chunks: a chunk with an improvement resets the count of ``victory``, a chunk
    with a valid mapping the count of ``invalid``.

    Args:
        points: evaluated mappings.
        victory: consecutive valid mappings without an improvement.
        invalid: consecutive invalid mappings.
    """

    points: int = 100_000
    victory: int | None = None
    invalid: int | None = None


@dataclass
class SearchState:
    """Progress and result of a search.

    Args:
        best: the best mapping so far, or None.
        costs: its costs, by the metrics.
        evaluated, valid: numbers of evaluated and of valid mappings.
        rejected: invalid mappings, by reason.
        improvements: for each chunk with an improvement, the number of mappings evaluated so far, this chunk
            included, and the new cost by the first metric.
        end_reason: why the search ended.
    """

    best: Mapping | None = None
    costs: tuple[float, ...] = (inf,)
    evaluated: int = 0
    valid: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    improvements: list[tuple[int, float]] = field(default_factory=list)
    end_reason: str = "all mappings were looked at"
    _since_better: int = 0
    _since_valid: int = 0

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of the next chunk."""
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
        """Describe why mappings were rejected, the most frequent reason first."""
        return ", ".join(f"{count:,} {reason}" for reason, count in self.rejected.most_common())

    def is_over(self, limits: Limits) -> bool:
        """Return whether a limit is reached; then set ``end_reason`` to the first such limit."""
        limits_reached = {
            f"{limits.points:,} mappings were looked at": self.evaluated >= limits.points,
            f"the last {limits.victory} valid mappings were no better": _is_exceeded(
                self._since_better, limits.victory
            ),
            f"none of the last {limits.invalid} mappings is valid": _is_exceeded(
                self._since_valid, limits.invalid
            ),
        }
        self.end_reason = next(
            (reason for reason, is_reached in limits_reached.items() if is_reached), self.end_reason
        )
        return any(limits_reached.values())


def _is_exceeded(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def judge(
    results: Iterable[Outcome], limits: Limits, progress: Callable[[SearchState], None] = lambda _found: None
) -> SearchState:
    """Search chunk by chunk until a limit is reached; return the final state, with the best mapping.

    Args:
        results: outcomes of the chunks, in the order of the walk.
        limits: limits, which are checked after each chunk.
        progress: called with the state of the search after each chunk.
    """
    best = SearchState()
    for outcome in results:
        best.add(outcome)
        progress(best)
        if best.is_over(limits):
            break
    return best


def evaluate_chunks(
    design: Design, chunks: Iterator[Mappings], metrics: Sequence[str], limits: Limits, workers: int = 1
) -> Iterator[Outcome]:
    """Yield the outcomes of chunks in order.

    Args:
        chunks: the mappings.
        metrics: names in ``METRICS``; each further metric breaks ties of those before.
        limits: limits; only ``points`` counts here.
        workers: number of processes; 1: this process.

    Raises:
        StartError: during the iteration, if workers cannot start, or a worker has died.
    """
    limited = _limit_points(chunks, limits.points)
    if workers > 1:
        return _evaluate_in_workers(design, limited, metrics, workers)
    return (evaluate(design, chunk, metrics) for chunk in limited)


def _limit_points(chunks: Iterator[Mappings], points: int) -> Iterator[Mappings]:
    """Yield chunks with a total number of mappings; the last chunk may be cut."""
    remaining = points
    for chunk in chunks:
        yield chunk if len(chunk) <= remaining else chunk.select(range(remaining))
        remaining -= len(chunk)
        if remaining <= 0:
            return


def _evaluate_in_workers(
    design: Design, chunks: Iterator[Mappings], metrics: Sequence[str], workers: int
) -> Iterator[Outcome]:
    """Yield the outcomes in order.

    Raises:
        StartError: the workers cannot start, or a worker has died.
    """
    check_processes(workers, FILES_EACH)
    try:
        with ProcessPoolExecutor(workers, initializer=_set_shared, initargs=(design, tuple(metrics))) as pool:
            yield from _await_in_order(pool, chunks, CHUNKS_IN_FLIGHT * workers)
    except BrokenProcessPool as error:
        raise StartError(f"a worker process has died; {ALONE}") from error


def _await_in_order(
    pool: ProcessPoolExecutor, chunks: Iterator[Mappings], in_flight: int
) -> Iterator[Outcome]:
    """Yield the outcomes of chunks, with a number of chunks in flight."""
    pending: deque[Future[Outcome]] = deque()
    try:
        for chunk in islice(chunks, in_flight):
            pending.append(_submit(pool, chunk))
        while pending:
            yield pending.popleft().result()
            for chunk in islice(chunks, 1):
                pending.append(_submit(pool, chunk))
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, chunk: Mappings) -> Future[Outcome]:
    """Submit a chunk to the workers; the first chunks start the processes."""
    try:
        return pool.submit(_evaluate, chunk)
    except OSError as error:
        raise StartError(
            f"workers cannot start: the system starts no process ({error.strerror}); {ALONE}"
        ) from error


def _set_shared(design: Design, metrics: tuple[str, ...]) -> None:
    _SHARED[:] = [(design, metrics)]


def _evaluate(chunk: Mappings) -> Outcome:
    design, metrics = _SHARED[0]
    return evaluate(design, chunk, metrics)
