"""``fiberscope check``: the machine and its specification side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.options import Accelerator, Exact, Json, Operands, Parts, Settings
from fiberscope.commands.output import show
from fiberscope.results.errors import FailedRunError
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, operand_files, write_json
from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fiberscope.explore.analytical_comparison import AnalyticalEstimate
    from fiberscope.explore.check import Check, Comparison

__all__ = ["check"]

LEAST_SHARE = 0.005  # of a run's cycles, from which on a part of them has a line of its own

_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
_Sample = Annotated[str | None, typer.Option(metavar="[WIDTH]", hidden=True, help="Refused here.")]
_Explain = Annotated[
    bool,
    typer.Option(help="Run the machine again without each kind of cost, to divide the cycles by cause."),
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
    from fiberscope.explore.check import check as checked

    factors, tensors, symbols = _parse_operands(accelerator, operands)
    check_outputs({"--json": json}, operand_files({**dict(zip("AB", factors, strict=False)), **tensors}))
    parsed, parts = parse_settings([*(settings or []), *symbols]), parse_parts(part or [])
    options: dict[str, Any] = {
        "tensors": tensors,
        "settings": parsed,
        "exact": exact,
        "parts": parts,
        "explain": explain,
    }
    with progress_display(quiet) as tell:
        done = checked(accelerator, *factors, **options, progress=tell)
    if json is not None:
        write_json(json, done.document())
    if json != STANDARD_OUTPUT:
        _show(done)
    if not done.right:
        raise FailedRunError(_wrong(done), done.event)


def _parse_operands(
    accelerator: str, words: Sequence[str]
) -> tuple[list[str], dict[str, str], Sequence[str]]:
    """Return operands in order, operands by name, and the words that give a symbol its value."""
    from fiberscope.base.operand_arguments import check_factors, operands_of
    from fiberscope.models.trace.source import split_symbols
    from fiberscope.run.find_machine import specification_of

    specification = specification_of(accelerator)
    words, symbols = split_symbols(specification, words) if specification else (words, [])
    factors, tensors = operands_of(words)
    check_factors(factors)
    return factors, tensors, symbols


def _show(done: Check) -> None:
    compared = [_table("Counts", done.counts), _table("Bytes with the memory", done.traffic)]
    show([table for table in compared if table.rows], markdown=False)
    print(_bound(done))
    if done.analytical:
        print(*_analytical(done.analytical, done.event.cycles), sep="\n")
    _show_parts(done)
    for component, reason in done.beyond.items():
        print(f"the bound leaves out {component}: {reason}")


def _show_parts(done: Check) -> None:
    """Print the cycles of each stage, and where those of the longest go, what is hardly any in one line."""
    from fiberscope.results.report.families import rounds_of_stages

    least, indent = LEAST_SHARE * done.event.cycles, "    " if done.longest else "  "
    for stage, counts in rounds_of_stages(done.event.stages, done.longest).items():
        rounds = f", {len(counts)} rounds" if len(counts) > 1 else ""
        print(_share(done, "  ", sum(counts), f"stage {stage}{rounds}"))
    if done.longest:
        what = ", of which" if done.parts else ""
        print(_share(done, "  ", done.event.stages[done.longest], f"stage {done.longest}{what}"))
    small = [cycles for cycles in done.parts.values() if abs(cycles) < least]
    parts = {where: cycles for where, cycles in done.parts.items() if abs(cycles) >= least}
    if small:
        parts[f"{len(small)} parts of less than {LEAST_SHARE:.1%} each, listed by --json"] = sum(small)
    for where, cycles in parts.items():
        print(_share(done, indent, cycles, where))


def _share(done: Check, indent: str, cycles: int, where: str) -> str:
    return f"{indent}{cycles:>12,} cycles, {cycles / max(done.event.cycles, 1):4.0%}: {where}"


def _table(title: str, rows: Sequence[Comparison]) -> Table:
    table = Table(title, ["", "event", "trace", "reason for the difference"], notes=1)
    for row in rows:
        reason = row.unless if row.event != row.trace else ""
        table.add(row.name, f"{row.event:,}", f"{row.trace:,}", reason or ("" if row.right else "WRONG"))
    return table


def _bound(done: Check) -> str:
    event, trace = 1e9 * done.event.seconds, 1e9 * done.bound
    if done.trace.teaal is not None and not done.trace.teaal.bounds_time:
        return f"{event:,.0f} ns by components, no bound by the trace"
    share = f" ({trace / event:.0%})" if event else ""  # a machine that has nothing to do takes no cycle
    return f"{event:,.0f} ns by components, at least {trace:,.0f} ns by the trace{share}"


def _analytical(analysis: AnalyticalEstimate, cycles: int) -> list[str]:
    """The analytical model's cycles over the event's, and what no nest of it says."""
    if not analysis.phases:
        return [f"no cycles by the analytical model: {reason}" for reason in analysis.without]
    share = f", {analysis.cycles / cycles:.2f} of the event's" if cycles else ""
    summary = f"{analysis.cycles:,} cycles by the analytical model{share}; bound by {analysis.limits}"
    return [summary, *(f"the analytical model leaves out: {reason}" for reason in analysis.without)]


def _wrong(done: Check) -> str:
    """Describe the comparisons that failed."""
    faults = [f"{row.name}: {row.event:,} and {row.trace:,}" for row in done.counts if not row.right]
    if not done.bound_holds:
        faults.append("the machine is faster than the trace's bound")
    return f"the two models disagree: {'; '.join(faults)}"
