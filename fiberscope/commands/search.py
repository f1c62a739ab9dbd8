"""``fiberscope search``: the best designs of a space by one or several measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import Accelerator
from fiberscope.commands.sample_options import WindowOptions
from fiberscope.commands.sweep import ExecutorOptions

if TYPE_CHECKING:
    from fiberscope.accelerators.sampling import Sample
    from fiberscope.explore.sweeps.design_search import SearchKeys
    from fiberscope.explore.sweeps.search import Search

STORE = "search"

_Workloads = Annotated[
    list[str], typer.Argument(help="Workloads, one or more: A, 'A B', or 'NAME=TENSOR ...'.")
]
_Over = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="YAML file with a list for each parameter, or {from: 1, to: 9}, step, scale: log.",
    ),
]
_Minimise = Annotated[
    list[str] | None,
    typer.Option(
        "--minimise",
        metavar="MEASURE",
        help="Minimise this column of the results, or SQL over them; repeatable.",
    ),
]
_Maximise = Annotated[
    list[str] | None,
    typer.Option("--maximise", metavar="MEASURE", help="Maximise this column or SQL; repeatable."),
]
_Subject = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to", metavar="LIMIT", help="Keep this limit, for example 'area_um2 < 40e6'; repeatable."
    ),
]
_Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Draw all designs: one measure against the other, or time against area."
    ),
]
_Points = Annotated[int, typer.Option(min=1, help="Number of designs, including those in the store.")]
_Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the random suggestions, and of the windows of --sample.")
]
_Command = Annotated[str, typer.Option(help="Command to run, as for 'fiberscope sweep'.")]
_Store = Annotated[
    str,
    typer.Option(
        metavar="DIR|URL", help="Store for the results: a folder, or an address such as s3://bucket/study."
    ),
]


@expand_groups()
def search(
    accelerator: Accelerator,
    workloads: _Workloads,
    over: _Over,
    executor_options: ExecutorOptions,
    sampled: WindowOptions,
    minimise: _Minimise = None,
    maximise: _Maximise = None,
    subject_to: _Subject = None,
    points: _Points = 100,
    seed: _Seed = 0,
    command: _Command = "sim",
    store: _Store = STORE,
    plot: _Plot = None,
) -> None:
    """Search for the parameters with the lowest cycles or other measure.

    Started again with the same store, the search continues. With several workloads, a measure is the
    geometric mean over them, and a limit holds for each.

    \b
    Examples:
      fiberscope search gamma wiki-Vote --minimise cycles --minimise fibercache_size --over search.yaml
      fiberscope search gamma wiki-Vote --minimise "cycles * pe_count" --over search.yaml --points 200
      fiberscope search gamma wiki-Vote --minimise cycles --subject-to "pe_count < 2" --over search.yaml
    """
    from fiberscope.accelerators.quantities import SIZE
    from fiberscope.explore.sweeps.design_search import Objectives, make_design, prepare_search
    from fiberscope.explore.sweeps.point_process import Limits
    from fiberscope.explore.sweeps.search_plot import draw_designs
    from fiberscope.results.report.pictures import check_picture, save_figure

    if plot is not None:
        check_picture(plot)  # before the runs, which may take hours
    # One --seed for both: ``WindowOptions`` has no seed of its own.
    design = make_design(accelerator, _build_keys(command, executor_options, sampled.request(seed)))
    objectives = Objectives(minimise or [], maximise or [], subject_to or [], points, seed)
    study = prepare_search(design, workloads, over, objectives, store)
    limit = Limits(
        executor_options.timeout,
        None if executor_options.memory is None else SIZE.read(executor_options.memory, "--memory"),
    )
    with executor_options.open_live_page(f"search: {accelerator}") as follow:
        study.run(executor_options.executors(), limit, executor_options.quiet, follow)
    if plot is not None:
        save_figure(lambda: draw_designs(study), plot)
    if not executor_options.quiet:
        _show(study)
        print(f"Results: {store} (look at them: fiberscope results {store})")


def _build_keys(command: str, executor_options: ExecutorOptions, sample: Sample | None) -> SearchKeys:
    """Return the options that all runs of a search share; limits and workers are not among them."""
    keys: SearchKeys = {"command": command, "exact": executor_options.exact}
    keys |= {"settings": executor_options.parse_settings(), "parts": executor_options.parse_parts()}
    config = executor_options.config
    return keys | ({"config": str(config)} if config else {}) | ({} if sample is None else {"sample": sample})


def _show(study: Search) -> None:
    """Print the Pareto-optimal designs, one a row: parameters, then the values of the goals.

    Prints a line instead if no design was done, or none meets all limits.
    """
    from rich.text import Text

    from fiberscope.commands.output import print_stacked
    from fiberscope.results.report.table import ruled_table

    if not study.find_best():
        print("No design was done that keeps all limits" if study.limits else "No design was done")
        return
    measures = [goal.measure for goal in study.goals]
    table = ruled_table(*study.distributions, *measures, numbers=measures)
    for values, measured in study.find_best():
        cells = [str(values[key]) for key in study.distributions]
        table.add_row(*map(Text, [*cells, *(f"{measure:,.6g}" for measure in measured)]))
    print_stacked(table)
    # A front has at least one design, hence a spread; the spread of exact counts is 0.
    if widest := max(study.list_spreads()):
        from fiberscope.results.report.estimates import format_half_width

        print(f"Cycles are estimates,{format_half_width(widest)} at most (95%)")
