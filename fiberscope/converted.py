"""A converter in front of a machine: operands that lie in memory in another format than it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.errors import InputError
from fiberscope.problem import ProblemMaker, configure
from fiberscope.provenance.made import Roots, of_simulation, source
from fiberscope.report.document import Report
from fiberscope.report.parts import Conversion, Conversions
from fiberscope.solve import Course, solve
from fiberscope.workloads import Problem

__all__ = ["PREFIX", "Settled", "settled", "solve_converted"]

PREFIX = "memory.format."


def _formats_of(
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


class Settled(NamedTuple):
    """A machine with its parameters, before any operand is there.

    Args:
        kind: the machine.
        configured: its parameters.
        maker: of its problem.
        formats: that operands lie in, where it reads another, by operand.
    """

    kind: Accelerator[Any]
    configured: Configuration
    maker: ProblemMaker
    formats: Mapping[str, str]

    def roots(self, machine: str, parts: Iterable[object] = ()) -> Roots:
        """Where the sources of its run begin; as of ``of_simulation``."""
        return of_simulation(self.kind, machine, self.configured, self.formats, parts)


def settled(
    kind: Accelerator[Any], settings: Mapping[str, object], config: str | Path | None = None
) -> Settled:
    """A machine with its parameters.

    Raises:
        ConfigurationError, InputError, WorkloadError: as of ``configure`` and what is checked of formats.
    """
    formats, own = _formats_of(kind, settings)
    return Settled(kind, *configure(kind, config, own), formats)


def solve_converted(ready: Settled, problem: Problem, course: Course) -> Report:
    """Run a problem on a machine, and before it the conversions of its operands, at the machine's own memory.

    Raises:
        InputError, ConfigurationError, VerificationError, DeadlockedRunError: as of ``solve``.
    """
    kind, configured, _maker, formats = ready
    asked, made = course.asked, None
    if asked is not None:
        made = source(ready.roots(asked.machine, course.parts.values()), asked)
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
