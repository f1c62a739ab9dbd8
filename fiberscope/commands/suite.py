"""``fiberscope suite``: machines against workloads, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import POINTS_FAILED
from fiberscope.commands.completion import complete_accelerator
from fiberscope.commands.options import Markdown
from fiberscope.commands.sweep import Placed
from fiberscope.commands.taking import taking
from fiberscope.results.report.files import check_outputs, write_text

__all__ = ["suite"]

STORE = "suite"

_Machines = Annotated[
    list[str],
    typer.Argument(metavar="MACHINE...", help="What runs.", autocompletion=complete_accelerator),
]
_Workloads = Annotated[
    Path,
    typer.Option(
        "--workloads", "-w", metavar="LIST|DIR", help="A file with one a line, or a folder of matrices."
    ),
]
_Against = Annotated[
    str | None, typer.Option(metavar="MACHINE", help="Speed-ups are over this one; the first by default.")
]
_Store = Annotated[
    str, typer.Option(metavar="DIR|URL", help="For the results; what it has is not run again.")
]
_Retry = Annotated[bool, typer.Option("--retry", help="Run again what failed.")]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw speed-ups here, as .svg or .png.")]
_Csv = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a row a run here.")]


@taking()
def suite(
    machines: _Machines,
    workloads: _Workloads,
    placed: Placed,
    against: _Against = None,
    store: _Store = STORE,
    retry: _Retry = False,
    plot: _Plot = None,
    csv: _Csv = None,
    markdown: Markdown = False,
) -> int:
    """Run machines on a list or a folder of workloads.

    Shows how much faster each is than the first. Speed-ups are ratios of simulated time; their geometric
    means are over the workloads that all have done. The runs are those of a sweep: in parallel, here or
    on a cluster, and kept in a store, for which there are 'results' and 'page'. The exit code is 4 if
    some failed.

    \b
    Examples:
      fiberscope suite gamma extensor outerspace --workloads list.txt
      fiberscope suite gamma spec:gamma --workloads matrices/ --against spec:gamma --plot speedups.svg
    """
    check_outputs({"--plot": plot, "--csv": csv}, {"the list": workloads})
    from fiberscope.commands.output import show
    from fiberscope.explore.sweeps.suite import suite as run_suite
    from fiberscope.explore.sweeps.suite_shown import drawn, failures, table
    from fiberscope.results.report.pictures import check_picture, save_figure

    if plot is not None:
        check_picture(plot)
    options = {name: getattr(placed, name) for name in ("scheduler", "slurm", "pbs", "workers", "quiet")}
    study: dict[str, object] = {
        "settings": placed.settings_by_key(),
        "config": placed.config and str(placed.config),
    }
    study |= {"timeout": placed.timeout, "memory": placed.memory, "exact": placed.exact or None}
    study = {key: value for key, value in study.items() if value}
    outcome = run_suite(machines, workloads, against=against, store=store, retry=retry, **options, **study)
    if csv is not None:
        write_text(csv, outcome.frame().to_csv(index=False))
    if plot is not None:
        save_figure(lambda: drawn(outcome), plot)
    show([table(outcome)], markdown=markdown)
    for line in failures(outcome):
        print(line)
    return POINTS_FAILED if any(not run.done for run in outcome.runs.values()) else 0
