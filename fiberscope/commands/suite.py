"""``fiberscope suite``: machines against workloads, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fiberscope.base.errors import POINTS_FAILED
from fiberscope.commands.completion import complete_accelerator
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import FigureWidth
from fiberscope.commands.sample_options import Sampled
from fiberscope.commands.suite_tables import SuiteTables
from fiberscope.commands.sweep import ExecutorOptions
from fiberscope.results.report.files import check_outputs

__all__ = ["suite"]

STORE = "suite"

_Machines = Annotated[
    list[str],
    typer.Argument(
        metavar="MACHINE...",
        help="Machines to compare; NAME=MACHINE:KEY=VALUE,... gives a machine a name, parameters and, with "
        "part.NAME as key, parts of its own.",
        autocompletion=complete_accelerator,
    ),
]
_Workloads = Annotated[
    Path,
    typer.Option(
        "--workloads",
        "-w",
        metavar="LIST|DIR",
        help="File with a workload or 'name = workload' on each line, or a folder.",
    ),
]
_Against = Annotated[
    str | None, typer.Option(metavar="MACHINE", help="Machine to compare with; the first by default.")
]
_Same = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RESOURCE",
        help="Scale all machines to the multipliers, bandwidth or area of the machine of --against; "
        "repeatable.",
    ),
]
_Store = Annotated[
    str, typer.Option(metavar="DIR|URL", help="Store for the results. Runs in it are not repeated.")
]
_Retry = Annotated[bool, typer.Option("--retry", help="Run failed runs again.")]
_Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the speedups to this .svg, .png or .pdf file.")
]


@expand_groups()
def suite(
    machines: _Machines,
    workloads: _Workloads,
    placed: ExecutorOptions,
    sampled: Sampled,
    tables: SuiteTables,
    against: _Against = None,
    same: _Same = None,
    store: _Store = STORE,
    retry: _Retry = False,
    plot: _Plot = None,
    figure_width: FigureWidth = "page",
) -> int:
    """Compare machines on a list or a folder of matrices.

    Shows the speedup of each machine over the first, and the resources of each machine. Speedups are ratios
    of simulated time; means include only workloads that every machine has finished. Runs in parallel, like
    'fiberscope sweep', and keeps the results in a store for 'fiberscope results' and 'fiberscope page'. The
    exit code is 4 if a run failed.

    \b
    Examples:
      fiberscope suite gamma extensor outerspace --workloads list.txt
      fiberscope suite gamma-32=gamma gamma-8=gamma:pe.count=8,memory.channels=4 --workloads list.txt
      fiberscope suite gamma spec:gamma --workloads matrices/ --against spec:gamma --plot speedups.svg
      fiberscope suite gamma outerspace --workloads list.txt --columns speedup,edp --latex table.tex
    """
    files = {"--plot": plot, "--csv": tables.csv, "--latex": tables.latex}
    check_outputs(files, {"the list": workloads})
    from fiberscope.explore.sweeps.suite import suite as run_suite
    from fiberscope.explore.sweeps.suite_figure import draw_suite
    from fiberscope.results.figures.style import parse_width
    from fiberscope.results.report.pictures import check_picture, save_figure

    width, choice = parse_width(figure_width), tables.choice()
    if plot is not None:
        check_picture(plot)
    options = _sweep_options(placed, sampled) | {"store": store, "retry": retry}
    with placed.live_page(f"suite: {', '.join(machines)}") as follow:
        outcome = run_suite(machines, workloads, against=against, same=same or (), follow=follow, **options)
    if plot is not None:
        save_figure(lambda: draw_suite(outcome, width), plot)
    tables.write(outcome, *choice)
    return POINTS_FAILED if any(not run.done for run in outcome.runs.values()) else 0


def _sweep_options(placed: ExecutorOptions, sampled: Sampled) -> dict[str, Any]:
    """Return the options of ``fiberscope.sweep`` that are those of the command."""
    executors = {name: getattr(placed, name) for name in ("scheduler", "slurm", "pbs", "workers")}
    study = {key: getattr(placed, key) for key in ("timeout", "memory", "exact")}
    study |= {"settings": placed.settings_by_key(), "parts": placed.parts_by_name()}
    study |= {"config": placed.config and str(placed.config)}
    study |= {"sampling": sampled.seeded_request()}
    executors["progress"] = not placed.quiet
    return executors | {key: value for key, value in study.items() if value}
