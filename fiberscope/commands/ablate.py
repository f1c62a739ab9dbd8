"""``fiberscope ablate``: table of an ablation study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from fiberscope.commands.options import Accelerator, Json, Markdown, Operands, Parts, Settings
from fiberscope.commands.output import print_progress, show
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, matrices, write_json
from fiberscope.results.report.surrogates import SURROGATE, format_footnote, mark
from fiberscope.results.report.table import Table, format_percent

if TYPE_CHECKING:
    from fiberscope.explore.ablate import AblationResult


def ablate(
    accelerator: Accelerator,
    operands: Operands,
    settings: Settings = None,
    part: Parts = None,
    markdown: Markdown = False,
    json: Json = None,
) -> None:
    """Measure how many cycles each part costs, by making it ideal.

    Runs the machine once with each part ideal (for example memory without latency), once with all of them
    ideal, and once without each optional mechanism. The cycles that a run saves are the cost of the part.

    \b
    Examples:
      fiberscope ablate gamma wiki-Vote
      fiberscope ablate gamma wiki-Vote --set reorder=affinity
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.accelerators.user_parts import parse_parts
    from fiberscope.base.operand_arguments import select_a_and_b
    from fiberscope.explore import ablate as study

    a, b = select_a_and_b(operands)
    check_outputs({"--json": json}, matrices(a, b))
    values, parts = parse_settings(settings or []), parse_parts(part or [])
    outcomes = study.ablate(accelerator, a, b, settings=values, parts=parts, tell=print_progress)
    if json is not None:
        write_json(json, [asdict(outcome) for outcome in outcomes])
    if json != STANDARD_OUTPUT:
        surrogates = outcomes[0].surrogates
        title = f"{accelerator} on {mark(a, SURROGATE if surrogates else '')}"
        show([_table(title, outcomes)], markdown=markdown)
        if surrogates:
            print(format_footnote(surrogates))


def _table(title: str, outcomes: Sequence[AblationResult]) -> Table:
    """Return a table with a row for each run; the unchanged run saves nothing and tells nothing."""
    ablations = Table(title, ("Changed", "Cycles", "Saved", "Share", "What it tells"), notes=1)
    for ablation in outcomes:
        saved = f"{ablation.saved:,}" if ablation.tells else ""
        share = format_percent(ablation.share) if ablation.tells else ""
        ablations.add(ablation.name, f"{ablation.cycles:,}", saved, share, ablation.tells)
    return ablations
