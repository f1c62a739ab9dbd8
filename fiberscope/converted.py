"""A converter in front of a machine: operands that lie in memory in another format than it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.errors import InputError
from fiberscope.problem import configure
from fiberscope.provenance.made import of_simulation, source
from fiberscope.report.document import Report
from fiberscope.report.parts import Conversion, Conversions, Source
from fiberscope.solve import Course, solve
from fiberscope.workloads import Problem

__all__ = ["formats_of", "solve_converted"]

PREFIX = "memory.format."


def formats_of(
    kind: Accelerator[Any], settings: Mapping[str, object]
) -> tuple[dict[str, str], dict[str, object]]:
    """The formats that operands lie in, by operand, where the machine reads another; and the other settings.

    Raises:
        InputError: the machine takes no converter in front of it, or has no such operand.
        WorkloadError: no recipe converts the format to the one that the machine reads.
    """
    formats = {
        key.removeprefix(PREFIX): str(given.value if isinstance(given, Entry) else given)
        for key, given in settings.items()
        if key.startswith(PREFIX)
    }
    for operand, name in formats.items():
        _check(kind, operand, name)
    foreign = {operand: name for operand, name in formats.items() if name.lower() != kind.reads[operand]}
    return foreign, {key: value for key, value in settings.items() if not key.startswith(PREFIX)}


def _check(kind: Accelerator[Any], operand: str, name: str) -> None:
    from fiberscope.converters.recipes import recipe  # noqa: PLC0415  (most runs convert nothing)

    if operand not in kind.reads:
        known = ", ".join(kind.reads) or "none"
        raise InputError(f"{PREFIX}{operand}: operands of {kind.name} that can be converted: {known}")
    recipe(name, kind.reads[operand])


def solve_converted(
    kind: Accelerator[Any],
    configured: Configuration,
    problem: Problem,
    course: Course,
    formats: Mapping[str, str],
) -> Report:
    """Run a problem on a machine, and before it the conversions of its operands, at the machine's own memory.

    Raises:
        InputError, ConfigurationError, VerificationError, DeadlockedRunError: as of ``solve``.
    """
    made = _source(kind, configured, course, formats)
    report = solve(kind, configured, problem, course, made)
    if not formats:
        return report
    found = {
        operand: _converted(kind, configured, problem, operand, name, course)
        for operand, name in formats.items()
    }
    seconds = report.seconds + sum(one.seconds for one in found.values())
    moved = sum(part.read_bytes + part.write_bytes for part in report.traffic.values())
    more = sum(one.read_bytes + one.write_bytes for one in found.values())
    conversions = Conversions(
        operands=found,
        seconds=seconds,
        seconds_without=report.seconds,
        traffic_bytes=moved + more,
        traffic_bytes_without=moved,
    )
    return report.model_copy(update={"conversions": conversions})


def _source(
    kind: Accelerator[Any], configured: Configuration, course: Course, formats: Mapping[str, str]
) -> Source | None:
    """By what a run is made, if somebody asked for it."""
    if course.asked is None:
        return None
    roots = of_simulation(kind, course.asked.machine, configured, formats, course.parts.values())
    return source(roots, course.asked)


def _converted(
    kind: Accelerator[Any],
    configured: Any,  # noqa: ANN401 - the parameters of any machine with a memory
    problem: Problem,
    operand: str,
    name: str,
    course: Course,
) -> Conversion:
    """Run the conversion of one operand."""
    from fiberscope.converters.mint import MINT  # noqa: PLC0415  (most runs convert nothing)
    from fiberscope.converters.variants import waits_for_host  # noqa: PLC0415

    target = kind.reads[operand]
    given = problem.operands.get(operand, problem.operands["A"])
    parameters, maker = configure(MINT, None, {"problem.source": name, "problem.target": target})
    at_machine = parameters.model_copy(update={"memory": configured.memory})
    asked = maker.load(given, None, exact=False, progress=course.tell)
    alone = Course(course.fidelity, None, False, course.checked, {}, course.tell)
    done = solve(MINT, at_machine, asked, alone)
    return Conversion(
        source=name,
        target=target,
        cycles=done.cycles,
        seconds=done.seconds,
        read_bytes=done.traffic["A"].read_bytes,
        write_bytes=done.traffic["Z"].write_bytes,
        waits_for=waits_for_host(done.config["variant"]),
    )
