"""Plan of a sweep: points with their digests, and the columns of their rows that are known before the run.

A *point* is one requested run of a sweep. Its digest covers the command, the machine with its name in the
study and its parts, the resolved parameters, the operands, the sources, the sampling and the schema of
reports, so that equal runs have equal digests. A point whose values contradict each other is *refused*: it
gets a row with the reason, but no run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from fiberscope.accelerators.errors import ConfigurationError, ConflictError
from fiberscope.accelerators.quantities import in_base_units
from fiberscope.accelerators.sampling import Sample
from fiberscope.base.errors import InputError
from fiberscope.base.version import __version__
from fiberscope.explore.sweeps.content import digest_text, estimate_nonzeros, operand_digest
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


@dataclass(frozen=True)
class Task:
    """A point to run, or a refused point.

    Args:
        row: columns known before the run; a refused point has a ``status``.
        parameters: the requested parameters by dotted key, with their used values in base units.
        size: the approximate size of the operands, in nonzeros.
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
        """Return whether the point is refused without a run."""
        return "status" in self.row


def plan_tasks(points: Iterable[Point], resolver: ParameterResolver | None = None) -> list[Task]:
    """Return the tasks of points, without duplicates.

    Args:
        points: the points to run.
        resolver: a resolver with the cached parameters of earlier points; a new resolver by default.

    Raises:
        ConfigurationError, InputError, WorkloadError: a value, an operand or a machine is invalid. If the
            position in a file is known, the error is an InputError with the position. A point with
            contradictory values is a refused task.
    """
    return drop_repeated_tasks(plan_points(points, resolver))


def plan_points(points: Iterable[Point], resolver: ParameterResolver | None = None) -> list[Task]:
    """Return the task of each point; equal points have tasks with the same digest.

    Args:
        points, resolver: as for ``plan_tasks``.

    Raises:
        ConfigurationError, InputError, WorkloadError: the errors of ``plan_tasks``.
    """
    resolver = resolver or ParameterResolver()
    return [_plan_task(point, resolver) for point in points]


def drop_repeated_tasks(tasks: Iterable[Task]) -> list[Task]:
    """Return the first task of each digest."""
    unique: dict[str, Task] = {}
    for task in tasks:
        unique.setdefault(task.digest, task)
    return list(unique.values())


class ResolvedPoint(NamedTuple):
    """Parameters and source digest of a point.

    Args:
        parameters: every used parameter by dotted key; for a refused point, the requested parameters.
        source: the digest of all sources; empty for a refused point.
        refused: the reason of a refusal; empty for a point to run.
    """

    parameters: dict[str, object]
    source: str
    refused: str


class ParameterResolver:
    """Resolver of parameters with a cache, because checking a machine's parameters takes a millisecond.

    Digests of sources and of operands are cached too. A new resolver sees files that have changed since.
    """

    def __init__(self) -> None:
        self._cache: dict[str, ResolvedPoint] = {}
        self._digest_of = cache(_compute_source_digest)
        self.describe_content = cache(_describe_content)

    def __call__(self, point: Point, settings: str) -> ResolvedPoint:
        """Return the parameters of a point, its source digest, and the reason of a refusal.

        Args:
            settings: its settings as JSON, a part of the key of the cache.

        Raises:
            ConfigurationError, InputError, WorkloadError: a value or the machine is invalid.
        """
        # For ``analyze``, the operands are further input files, with parameters and sources of their own. For
        # other commands, the key has only whether there are operands.
        workload = point.workload if point.command == "analyze" else bool(point.workload)
        key = json.dumps(
            [point.command, point.accelerator, workload, settings, point.config, dict(point.parts)]
        )
        if key not in self._cache:
            self._cache[key] = self._resolve(point)
        return self._cache[key]

    def _resolve(self, point: Point) -> ResolvedPoint:
        try:
            run = build_request(point)
            parameters, parts = run.resolved_parameters(), load_parts(point).values()
            return ResolvedPoint(parameters, self._digest_of(run.find_roots(parts)), "")
        except ConflictError as error:
            return ResolvedPoint(dict(point.settings), "", " ".join(str(error).split()))


def _plan_task(point: Point, resolver: ParameterResolver) -> Task:
    settings = json.dumps(dict(point.settings), default=str)
    with _locate_errors(point, "command"):
        request_type(point)
    with _locate_errors(point, "sample"):
        check_sample(point)
    with _locate_errors(point, "workload"):
        content, size = resolver.describe_content(point.workload, point.exact)
    with _locate_errors(point, "accelerator"):
        resolved = resolver(point, settings)
    refusal = {"status": REFUSED, "reason": resolved.refused} if resolved.refused else {}
    # The digest has the values as used, not in base units: 128 GB/s and 128e9 differ where a plain number
    # counts bits.
    used = _serialize(resolved.parameters)
    # Sorted, because a row of a store has another order of keys.
    sample = [] if point.sample is None else [asdict(Sample(**point.sample))]
    identity_extras = {"name": point.name, "parts": dict(sorted(point.parts.items()))}
    identity = (
        *(point.command, point.accelerator, used, content, resolved.source or resolved.refused, SCHEMA),
        *sample,
        *([identity_extras] if any(identity_extras.values()) else []),
    )
    read = {key: in_base_units(value) for key, value in resolved.parameters.items()}
    row = {
        "digest": digest_text(json.dumps(identity)),
        "command": point.command,
        "machine": point.machine,
        "accelerator": point.accelerator,
        "parts": _serialize(point.parts) if point.parts else None,
        "workload": point.workload,
        "workload_name": point.workload_name or None,
        "version": __version__,
        "source": resolved.source,
        "workload_digest": digest_text(json.dumps(content)),
        "config_digest": digest_text(used),
        "config": _serialize(read),
        "settings": settings,
        **({"sampling": _serialize(sample[0])} if sample else {}),
        **refusal,
    }
    point = replace(point, locations={})  # not needed for the run
    return Task(point, row, {key: read[key] for key in point.settings}, size)


@contextmanager
def _locate_errors(point: Point, key: str) -> Iterator[None]:
    """Add the position in a file to errors of a point, unless the message has one."""
    try:
        yield
    except ConflictError:  # becomes a row
        raise
    except (ConfigurationError, InputError, WorkloadError) as error:
        is_of_config = point.config is not None and str(error).startswith(point.config)
        location = point.locations.get("config" if is_of_config else key)
        if not location or str(error).startswith(tuple(filter(None, point.locations.values()))):
            raise
        raise InputError(f"{location}: {error}") from error


def _serialize(config: Mapping[str, object]) -> str:
    return json.dumps(config, default=str, sort_keys=True)


def _describe_content(workload: str, exact: bool) -> tuple[tuple[str, ...], float]:
    """Return the digests of a workload's operands, prefixed by their names, and their total size."""
    plain, by_name = parse_operands(workload)
    digests = (
        *(operand_digest(operand, exact) for operand in plain),
        *(f"{name}={operand_digest(operand, exact)}" for name, operand in by_name.items()),
    )
    return digests, sum(
        map(estimate_nonzeros, (*plain, *by_name.values()))
    ) or 1.0  # without sizes, all count equally


def _compute_source_digest(roots: Roots) -> str:
    return roots.sources().digest
