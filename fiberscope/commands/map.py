"""``fiberscope map``: search for the mapping with the lowest cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.commands.options import Json, Quiet, parse_setting_values
from fiberscope.commands.report_output import report_delivery
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_text

if TYPE_CHECKING:
    from fiberscope.models.analytic.mapper.api import MapperResult

_Inputs = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="YAML files with architecture, problem and optional constraints."),
]
_Search = Annotated[
    str,
    typer.Option(
        "--search",
        help="Method: random_pruned, linear_pruned, exhaustive, or optuna (learns from earlier mappings).",
    ),
]
_Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", help="Measure: edp (default), delay or energy; repeat to order mappings that are equal."
    ),
]
_Points = Annotated[int, typer.Option("--points", min=1, help="Largest number of mappings to evaluate.")]
_Victory = Annotated[
    int | None,
    typer.Option("--victory", min=1, help="End after this number of mappings without improvement."),
]
_Invalid = Annotated[
    int | None, typer.Option("--invalid", min=1, help="End after this number of invalid mappings in a row.")
]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random choices.")]
_Workers = Annotated[
    int, typer.Option("--workers", min=1, help="Number of processes; does not change the result.")
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the best mapping to this file, for 'fiberscope analyze'."),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set an option of the model, as for 'fiberscope analyze'; repeatable.",
    ),
]


def map_(
    inputs: _Inputs,
    search: _Search = "random_pruned",
    metrics: _Metrics = None,
    points: _Points = 20_000,
    victory: _Victory = None,
    invalid: _Invalid = None,
    seed: _Seed = 0,
    workers: _Workers = 1,
    output: _Output = None,
    settings: _Settings = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Search for the mapping with the lowest energy, delay or product.

    Shows the analysis of the best mapping, as 'fiberscope analyze' does.

    \b
    Examples:
      fiberscope map matmul -o best.yaml
      fiberscope map arch.yaml problem.yaml --metric delay --metric energy
      fiberscope map matmul --search exhaustive --metric energy
    """
    from fiberscope.commands.progress import progress_display
    from fiberscope.models.analytic.mapper.api import find
    from fiberscope.models.analytic.mapper.search import Limits

    check_outputs(
        {"the report": json, "the mapping": output},
        {f"the input {input_file}": input_file for input_file in inputs},
    )
    options: dict[str, Any] = {
        "search": search,
        "metrics": metrics or ["edp"],
        "limits": Limits(points, victory, invalid),
        "seed": seed,
        "workers": workers,
        "settings": parse_setting_values(settings),
    }
    with report_delivery(json, quiet) as deliver:
        with progress_display(quiet) as progress:
            # Without a display, False and not None: None would let a notebook show a bar despite --quiet.
            best = find(inputs, **options, progress=progress or False)
        report = best.report()
        if output is not None:
            write_text(output, best.mapping())
    deliver(report)
    if not quiet and json != STANDARD_OUTPUT:
        _show(best, prints_mapping=output is None)


def _show(best: MapperResult, prints_mapping: bool) -> None:
    """Print the numbers of evaluated and rejected mappings, and each improvement in order of evaluation.

    Args:
        best: the result of the search.
        prints_mapping: whether the best mapping is printed too, because no file has it.
    """
    search = best.outcome
    print(
        f"Looked at {search.evaluated:,} mappings, {search.valid:,} of which are valid; {search.end_reason}."
    )
    for reason, count in search.rejected.most_common():
        print(f"  {count:>10,}  {reason}")
    print(f"Better ones, and what they cost by {best.metrics[0]}:")
    for evaluated, cost in search.improvements:
        print(f"  {evaluated:>10,}  {cost:.6g}")
    if prints_mapping:
        print(best.mapping())
