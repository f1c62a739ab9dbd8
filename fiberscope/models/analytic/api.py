"""Analyze a mapping from Python: ``fiberscope.analyze("case.yaml")``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.evaluate import Evaluation, evaluate_many
from fiberscope.models.analytic.inputs import Case, find_input_file, read_case
from fiberscope.models.analytic.machines import build_machine_case, check_machine, is_machine
from fiberscope.models.analytic.report import report
from fiberscope.models.trace.api import list_roots as specification_roots
from fiberscope.models.trace.source import find
from fiberscope.results.provenance.source_digest import Roots, build_source_entry, list_given_settings
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing
from fiberscope.results.report.parts import RecordedRequest


def analyze(*paths: str | Path, settings: Mapping[str, object] | None = None, exact: bool = False) -> Report:
    """Estimate the cost of a mapping of a problem on a machine, from statistics and without simulation.

    Args:
        paths: YAML files with the sections ``architecture``, ``problem`` and ``mapping``, and optionally
            ``ERT`` and ``sparse_optimizations``, in one file or in several. Or the name of a machine's
            specification and its operands: ``"extensor-energy", "wiki-Vote"``.
        settings: options of the model, as ``{"mode": "timeloop"}``; for a machine also its parameters.
        exact: refuse a surrogate for a matrix that is not available.

    Raises:
        ConfigurationError, InputError: an input is invalid; the message is one line with the place.
    """
    return analyze_paths(paths, settings, exact=exact)[0]


def analyze_paths(
    paths: Sequence[str | Path], settings: Mapping[str, object] | None = None, *, exact: bool = False
) -> tuple[Report, Evaluation]:
    """Return the report of ``analyze``, and its evaluation; the arguments are those of ``analyze``."""
    start = time.perf_counter()
    case = _load_case(paths, settings, exact)
    inputs = 1 if is_machine(paths) else len(paths)  # operands follow the name of a machine
    request = RecordedRequest(
        command="analyze",
        machine=shlex.join(map(str, paths[:inputs])),
        factors=tuple(map(str, paths[inputs:])),
        settings=list_given_settings(settings),
        exact=exact,
    )
    provenance = build_source_entry(list_roots(paths), request)
    evaluation_start = time.perf_counter()
    evaluation = evaluate_case(case)
    end = time.perf_counter()
    return report(case, evaluation, Timing(end - start, end - evaluation_start), provenance), evaluation


def list_roots(paths: Sequence[str | Path]) -> Roots:
    """Return the roots of an analysis' sources: the model, and its files or its machine.

    Files are not opened: the path of a file need not exist if it has a suffix.

    Raises:
        ConfigurationError, InputError: a name is neither a file nor a design, or there is no such machine.
    """
    if is_machine(paths):
        roots = specification_roots(find(str(paths[0])))
        return roots._replace(modules=roots.modules | {__name__})
    path = str(paths[0]) if Path(paths[0]).exists() else None
    return Roots(frozenset({__name__}), tuple(str(find_input_file(str(path_))) for path_ in paths), path)


def check(paths: Sequence[str | Path], settings: Mapping[str, object] | None = None) -> None:
    """Check all inputs; the arguments are those of ``analyze``.

    The operands of a machine are not loaded. Files with the data of a problem's tensors are read.

    Raises:
        ConfigurationError, InputError: as ``analyze``.
    """
    if is_machine(paths):
        check_machine(str(paths[0]), settings)
    else:
        read_case(paths, settings)


def _load_case(paths: Sequence[str | Path], settings: Mapping[str, object] | None, exact: bool) -> Case:
    if not is_machine(paths):
        return read_case(paths, settings)
    machine, *operands = map(str, paths)
    return build_machine_case(machine, operands, settings, exact)


def evaluate_case(case: Case) -> Evaluation:
    """Evaluate the mapping of a case.

    Raises:
        InputError: the case has no mapping, or the mapping is invalid on its machine.
    """
    evaluation = evaluate_many(case.design, case.loops.batch())
    if not evaluation.valid[0]:
        raise InputError(f"{case.name}: the mapping is not valid: {evaluation.explain()}")
    return evaluation
