"""``fiberscope suite``: comparison of machines on workloads in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import POINTS_FAILED, InputError
from fiberscope.commands.completion import complete_accelerator
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import FigureWidth
from fiberscope.commands.sample_options import SampleOptions
from fiberscope.commands.suite_tables import SuiteTableOptions
from fiberscope.commands.sweep import ExecutorOptions
from fiberscope.results.report.files import check_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fiberscope.explore.sweeps.suite import Suite

STORE = "suite"
STUDY = (".yaml", ".yml")

_Machines = Annotated[
    list[str],
    typer.Argument(
        metavar="MACHINE...|STUDY.yaml",
        help="Machines to compare; NAME=MACHINE:KEY=VALUE,... gives a machine a name, parameters and, with "
        "part.NAME as key, parts of its own. Or a study file.",
        autocompletion=complete_accelerator,
    ),
]
_Workloads = Annotated[
    Path | None,
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
    str | None,
    typer.Option(
        metavar="DIR|URL", help=f"Store for the results, {STORE}/ by default. Runs in it are not repeated."
    ),
]
_Retry = Annotated[bool, typer.Option("--retry", help="Run failed runs again.")]
_Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the speedups to this .svg, .png or .pdf file.")
]

_Paper = Annotated[
    Path | None,
    typer.Option(metavar="FILE.pdf", help="Write all figures and tables, with captions, to this file."),
]


@expand_groups()
def suite(
    machines: _Machines,
    executor_options: ExecutorOptions,
    sampled: SampleOptions,
    tables: SuiteTableOptions,
    workloads: _Workloads = None,
    against: _Against = None,
    same: _Same = None,
    store: _Store = None,
    retry: _Retry = False,
    plot: _Plot = None,
    paper: _Paper = None,
    figure_width: FigureWidth = None,
) -> int:
    """Compare machines on a list of workloads, or by a study file.

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
      fiberscope suite study.yaml --paper evaluation.pdf
    """
    study = _find_study(machines, workloads)
    files = {"--plot": plot, "--paper": paper, "--csv": tables.csv, "--latex": tables.latex}
    check_outputs(files, {"the list": workloads} if study is None else {"the study": study})
    from fiberscope.explore.sweeps.suite import read_suite
    from fiberscope.explore.sweeps.suite import suite as run_suite
    from fiberscope.results.figures.style import parse_width

    evaluation = tables.parse_evaluation() | ({"width": parse_width(figure_width)} if figure_width else {})
    _check_drawings(plot, paper)
    # The same choice as in ``run_suite``; the paper names the store too.
    address = store or (study and read_suite(study).store) or STORE
    options = _sweep_options(executor_options, sampled) | {"store": address, "retry": retry}
    with executor_options.open_live_page(f"suite: {', '.join(machines)}") as follow:
        outcome = run_suite(
            study or machines, workloads or (), against=against, same=same or (), follow=follow, **options
        )
    outcome = outcome.replace_evaluation(evaluation)  # presentation only: no run depends on it
    _draw(outcome, address, plot, paper)
    tables.write(outcome)
    return POINTS_FAILED if any(not run.done for run in outcome.runs.values()) else 0


def _find_study(machines: Sequence[str], workloads: Path | None) -> Path | None:
    """Return the path of a study file given in place of machines, or None.

    Raises:
        InputError: there are machines without workloads. A study file has workloads of its own.
    """
    if len(machines) == 1 and machines[0].endswith(STUDY):
        return Path(machines[0])
    if workloads is None:
        raise InputError("which workloads? add --workloads LIST, or name a study file in place of machines")
    return None


def _check_drawings(plot: Path | None, paper: Path | None) -> None:
    """Check before the runs that the figure and the paper can be written.

    Raises:
        InputError: a file cannot be written, or has another ending.
    """
    from fiberscope.results.figures.pages import check_paper
    from fiberscope.results.report.pictures import check_picture

    if plot is not None:
        check_picture(plot)
    if paper is not None:
        check_paper(paper)


def _draw(outcome: Suite, store: str, plot: Path | None, paper: Path | None) -> None:
    """Write the requested figure of speed-ups and paper; print the number of pages of the paper.

    Args:
        outcome: the suite with its final evaluation.
        store: the address of the results, which the paper names.
        plot, paper: the files; None for no file.
    """
    from fiberscope.explore.sweeps.paper import draw_paper
    from fiberscope.explore.sweeps.suite_figure import draw_suite
    from fiberscope.results.figures.pages import write_pages
    from fiberscope.results.figures.style import parse_width
    from fiberscope.results.report.pictures import save_figure

    if plot is not None:
        save_figure(lambda: draw_suite(outcome, parse_width(str(outcome.evaluation.width))), plot)
    if paper is not None:
        pages = draw_paper(outcome, store)
        write_pages(pages, paper)
        print(f"Paper: {paper}, {len(pages)} {'page' if len(pages) == 1 else 'pages'}")


def _sweep_options(executor_options: ExecutorOptions, sampled: SampleOptions) -> dict[str, Any]:
    """Return the options of ``fiberscope.sweep`` from those of the command.

    Options without a value are left out, because each option overrides the key of a study file.
    """
    executors = {name: getattr(executor_options, name) for name in ("scheduler", "slurm", "pbs", "workers")}
    study = {key: getattr(executor_options, key) for key in ("timeout", "memory")}
    # Without --exact, the key ``exact`` of the study holds: None, not False.
    study |= {"exact": executor_options.exact or None, "settings": executor_options.parse_settings()}
    study |= {"parts": executor_options.parse_parts(), "sample": sampled.request(sampled.seed)}
    study |= {"config": executor_options.config and str(executor_options.config)}
    executors["progress"] = not executor_options.quiet
    return executors | {key: value for key, value in study.items() if value not in (None, {})}
