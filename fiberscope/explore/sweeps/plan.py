"""Plan of a sweep: points with their digests, and the columns of their rows that are known beforehand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from fiberscope.accelerators.errors import ConfigurationError, ConflictError
from fiberscope.accelerators.quantities import in_base_units
from fiberscope.accelerators.sampling import Sample
from fiberscope.base.errors import InputError
from fiberscope.base.version import __version__
from fiberscope.explore.sweeps.content import estimate_nonzeros, operand_digest, text_digest
from fiberscope.explore.sweeps.point import (
    Point,
    build_request,
    check_sample,
    load_parts,
    parse_operands,
    request_type,
)
from fiberscope.explore.sweeps.unrun_status import REFUSED
from fiberscope.results.provenance.source_digest import Roots
from fiberscope.results.report.parts import SCHEMA
from fiberscope.workloads.errors import WorkloadError

__all__ = ["ParameterResolver", "Task", "plan_points", "plan_tasks", "unique_tasks"]


@dataclass(frozen=True)
class Task:
    """A point that can be run, or that is refused already.

    Args:
        point: what is run.
        row: columns that are known before it runs; ``status`` where it is not run at all.
        parameters: those that were given, by dotted key, as they are used, quantities in base units.
        size: the size of its operands, about, in nonzeros.
    """

    point: Point
    row: dict[str, Any]
    parameters: dict[str, object]
    size: float

    @property
    def digest(self) -> str:
        """Return the key of the point in a store."""
        return str(self.row["digest"])

    @property
    def refused(self) -> bool:
        """Return whether there is nothing to run."""
        return "status" in self.row


def plan_tasks(points: Iterable[Point], settle: ParameterResolver | None = None) -> list[Task]:
    """The tasks of points, each once.

    Args:
        points: the points to run.
        settle: where points are planned a few at a time, what is known of those before; else of none.

    Raises:
        ConfigurationError, InputError, WorkloadError: a value, an operand or a machine that can never be. One
            whose values are at odds with one another is a task that is refused.
    """
    return unique_tasks(plan_points(points, settle))


def plan_points(points: Iterable[Point], settle: ParameterResolver | None = None) -> list[Task]:
    """Return the task of each point; points that are alike have tasks with the same digest.

    Raises:
        ConfigurationError, InputError, WorkloadError: as of ``plan_tasks``.
    """
    settle = settle or ParameterResolver()
    return [_task(point, settle) for point in points]


def unique_tasks(tasks: Iterable[Task]) -> list[Task]:
    """Return the first task of each digest."""
    unique: dict[str, Task] = {}
    for task in tasks:
        unique.setdefault(task.digest, task)
    return list(unique.values())


class ResolvedPoint(NamedTuple):
    """Properties of a point before it runs: its parameters as used, the digest of its sources.

    One that is ``refused``, with the reason, has its parameters as they were given, and no sources.
    """

    parameters: dict[str, object]
    source: str
    refused: str


class ParameterResolver:
    """Settles parameters, once for all workloads: a machine takes a millisecond to check its own.

    Sources are gone through once too, which takes tens of milliseconds.
    """

    def __init__(self) -> None:
        self._cache: dict[str, ResolvedPoint] = {}
        self._digest_of = cache(_source)

    def __call__(self, point: Point, settings: str) -> ResolvedPoint:
        """The parameters of a point, by which sources it runs, and why it cannot be."""
        own = point.workload if point.command == "analyze" else bool(point.workload)
        key = json.dumps([point.command, point.accelerator, own, settings, point.config, dict(point.parts)])
        if key not in self._cache:
            self._cache[key] = self._resolve(point)
        return self._cache[key]

    def _resolve(self, point: Point) -> ResolvedPoint:
        try:
            run = build_request(point)
            parameters, parts = run.resolved_parameters(), load_parts(point).values()
            return ResolvedPoint(parameters, self._digest_of(run.roots(parts)), "")
        except ConflictError as error:
            return ResolvedPoint(dict(point.settings), "", " ".join(str(error).split()))


def _task(point: Point, settle: ParameterResolver) -> Task:
    settings = json.dumps(dict(point.settings), default=str)
    with _told_of(point, "command"):
        request_type(point)
    with _told_of(point, "sample"):
        check_sample(point)
    with _told_of(point, "workload"):
        content, size = _content(point.workload, point.exact)
    with _told_of(point, "accelerator"):
        settled = settle(point, settings)
    failed = {"status": REFUSED, "reason": settled.refused} if settled.refused else {}
    used = _written(
        settled.parameters
    )  # not as ``read``: 128 GB/s is no 128e9 where a plain number counts bits
    # A row of a store has the keys of both in another order.
    sample = [] if point.sample is None else [asdict(Sample(**point.sample))]
    own = {"name": point.name, "parts": dict(sorted(point.parts.items()))}
    identity = (
        *(point.command, point.accelerator, used, content, settled.source or settled.refused, SCHEMA),
        *sample,
        *([own] if any(own.values()) else []),
    )
    read = {key: in_base_units(value) for key, value in settled.parameters.items()}
    row = {
        "digest": text_digest(json.dumps(identity)),
        "command": point.command,
        "machine": point.machine,
        "accelerator": point.accelerator,
        "parts": _written(point.parts) if point.parts else None,
        "workload": point.workload,
        "workload_name": point.workload_name or None,
        "version": __version__,
        "source": settled.source,
        "workload_digest": text_digest(json.dumps(content)),
        "config_digest": text_digest(used),
        "config": _written(read),
        "settings": settings,
        **({"sampling": _written(sample[0])} if sample else {}),
        **failed,
    }
    point = replace(point, places={})  # who runs it needs none
    return Task(point, row, {key: read[key] for key in point.settings}, size)


@contextmanager
def _told_of(point: Point, part: str) -> Iterator[None]:
    """Say where a file names what is refused, unless that is told already."""
    try:
        yield
    except ConflictError:  # of values, which is a row
        raise
    except (ConfigurationError, InputError, WorkloadError) as error:
        own = point.config is not None and str(error).startswith(point.config)
        place = point.places.get("config" if own else part)
        if not place or str(error).startswith(tuple(filter(None, point.places.values()))):
            raise
        raise InputError(f"{place}: {error}") from error


def _written(config: Mapping[str, object]) -> str:
    return json.dumps(config, default=str, sort_keys=True)


@lru_cache(maxsize=4096)
def _content(workload: str, exact: bool) -> tuple[tuple[str, ...], float]:
    """The digests of a workload's operands, their names before them, and their size."""
    plain, named = parse_operands(workload)
    digests = (
        *(operand_digest(operand, exact) for operand in plain),
        *(f"{name}={operand_digest(operand, exact)}" for name, operand in named.items()),
    )
    return digests, sum(map(estimate_nonzeros, (*plain, *named.values()))) or 1.0  # of none: all are alike


def _source(roots: Roots) -> str:
    return roots.sources().digest
