"""The search for a mapping: chunks evaluated by any number of workers, judged in the order of the walk.

The result does not depend on the number of workers: what ends a search is decided chunk by chunk, in order,
and what workers have done ahead of it is dropped.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from math import inf

from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.loops import Mappings
from fiberscope.models.analytic.mapper.chunk import Outcome, evaluate
from fiberscope.models.analytic.mapping import Mapping

__all__ = ["Found", "Limits", "judge", "outcomes"]

AHEAD = 4  # chunks that each worker is given before its first is asked for


@dataclass(frozen=True)
class Limits:
    """What ends a search, beside the end of the mapspace; numbers of mappings.

    Args:
        points: looked at.
        victory: that can be had, one after another, none better than the best.
        invalid: that cannot be had, one after another.
    """

    points: int = 100_000
    victory: int | None = None
    invalid: int | None = None


@dataclass
class Found:
    """What a search has found so far.

    Args:
        best: the best mapping; None while there is none.
        costs: of it, by the metrics.
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
        """Whether a limit is reached; ``ended`` says which."""
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
    results: Iterable[Outcome], limits: Limits, told: Callable[[Found], None] = lambda _found: None
) -> Found:
    """What a search finds, chunk by chunk until a limit is reached; ``told`` is called after each."""
    found = Found()
    for outcome in results:
        found.add(outcome)
        told(found)
        if found.over(limits):
            break
    return found


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
    """The outcomes in order."""
    with ProcessPoolExecutor(workers, initializer=_remember, initargs=(design, tuple(metrics))) as pool:
        waiting: deque[Future[Outcome]] = deque()
        try:
            for chunk in islice(chunks, AHEAD * workers):
                waiting.append(pool.submit(_evaluate, chunk))
            while waiting:
                yield waiting.popleft().result()
                for chunk in islice(chunks, 1):
                    waiting.append(pool.submit(_evaluate, chunk))
        finally:
            pool.shutdown(cancel_futures=True)


_REMEMBERED: list[tuple[Design, tuple[str, ...]]] = []  # of a worker: what all of its chunks share


def _remember(design: Design, metrics: tuple[str, ...]) -> None:
    _REMEMBERED[:] = [(design, metrics)]


def _evaluate(chunk: Mappings) -> Outcome:
    design, metrics = _REMEMBERED[0]
    return evaluate(design, chunk, metrics)
