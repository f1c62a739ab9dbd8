"""Resolution of a run's settings, and execution with conversions of operand formats.

Settings below ``memory.format`` name the formats of operands in memory. If the machine reads another format,
a converter is simulated too, and the report includes its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.full_operands import compress_operands, is_stored_dense
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.problem_settings import ProblemMaker, configure
from fiberscope.accelerators.user_machines import file_of, is_path
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.base.progress import ignore_progress
from fiberscope.models.tiles.machines import set_tiles
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.provenance.source_digest import Roots, build_source_entry, machine_modules
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import Conversion, Conversions
from fiberscope.run.chains.chain import Chain
from fiberscope.run.execute import RunOptions, build_model, execute
from fiberscope.run.sampled import execute_sampled
from fiberscope.sim import Component
from fiberscope.workloads import Operand, Problem

PREFIX = "memory.format."  # of the setting with the format of an operand, as memory.format.B
BETWEEN = "between"  # setting with the format of all intermediate products of a chain
DENSE = "dense"  # format with every element, zeros included
TILING = set_tiles.__module__  # module that chooses tiles
CONVERTING = "fiberscope.converters.mint"  # module of the machine that converts formats


def _split_formats(
    accelerator: Accelerator[Any], settings: Mapping[str, object], chain: Chain | None
) -> tuple[dict[str, str], dict[str, object]]:
    """Split settings into the formats of operands that must be converted, and other settings.

    An operand whose format is already the machine's needs no conversion, and is in neither result.

    Raises:
        InputError: the machine supports no converter, or has no such operand.
        WorkloadError: no recipe converts the format to the machine's format.
    """
    machine_settings, formats, machine_formats = dict(settings), dict[str, str](), accelerator.reads
    if chain is not None:
        if machine_formats:
            machine_formats = dict.fromkeys(chain.names, machine_formats["A"])
        if BETWEEN in machine_settings:
            format_name = _format_name(machine_settings.pop(BETWEEN))
            formats = dict.fromkeys(chain.intermediates, format_name)
    formats |= {
        key.removeprefix(PREFIX): _format_name(machine_settings.pop(key))
        for key in settings
        if key.startswith(PREFIX)
    }
    for operand, name in formats.items():
        _check_format(machine_formats, accelerator.name, operand, name)
    converted = {
        operand: name for operand, name in formats.items() if name.lower() != machine_formats[operand]
    }
    return converted, machine_settings


def _format_name(value: object) -> str:
    """Return the name of a format from the value of a setting, which may be an ``Entry``."""
    return str(value.value if isinstance(value, Entry) else value)


def _check_format(machine_formats: Mapping[str, str], machine: str, operand: str, name: str) -> None:
    """Check that an operand can be converted from the format ``name`` to the machine's format.

    Raises:
        InputError: no operand of this name can be converted.
        WorkloadError: no recipe converts the format.
    """
    from fiberscope.converters.recipes import find_recipe  # noqa: PLC0415  (needed for conversions only)

    if operand not in machine_formats:
        names = ", ".join(machine_formats) or "none"
        raise InputError(f"{PREFIX}{operand}: operands of {machine} that can be converted: {names}")
    find_recipe(name, machine_formats[operand])


class ResolvedRun(NamedTuple):
    """A machine with its parameters, before any operand is loaded.

    Args:
        accelerator: the accelerator.
        configured: parameters of the machine.
        maker: loads the problem of the machine.
        formats: the format in memory of each operand that must be converted, by operand or by name in the
            chain.
        chain: the chain of products; None for a single problem.
    """

    accelerator: Accelerator[Any]
    configured: Configuration
    maker: ProblemMaker
    formats: Mapping[str, str]
    chain: Chain | None = None

    def roots(self, machine: str, parts: Iterable[object] = ()) -> Roots:
        """Return the modules and files that determine the digest of the run's sources.

        Args:
            machine: name or path of the machine, as the user wrote it.
            parts: the user's components.
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
        """Build the machine for operands without a run, to find errors of its construction.

        Args:
            a, b: names or paths of the operands; None for an omitted operand.
            parts: factories of the user's components, by name of the machine's part.

        Raises:
            InputError, ConfigurationError, WorkloadError: an operand cannot be loaded, or the machine cannot
                be built for the operands.
        """
        problem = self.maker.load(a, b, exact=False, progress=ignore_progress)
        _formats, configured = _select_conversions(self, problem)
        options = RunOptions(EVENT, None, False, False, self.accelerator.merge_parts(parts), ignore_progress)
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
        config: YAML file of parameters, which ``settings`` override; None for defaults.
        chain: the chain of products; None for a single problem.

    Raises:
        ConfigurationError, InputError, WorkloadError: a parameter is invalid, or a format cannot be
            converted.
    """
    formats, machine_settings = _split_formats(accelerator, settings, chain)
    return ResolvedRun(accelerator, *configure(accelerator, config, machine_settings), formats, chain)


def execute_converted(resolved: ResolvedRun, problem: Problem, options: RunOptions) -> Report:
    """Run a problem on a machine, and the conversions of its operands on a converter with the same memory.

    Conversions are simulated after a complete run. The field ``conversions`` of the report has their costs,
    and the time and traffic of run and conversions together, as if each conversion preceded the run. All
    other fields are those of the run alone. An interrupted conversion makes the report incomplete.

    Args:
        resolved: the resolved run.
        problem: the problem with its loaded operands.
        options: the options of the run; with ``sample``, cycles are estimated from windows.

    Raises:
        InputError, ConfigurationError, VerificationError, DeadlockedRunError: the errors of ``execute``, of
            the run or of a conversion.
    """
    accelerator, (formats, configured) = resolved.accelerator, _select_conversions(resolved, problem)
    request, provenance = options.request, None
    if request is not None:
        provenance = build_source_entry(resolved.roots(request.machine, options.parts.values()), request)
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
    moved_bytes = sum(part.moved_bytes for part in report.traffic.values())
    converted_bytes = sum(conversion.moved_bytes for conversion in operand_conversions.values())
    conversions = Conversions(
        operands=operand_conversions,
        seconds=seconds,
        seconds_without=report.seconds,
        traffic_bytes=moved_bytes + converted_bytes,
        traffic_bytes_without=moved_bytes,
    )
    return report.model_copy(update={"conversions": conversions})


def _select_conversions(resolved: ResolvedRun, problem: Problem) -> tuple[Mapping[str, str], Configuration]:
    """Return the formats to convert from, and the machine's parameters for the converted operands.

    An operand with a value at every position can be stored dense without conversion, if the machine has a
    layout for it.
    """
    if not resolved.formats:
        return {}, resolved.configured
    operands = dict(zip("AB", problem.machine_inputs(), strict=False))
    formats = {
        operand: name
        for operand, name in resolved.formats.items()
        if not (name.lower() == DENSE and is_stored_dense(resolved.configured, operand, operands[operand]))
    }
    return formats, compress_operands(
        resolved.configured, {operand: operands[operand] for operand in formats}
    )


def convert_operand(
    configured: Any,  # noqa: ANN401 - the parameters of any machine with a memory
    operand: Operand,
    formats: tuple[str, str],
    options: RunOptions,
) -> Conversion:
    """Run the conversion of one operand.

    Args:
        configured: the parameters of the machine, whose memory the converter uses.
        operand: the operand.
        formats: the source and target format.
        options: the options of the run; only fidelity, checks and progress apply to the conversion.

    Raises:
        InputError, VerificationError, DeadlockedRunError: the errors of ``execute``.
        KeyboardInterrupt: the conversion was interrupted.
    """
    from fiberscope.converters.mint import MINT  # noqa: PLC0415  (needed for conversions only)
    from fiberscope.converters.variants import waits_for_host  # noqa: PLC0415

    source, target = formats
    parameters, maker = configure(MINT, None, {"problem.source": source, "problem.target": target})
    with_machine_memory = parameters.model_copy(update={"memory": configured.memory})
    conversion_problem = maker.load(operand, None, exact=False, progress=options.report_progress)
    conversion_options = RunOptions(
        options.fidelity, None, False, options.checked, {}, options.report_progress
    )
    report = refuse_interrupted(execute(MINT, with_machine_memory, conversion_problem, conversion_options))
    return Conversion(
        source=source,
        target=target,
        cycles=report.cycles,
        seconds=report.seconds,
        read_bytes=report.traffic["A"].read_bytes,
        write_bytes=report.traffic["Z"].write_bytes,
        waits_for=waits_for_host(report.config["variant"]),
    )
