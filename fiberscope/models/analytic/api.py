"""Analyze a mapping from Python: ``fiberscope.analyze("case.yaml")``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.evaluate import Evaluated, evaluate_many
from fiberscope.models.analytic.inputs import Case, file_called, read_case
from fiberscope.models.analytic.machines import check_machine, is_machine, machine_case
from fiberscope.models.analytic.report import report
from fiberscope.models.trace.api import roots_of as specified_roots
from fiberscope.models.trace.source import find
from fiberscope.results.provenance.source_digest import Roots, given_settings, source_entry
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing
from fiberscope.results.report.parts import RecordedRequest

__all__ = ["analyze", "analyzed", "check", "evaluated", "roots_of"]


def analyze(*paths: str | Path, settings: Mapping[str, object] | None = None, exact: bool = False) -> Report:
    """Estimate the cost of a mapping of a problem on a machine, by statistics and without running it.

    Args:
        paths: YAML files with the sections ``architecture``, ``problem`` and ``mapping``, and ``ERT`` and
            ``sparse_optimizations`` where there are any; in one file or in several. Or a machine by the name
            of its specification, and its operands: ``"extensor-energy", "wiki-Vote"``.
        settings: options of the model, as ``{"mode": "timeloop"}``; of a machine also its parameters.
        exact: refuse a surrogate for a matrix that cannot be had.

    Raises:
        ConfigurationError, InputError: what was given cannot be analyzed; one line that says where.
    """
    return analyzed(paths, settings, exact=exact)[0]


def analyzed(
    paths: Sequence[str | Path], settings: Mapping[str, object] | None = None, *, exact: bool = False
) -> tuple[Report, Evaluated]:
    """The report of ``analyze``, and the evaluation that it is of."""
    began = time.perf_counter()
    case = _case(paths, settings, exact)
    inputs = 1 if is_machine(paths) else len(paths)
    request = RecordedRequest(
        command="analyze",
        machine=shlex.join(map(str, paths[:inputs])),
        factors=tuple(map(str, paths[inputs:])),
        settings=given_settings(settings),
        exact=exact,
    )
    provenance = source_entry(roots_of(paths), request)
    started = time.perf_counter()
    evaluation = evaluated(case)
    ended = time.perf_counter()
    return report(case, evaluation, Timing(ended - began, ended - started), provenance), evaluation


def roots_of(paths: Sequence[str | Path]) -> Roots:
    """Return the roots of an analysis' sources: of the model, and its files, or the machine and its own.

    Raises:
        ConfigurationError, InputError: there are no such files.
    """
    if is_machine(paths):
        roots = specified_roots(find(str(paths[0])))
        return roots._replace(modules=roots.modules | {__name__})
    path = str(paths[0]) if Path(paths[0]).exists() else None
    return Roots(frozenset({__name__}), tuple(str(file_called(str(path_))) for path_ in paths), path)


def check(paths: Sequence[str | Path], settings: Mapping[str, object] | None = None) -> None:
    """Refuse what could not be analyzed whatever the operands; the arguments are those of ``analyze``.

    Raises:
        ConfigurationError, InputError: as ``analyze``.
    """
    if is_machine(paths):
        check_machine(str(paths[0]), settings)
    else:
        read_case(paths, settings)


def _case(paths: Sequence[str | Path], settings: Mapping[str, object] | None, exact: bool) -> Case:
    if not is_machine(paths):
        return read_case(paths, settings)
    machine, *operands = map(str, paths)
    return machine_case(machine, operands, settings, exact)


def evaluated(case: Case) -> Evaluated:
    """The evaluation of a case with a mapping.

    Raises:
        InputError: it has no mapping, or one that cannot be had on its machine.
    """
    evaluation = evaluate_many(case.design, case.loops.batch())
    if not evaluation.valid[0]:
        raise InputError(f"{case.name}: the mapping cannot be had: {evaluation.explained()}")
    return evaluation
