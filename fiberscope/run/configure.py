"""Configuration of a run from its settings, and its execution with the conversions of operand formats.

Settings below ``memory.format`` name the formats of operands in memory. If the machine reads another format,
a converter is simulated too, and the report has its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.full_operands import compress_operands, lies_dense
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.problem_settings import ProblemMaker, configure
from fiberscope.accelerators.user_machines import file_of, is_path
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.base.progress import ignore_progress
from fiberscope.models.tiles.machines import with_tiles
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.provenance.source_digest import Roots, machine_modules, source_entry
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import Conversion, Conversions
from fiberscope.run.chains.chain import Chain
from fiberscope.run.execute import RunOptions, build_model, execute
from fiberscope.run.sampled import execute_sampled
from fiberscope.sim import Component
from fiberscope.workloads import Operand, Problem

__all__ = ["BETWEEN", "DENSE", "PREFIX", "ResolvedRun", "convert_operand", "execute_converted", "resolve_run"]

PREFIX = "memory.format."
BETWEEN = "between"  # of a chain: the format of all products that a later one uses
DENSE = "dense"
TILING = with_tiles.__module__  # chooses the tiles of machines that ask for it
CONVERTING = "fiberscope.converters.mint"


def _formats_of(
    accelerator: Accelerator[Any], settings: Mapping[str, object], chain: Chain | None
) -> tuple[dict[str, str], dict[str, object]]:
    """Separate the formats of operands that must be converted from the other settings.

    Raises:
        InputError: the machine takes no converter in front of it, or has no such operand.
        WorkloadError: no recipe converts the format to the one that the machine reads.
    """
    rest, formats, own = dict(settings), dict[str, str](), accelerator.reads
    if chain is not None:
        own = dict.fromkeys(chain.names, own["A"]) if own else own
        if BETWEEN in rest:
            formats = dict.fromkeys(chain.between, _text(rest.pop(BETWEEN)))
    formats |= {key.removeprefix(PREFIX): _text(rest.pop(key)) for key in settings if key.startswith(PREFIX)}
    for operand, name in formats.items():
        _check(own, accelerator.name, operand, name)
    foreign = {operand: name for operand, name in formats.items() if name.lower() != own[operand]}
    return foreign, rest


def _text(value: object) -> str:
    return str(value.value if isinstance(value, Entry) else value)


def _check(own: Mapping[str, str], machine: str, operand: str, name: str) -> None:
    from fiberscope.converters.recipes import recipe  # noqa: PLC0415  (most runs convert nothing)

    if operand not in own:
        names = ", ".join(own) or "none"
        raise InputError(f"{PREFIX}{operand}: operands of {machine} that can be converted: {names}")
    recipe(name, own[operand])


class ResolvedRun(NamedTuple):
    """A machine with its parameters, before any operand is loaded.

    Args:
        accelerator: the accelerator.
        configured: parameters of the machine.
        maker: loads the problem of the machine.
        formats: formats of the operands that must be converted, by operand or by name in the chain.
        chain: the chain of products to run; None for a single problem.
    """

    accelerator: Accelerator[Any]
    configured: Configuration
    maker: ProblemMaker
    formats: Mapping[str, str]
    chain: Chain | None = None

    def roots(self, machine: str, parts: Iterable[object] = ()) -> Roots:
        """Return the modules and files from which the digest of the run's sources starts.

        Args:
            machine: name or path of the machine, as the user wrote it.
            parts: the user's components, which replace the machine's.
        """
        modules = machine_modules(self.accelerator, parts)
        if self.accelerator.tile_room(self.configured) is not None:
            modules |= {TILING}
        if self.formats:
            modules |= {CONVERTING}
        if machine.endswith((".yaml", ".yml")):
            return Roots(modules, (machine,), machine)
        return Roots(modules, (str(file_of(machine)),), machine) if is_path(machine) else Roots(modules)

    def build(self, a: str, b: str | None, parts: Mapping[str, Callable[..., Component]]) -> None:
        """Build the machine for operands, with parts that note their arguments; run nothing.

        Raises:
            InputError, ConfigurationError, WorkloadError: as of ``execute``.
        """
        problem = self.maker.load(a, b, exact=False, progress=ignore_progress)
        _formats, configured = _to_convert(self, problem)
        options = RunOptions(EVENT, None, False, False, self.accelerator.taking(parts), ignore_progress)
        build_model(self.accelerator, configured, problem, options)


def resolve_run(
    accelerator: Accelerator[Any],
    settings: Mapping[str, object],
    config: str | Path | None = None,
    chain: Chain | None = None,
) -> ResolvedRun:
    """Resolve the parameters of a machine, and the formats to convert, before operands are loaded.

    Args:
        accelerator: the accelerator.
        settings: parameters, and formats below ``memory.format``, by dotted name.
        config: YAML file of parameters, below which ``settings`` takes precedence; None for defaults.
        chain: the chain of products to run; None for a single problem.

    Raises:
        ConfigurationError, InputError, WorkloadError: a parameter is wrong as of ``configure``, or a format
            cannot be converted.
    """
    formats, own = _formats_of(accelerator, settings, chain)
    return ResolvedRun(accelerator, *configure(accelerator, config, own), formats, chain)


def execute_converted(ready: ResolvedRun, problem: Problem, options: RunOptions) -> Report:
    """Run a problem on a machine, and the conversions of its operands on a converter with the same memory.

    The conversions are simulated after the problem, and only if its run is complete. In the report they come
    before the problem, and their time is added to its own.

    Raises:
        InputError, ConfigurationError, VerificationError, DeadlockedRunError: as of ``execute``.
    """
    accelerator, (formats, configured) = ready.accelerator, _to_convert(ready, problem)
    asked, provenance = options.asked, None
    if asked is not None:
        provenance = source_entry(ready.roots(asked.machine, options.parts.values()), asked)
    run = execute if options.sample is None else execute_sampled
    report = run(accelerator, configured, problem, options, provenance)
    if not formats or not report.complete:
        return report
    operands = problem.operands
    try:
        operand_conversions = {
            operand: convert_operand(
                configured, operands.get(operand, operands["A"]), (name, accelerator.reads[operand]), options
            )
            for operand, name in formats.items()
        }
    except KeyboardInterrupt:
        return report.model_copy(update={"complete": False, "ending": "interrupted"})
    seconds = report.seconds + sum(conversion.seconds for conversion in operand_conversions.values())
    moved = sum(part.moved_bytes for part in report.traffic.values())
    more = sum(conversion.moved_bytes for conversion in operand_conversions.values())
    conversions = Conversions(
        operands=operand_conversions,
        seconds=seconds,
        seconds_without=report.seconds,
        traffic_bytes=moved + more,
        traffic_bytes_without=moved,
    )
    return report.model_copy(update={"conversions": conversions})


def _to_convert(ready: ResolvedRun, problem: Problem) -> tuple[Mapping[str, str], Configuration]:
    """The formats that operands are converted from, and the machine's parameters, to read what comes of it.

    A full operand may lie dense as the machine reads it.
    """
    if not ready.formats:
        return {}, ready.configured
    operands = dict(zip("AB", problem.machine_inputs(), strict=False))
    formats = {
        operand: name
        for operand, name in ready.formats.items()
        if not (name.lower() == DENSE and lies_dense(ready.configured, operand, operands[operand]))
    }
    return formats, compress_operands(ready.configured, {operand: operands[operand] for operand in formats})


def convert_operand(
    configured: Any,  # noqa: ANN401 - the parameters of any machine with a memory
    operand: Operand,
    formats: tuple[str, str],
    options: RunOptions,
) -> Conversion:
    """Run the conversion of one operand.

    Args:
        configured: the configured of the machine at whose memory it is done.
        operand: that is converted.
        formats: from which, to which.
        options: of the machine's run, whose fidelity and checks are the conversion's.

    Raises:
        InputError, VerificationError, DeadlockedRunError: as of ``execute``.
        KeyboardInterrupt: the conversion was interrupted.
    """
    from fiberscope.converters.mint import MINT  # noqa: PLC0415  (most runs convert nothing)
    from fiberscope.converters.variants import waits_for_host  # noqa: PLC0415

    source, target = formats
    parameters, maker = configure(MINT, None, {"problem.source": source, "problem.target": target})
    at_machine = parameters.model_copy(update={"memory": configured.memory})
    asked = maker.load(operand, None, exact=False, progress=options.tell)
    alone = RunOptions(options.fidelity, None, False, options.checked, {}, options.tell)
    done = refuse_interrupted(execute(MINT, at_machine, asked, alone))
    return Conversion(
        source=source,
        target=target,
        cycles=done.cycles,
        seconds=done.seconds,
        read_bytes=done.traffic["A"].read_bytes,
        write_bytes=done.traffic["Z"].write_bytes,
        waits_for=waits_for_host(done.config["variant"]),
    )
