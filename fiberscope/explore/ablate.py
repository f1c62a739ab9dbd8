"""Ablation study: the change in cycles when a part of a machine is made ideal or removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.problem_settings import configure
from fiberscope.base.errors import InputError
from fiberscope.explore.tables import read_table, simulate_to_end
from fiberscope.results.report.document import Report
from fiberscope.run.arguments import check_types
from fiberscope.run.find_machine import find

AS_CONFIGURED = "as configured"
ALL = "all together"


class Ablation(BaseModel):
    """A row of ``ablations.yaml``: the settings that make a part ideal or remove a mechanism.

    Args:
        name: name of the row.
        settings: the settings, by dotted key.
        tells: the interpretation of the difference in cycles.
        takes_away: whether the settings remove a mechanism; the run of all rows together omits such rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    settings: dict[str, str | int] = Field(min_length=1)
    tells: str = Field(min_length=1)
    takes_away: bool = False


@dataclass(frozen=True)
class AblationResult:
    """Cycles of one run, compared with the run as configured.

    Args:
        name: name of the ablation.
        cycles: the cycles of the run.
        saved: the cycles of the run as configured minus ``cycles``; negative if the run takes longer.
        share: ``saved`` as a fraction of the cycles of the run as configured.
        tells: the interpretation of the difference.
        surrogates: the names of the surrogate operands.
    """

    name: str
    cycles: int
    saved: int
    share: float
    tells: str
    surrogates: tuple[str, ...] = ()


def read_ablations(accelerator: Accelerator[Any]) -> list[Ablation]:
    """Read the ablations of a machine, and add a last one, ``ALL``, with the settings of all ideal parts.

    If all rows remove a mechanism, nothing is added. If two rows set the same key, the last row counts in
    ``ALL``.

    Args:
        accelerator: descriptor of the machine, whose folder has ``ablations.yaml``.

    Raises:
        InputError, ConfigurationError: the machine has no ablations, or the file cannot be read or is
            invalid.
    """
    path = accelerator.folder / "ablations.yaml"
    if not path.is_file():
        raise InputError(f"{accelerator.name} has no list of ablations; its folder has no ablations.yaml")
    rows = read_table(path, list[Ablation], accelerator.name)
    # a removed mechanism costs cycles, which would hide what the ideal parts save
    together = {key: value for row in rows if not row.takes_away for key, value in row.settings.items()}
    if not together:
        return rows
    return [*rows, Ablation(name=ALL, settings=together, tells="what the rest of the machine needs")]


def ablate(
    accelerator: str | Accelerator[Any],
    matrix: object,
    b: object = None,
    *,
    settings: Mapping[str, object] | None = None,
    parts: Mapping[str, PartFactory] | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> list[AblationResult]:
    """Run a machine as configured, with each ablation, and with all parts made ideal.

    The settings of all rows are checked before the first run.

    Args:
        accelerator: a name, or a user's descriptor.
        matrix, b: the operands, as for ``simulate``.
        settings: parameters of the run as configured; the settings of an ablation override them.
        parts: the user's blocks, as for ``simulate``.
        tell: called with the name of each run before its start.

    Returns:
        The run as configured, then each ablation in the order of the file, then all ideal parts together
        unless all rows remove a mechanism.

    Raises:
        InputError: the machine has no ablations, a setting of an ablation is invalid, or an argument has the
            wrong type.
        ConfigurationError: ``settings`` has an unknown parameter or a value out of range, or the file cannot
            be read.
        KeyboardInterrupt: a run was interrupted. The errors of ``simulate`` are raised too.
    """
    check_types({"accelerator": accelerator, "settings": settings, "parts": parts, "tell": tell})
    descriptor = find(accelerator) if isinstance(accelerator, str) else accelerator
    rows = read_ablations(descriptor)
    _check(descriptor, rows, settings or {})
    report = _run(descriptor, matrix, b, settings, parts, None, tell)
    base, surrogates = report.cycles, tuple(report.workload.surrogates)
    outcomes = [AblationResult(AS_CONFIGURED, base, 0, 0.0, "", surrogates)]
    for row in rows:
        cycles = _run(descriptor, matrix, b, settings, parts, row, tell).cycles
        saved, share = base - cycles, (base - cycles) / base if base else 0.0
        outcomes.append(AblationResult(row.name, cycles, saved, share, row.tells, surrogates))
    return outcomes


def _check(accelerator: Accelerator[Any], rows: Sequence[Ablation], settings: Mapping[str, object]) -> None:
    """Check the settings of the run as configured, then those of each ablation, before the first run.

    Raises:
        InputError, ConfigurationError: a setting is no parameter of the machine, or out of range. The
            message names ``ablations.yaml`` only if the setting stands there.
    """
    configure(accelerator, None, settings)  # first, so that the user's errors are not blamed on the file
    for row in rows:
        try:
            configure(accelerator, None, {**settings, **row.settings})
        except (InputError, ConfigurationError) as error:
            raise InputError(f"{accelerator.name}/ablations.yaml: {row.name}: {error}") from error


def _run(
    accelerator: Accelerator[Any],
    matrix: object,
    b: object,
    settings: Mapping[str, object] | None,
    parts: Mapping[str, PartFactory] | None,
    row: Ablation | None,
    tell: Callable[[str], None],
) -> Report:
    """Simulate the machine with the settings of a row; without a row, as configured."""
    tell(row.name if row else AS_CONFIGURED)
    ideal = row.settings if row else {}
    return simulate_to_end(accelerator, matrix, b, settings={**(settings or {}), **ideal}, parts=parts)
