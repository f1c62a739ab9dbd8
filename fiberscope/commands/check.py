"""``fiberscope check``: comparison of a machine with its specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.options import Accelerator, Exact, Json, Operands, Parts, Settings
from fiberscope.commands.output import show
from fiberscope.results.errors import FailedRunError
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, list_operand_files, write_json
from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fiberscope.explore.analytical_comparison import AnalyticalEstimate
    from fiberscope.explore.check import Check, Comparison

MIN_SHARE = 0.005  # fraction of a run's cycles from which a part has its own line

_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
_Sample = Annotated[str | None, typer.Option(metavar="[WIDTH]", hidden=True, help="Refused here.")]
_Explain = Annotated[
    bool, typer.Option(help="Run the machine again without each kind of cost, to divide the cycles by cause.")
]


def check(
    accelerator: Accelerator,
    operands: Operands,
    settings: Settings = None,
    part: Parts = None,
    exact: Exact = False,
    explain: _Explain = True,
    json: Json = None,
    quiet: _Quiet = False,
    sample: _Sample = None,
) -> None:
    """Compare a machine with its specification, and explain its cycles.

    Runs the machine cycle by cycle, and counts the loops of its specification on the same operands. The
    counts must be equal, except where the machine's check.yaml gives a reason, and the machine must not be
    faster than the bound of the specification. Otherwise the exit code is 3. Also shows the cycles of the
    analytical model, and divides the cycles of the run by cause.

    \b
    Examples:
      fiberscope check gamma wiki-Vote
      fiberscope check spec:gamma uniform:rows=300,cols=300,nonzeros=3000 --json check.json
    """
    if sample is not None:
        raise InputError("--sample: a check compares exact counts; use fiberscope sim --sample for cycles")
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.accelerators.user_parts import parse_parts
    from fiberscope.commands.progress import progress_display
    from fiberscope.explore.check import check as run_check

    factors, tensors, symbols = _parse_operands(accelerator, operands)
    check_outputs({"--json": json}, list_operand_files({**dict(zip("AB", factors, strict=False)), **tensors}))
    parsed, parts = parse_settings([*(settings or []), *symbols]), parse_parts(part or [])
    options: dict[str, Any] = {
        "tensors": tensors,
        "settings": parsed,
        "exact": exact,
        "parts": parts,
        "explain": explain,
    }
    with progress_display(quiet) as progress:
        checked = run_check(accelerator, *factors, **options, progress=progress)
    if json is not None:
        write_json(json, checked.document())
    if json != STANDARD_OUTPUT:
        _show(checked)
    if not checked.is_consistent:
        raise FailedRunError(_describe_faults(checked), checked.event)


def _parse_operands(
    accelerator: str, texts: Sequence[str]
) -> tuple[list[str], dict[str, str], Sequence[str]]:
    """Return operands in order, operands by name, and the arguments that set symbols."""
    from fiberscope.base.operand_arguments import check_factors, split_operands
    from fiberscope.models.trace.source import split_symbols
    from fiberscope.run.find_machine import find_specification

    specification = find_specification(accelerator)
    texts, symbols = split_symbols(specification, texts) if specification else (texts, [])
    factors, tensors = split_operands(texts)
    check_factors(factors)
    return factors, tensors, symbols


def _show(checked: Check) -> None:
    """Print the comparisons, the bound, the cycles of the analytical model, and the parts of the cycles."""
    compared = [_table("Counts", checked.counts), _table("Bytes with the memory", checked.traffic)]
    show([table for table in compared if table.rows], markdown=False)
    print(_format_bound(checked))
    if checked.analytical:
        print(*_format_analytical(checked.analytical, checked.event.cycles), sep="\n")
    _show_parts(checked)
    for component, reason in checked.excluded.items():
        print(f"the bound leaves out {component}: {reason}")


def _show_parts(checked: Check) -> None:
    """Print the cycles of each stage and the attribution of the longest stage; small parts share a line."""
    from fiberscope.results.report.families import list_rounds_of_stages

    minimum, indent = MIN_SHARE * checked.event.cycles, "    " if checked.longest else "  "
    for stage, counts in list_rounds_of_stages(checked.event.stages, checked.longest).items():
        rounds = f", {len(counts)} rounds" if len(counts) > 1 else ""
        print(_cycle_line(checked, "  ", sum(counts), f"stage {stage}{rounds}"))
    if checked.longest:
        suffix = ", of which" if checked.parts else ""
        longest = checked.event.stages[checked.longest]
        print(_cycle_line(checked, "  ", longest, f"stage {checked.longest}{suffix}"))
    small = [cycles for cycles in checked.parts.values() if abs(cycles) < minimum]
    parts = {cause: cycles for cause, cycles in checked.parts.items() if abs(cycles) >= minimum}
    if small:
        parts[f"{len(small)} parts of less than {MIN_SHARE:.1%} each, listed by --json"] = sum(small)
    for cause, cycles in parts.items():
        print(_cycle_line(checked, indent, cycles, cause))


def _cycle_line(checked: Check, indent: str, cycles: int, label: str) -> str:
    """Format cycles and their share of the run."""
    return f"{indent}{cycles:>12,} cycles, {cycles / max(checked.event.cycles, 1):4.0%}: {label}"


def _table(title: str, rows: Sequence[Comparison]) -> Table:
    """Return a table with a row for each comparison; only a difference has a reason, or is wrong."""
    table = Table(title, ["", "event", "trace", "reason for the difference"], notes=1)
    for row in rows:
        reason = row.reason if row.event != row.trace else ""
        table.add(
            row.name, f"{row.event:,}", f"{row.trace:,}", reason or ("" if row.is_accepted else "WRONG")
        )
    return table


def _format_bound(checked: Check) -> str:
    """Format the simulated time and the lower bound of the trace model."""
    event, trace = 1e9 * checked.event.seconds, 1e9 * checked.bound  # ns
    if checked.trace.teaal is not None and not checked.trace.teaal.bounds_time:
        return f"{event:,.0f} ns by components, no bound by the trace"
    share = f" ({trace / event:.0%})" if event else ""  # a machine without work takes no cycles
    return f"{event:,.0f} ns by components, at least {trace:,.0f} ns by the trace{share}"


def _format_analytical(analysis: AnalyticalEstimate, cycles: int) -> list[str]:
    """Return the analytical model's cycles relative to the event model, and the unmodelled parts."""
    if not analysis.phases:
        return [f"no cycles by the analytical model: {reason}" for reason in analysis.without]
    share = f", {analysis.cycles / cycles:.2f} of the event's" if cycles else ""
    summary = f"{analysis.cycles:,} cycles by the analytical model{share}; bound by {analysis.limits}"
    return [summary, *(f"the analytical model leaves out: {reason}" for reason in analysis.without)]


def _describe_faults(checked: Check) -> str:
    """Return the error message with the failed comparisons."""
    faults = [f"{row.name}: {row.event:,} and {row.trace:,}" for row in checked.counts if not row.is_accepted]
    if not checked.bound_holds:
        faults.append("the machine is faster than the trace's bound")
    return f"the two models disagree: {'; '.join(faults)}"
