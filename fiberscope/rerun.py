"""A run again, as its report says that it was asked for, by the same sources and on the same operands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fiberscope import accelerators
from fiberscope.accelerators.machine import EVENT
from fiberscope.api import simulate
from fiberscope.converted import formats_of
from fiberscope.converters.mint import MINT
from fiberscope.errors import InputError
from fiberscope.parts import parse_parts
from fiberscope.problem import configure
from fiberscope.provenance.made import Roots, of_simulation
from fiberscope.report.document import Report
from fiberscope.report.parts import Asked, Source

__all__ = ["rerun"]

MOST_NAMED = 5  # modules, in a line
Progress: TypeAlias = Callable[[str, int, int], None]


class _Again(NamedTuple):
    """A run that is ready: where its sources begin, the digests of its operands, and what runs it."""

    roots: Roots
    operands: Sequence[str]
    run: Callable[[], Report]


def rerun(path: Path, progress: Progress | None = None, *, anyway: bool = False) -> tuple[Report, Report]:
    """The report in a file, and that of its run again.

    Args:
        path: of the report.
        progress: told of stage, work done and work in all.
        anyway: also by other sources, and on other operands.

    Raises:
        ConfigurationError, WorkloadError, InputError: it cannot be run again, or not by the same.
        VerificationError, DeadlockedRunError: it went wrong; they have the report.
    """
    before = Report.read(path)
    if before.source is None:
        raise InputError(f"{path}: does not say what it was made by; its version of Fiberscope did not tell")
    asked = before.source.asked
    if None in (*asked.factors, *asked.tensors.values()):
        raise InputError(f"{path}: an operand was in memory; only what has a name or a file can be had again")
    again = _READY[asked.command](before, asked, progress or _nobody)
    if not anyway:
        _check(path, before, before.source, again)
    return before, again.run()


def _nobody(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody about the progress."""


def _check(path: Path, before: Report, source: Source, again: _Again) -> None:
    """Refuse other sources and other operands.

    Raises:
        InputError: naming them.
    """
    found = again.roots.sources()
    if found.digest != source.digest:
        now = {name: digest[:12] for name, digest in found.modules.items()}
        told = _listed(sorted(name for name, _digest in now.items() ^ source.modules.items()))
        raise InputError(f"{path}: it was run by other sources: {told}; --anyway runs it by these")
    were = [one.digest for one in before.workload.operands]
    if list(dict.fromkeys(again.operands)) != list(dict.fromkeys(were)):
        names = ", ".join(one.name for one in before.workload.operands if one.digest not in again.operands)
        raise InputError(f"{path}: operands are others than they were: {names}; --anyway runs it on these")


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _simulation(before: Report, asked: Asked, progress: Progress) -> _Again:
    kind = MINT if asked.machine == MINT.name else accelerators.find(asked.machine)
    parts = parse_parts([f"{name}={place}" for name, place in asked.parts.items()])
    formats, given = formats_of(kind, asked.settings)
    configured, maker = configure(kind, None, given)
    a, b = (*asked.factors, None)[:2]
    problem = maker.load(a, b, asked.exact, progress)
    run = partial(
        simulate,
        kind if kind is MINT else asked.machine,
        a,
        b,
        settings=asked.settings,
        exact=asked.exact,
        parts=parts,
        cycle_limit=asked.cycle_limit,
        histograms=asked.histograms,
        checked=asked.checked,
        fidelity=before.fidelity if before.fidelity in kind.models else EVENT,
        progress=progress,
    )
    roots = of_simulation(kind, asked.machine, configured, formats, parts.values())
    return _Again(roots, [one.digest for one in problem.operands.values()], run)


def _model(_before: Report, asked: Asked, progress: Progress) -> _Again:
    from fiberscope.models.trace.api import model, prepare  # noqa: PLC0415  (its grammar takes time to load)

    given: Mapping[str, Any] = {
        "tensors": asked.tensors,
        "settings": asked.settings,
        "exact": asked.exact,
        "progress": progress,
    }
    ready = prepare(asked.machine, *asked.factors, **given)
    operands = [ready.operands[name].workload.digest for name in ready.specification.inputs]
    return _Again(ready.roots, operands, partial(model, asked.machine, *asked.factors, **given))


def _analysis(_before: Report, asked: Asked, _progress: Progress) -> _Again:
    from fiberscope.models.analytic.api import analyze, roots_of  # noqa: PLC0415

    paths = [*shlex.split(asked.machine), *filter(None, asked.factors)]
    report = analyze(*paths, settings=asked.settings)  # it takes less than reading its operands twice
    return _Again(roots_of(paths), [one.digest for one in report.workload.operands], lambda: report)


def _graph(_before: Report, asked: Asked, progress: Progress) -> _Again:
    from fiberscope.models.graphs.execution import prepare, roots_of, run  # noqa: PLC0415
    from fiberscope.models.graphs.read import graph_from_text  # noqa: PLC0415

    graph = asked.machine if asked.graph is None else graph_from_text(asked.graph)
    ready = prepare(graph, asked.tensors, exact=asked.exact, progress=progress)
    again = partial(
        run,
        graph,
        asked.tensors,
        asked.settings,
        exact=asked.exact,
        cycle_limit=asked.cycle_limit,
        histograms=asked.histograms,
        progress=progress,
    )
    roots = roots_of(None if asked.graph is not None else asked.machine)
    return _Again(roots, [one.digest for one in ready.operands.values()], again)


_READY: Mapping[str, Callable[[Report, Asked, Progress], _Again]] = {
    "sim": _simulation,
    "model": _model,
    "analyze": _analysis,
    "graph": _graph,
}
