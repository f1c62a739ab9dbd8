"""``fiberscope analyze``: analytical evaluation of a mapping by statistics."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.report_output import report_delivery
from fiberscope.commands.run_options import ReportOptions
from fiberscope.results.report.files import STANDARD_OUTPUT

_Inputs = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="YAML files with architecture, problem and mapping; a design that ships; or a "
        "machine and its matrices.",
    ),
]
_Profile = Annotated[
    bool, typer.Option("--profile", help="Show the host time of each of the three steps, in seconds.")
]


@expand_groups(product="nothing is computed, so there is no product; fiberscope model has one")
def analyze(inputs: _Inputs, options: ReportOptions, profile: _Profile = False) -> None:
    """Estimate cycles and energy of a mapping from tensor statistics.

    Models formats, gating and skipping. Reads the files of Timeloop and Sparseloop, version 0.4 or 0.3.

    \b
    Examples:
      fiberscope analyze matmul
      fiberscope analyze extensor-energy wiki-Vote
      fiberscope analyze arch.yaml problem.yaml mapping.yaml --json out.json
      fiberscope analyze dot_product --set mode=timeloop
    """
    from fiberscope.commands.output import print_stacked
    from fiberscope.results.report.analytical import tables
    from fiberscope.run.request import AnalyticRequest

    options.check({}, {f"the input {path}": path for path in inputs})
    mapping = shlex.join(map(str, inputs))
    with report_delivery(options.json, options.quiet) as deliver:
        run = AnalyticRequest(mapping, settings=options.entries(), config=options.config, exact=options.exact)
        report, analysis = run.analysis
    deliver(report)
    if options.quiet or options.json == STANDARD_OUTPUT or report.analytical is None:
        return
    print_stacked(*(table.rich() for table in tables(report)))
    print(report.analytical.loop_nest)
    for note in report.analytical.notes:
        print(f"note: {note}")
    if profile:
        print(_format_steps(analysis.seconds))


def _format_steps(seconds: Sequence[float]) -> str:
    """Format the duration of each step of the analysis, from seconds."""
    steps = zip(("dataflow", "sparse", "micro-architecture"), seconds, strict=True)
    return "; ".join(f"{name} {1e3 * duration:.2f} ms" for name, duration in steps)
