"""``fiberscope sweep``: many runs, on all cores or on a cluster, into a store."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import POINTS_FAILED, InputError
from fiberscope.commands.completion import complete_accelerator, complete_matrix, complete_setting
from fiberscope.commands.option_groups import Options, expand_groups
from fiberscope.commands.options import Config, Exact, Live, Parts, Quiet, Settings, parse_setting_values
from fiberscope.commands.sample_options import SampleOptions
from fiberscope.results.report.surrogates import format_footnote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fiberscope.explore.sweeps.api import SweepResult
    from fiberscope.explore.sweeps.executors import ExecutorChoice
    from fiberscope.explore.sweeps.progress import Follow
    from fiberscope.explore.sweeps.study import Study

STORE = "sweep"
MAX_FAILURES = 10  # printed failures

_Swept = Annotated[
    str,
    typer.Argument(
        metavar="ACCELERATOR|STUDY.yaml",
        help="Accelerator to run, or NAME=MACHINE:KEY=VALUE,...; or a study file with machines, workloads "
        "and grid.",
        autocompletion=complete_accelerator,
    ),
]
_Workloads = Annotated[
    list[str] | None,
    typer.Argument(
        help="Workloads: A, 'A B', or 'NAME=TENSOR ...' for each run.", autocompletion=complete_matrix
    ),
]
_Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=V1,V2,...",
        help="Run with each of these values of a parameter; repeatable.",
        autocompletion=complete_setting,
    ),
]
_Command = Annotated[
    str | None, typer.Option(help="Command to run: sim (default), model, analyze, convert or graph.")
]
_Store = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URL",
        help=f"Store for the results: a folder ({STORE}/ by default) or an address such as "
        f"s3://bucket/study.",
    ),
]
_Retry = Annotated[bool, typer.Option("--retry", help="Run failed runs again.")]


class ExecutorOptions(Options):
    """Options of a command with many runs, local or on a cluster."""

    settings: Settings = None
    part: Parts = None
    config: Config = None
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://...", help="Run on the workers of this Dask scheduler.")
    ] = None
    slurm: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Run in Slurm jobs; a YAML file with the arguments of dask_jobqueue."
        ),
    ] = None
    pbs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run in PBS jobs; a YAML file as for --slurm.")
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of workers on this computer; one for each core by default."),
    ] = None
    timeout: Annotated[float | None, typer.Option(metavar="S", help="Time limit of a run, in seconds.")] = (
        None
    )
    memory: Annotated[
        str | None, typer.Option(metavar="BYTES", help="Memory limit of a run, for example 2GiB.")
    ] = None
    exact: Exact = False
    quiet: Quiet = False
    live: Live = None

    def open_live_page(self, title: str) -> AbstractContextManager[Follow | None]:
        """Return the page that shows the progress of the runs, if requested."""
        if self.live is None:
            return nullcontext()
        from fiberscope.page.live.sweep import open_live_sweep

        return open_live_sweep(self.live, title)

    def executors(self) -> ExecutorChoice:
        """Return the executor of the runs."""
        from fiberscope.explore.sweeps.executors import ExecutorChoice

        return ExecutorChoice(self.scheduler, self.slurm, self.pbs, self.workers)

    def parse_parts(self) -> dict[str, str]:
        """Return the user's components as texts ``module:attribute``, by the name of the part."""
        from fiberscope.accelerators.user_parts import split_parts

        return {name: f"{module}:{attribute}" for name, (module, attribute) in split_parts(self.part).items()}

    def parse_settings(self) -> dict[str, object]:
        """Return the settings by dotted key."""
        return parse_setting_values(self.settings)


@expand_groups()
def sweep(
    context: typer.Context,
    swept: _Swept,
    executor_options: ExecutorOptions,
    sampled: SampleOptions,
    workloads: _Workloads = None,
    grid: _Grid = None,
    command: _Command = None,
    store: _Store = None,
    retry: _Retry = False,
) -> int:
    """Run every machine on every workload with every set of parameters.

    A run that is in the store is not repeated. After a change of the code, the run is repeated and the old
    row is kept. A run that fails has a row with the reason; the sweep continues, and ends with exit code 4.

    \b
    Examples:
      fiberscope sweep study.yaml --store study
      fiberscope sweep gamma wiki-Vote p2p-Gnutella31 --grid pe.count=8,16 --grid fibercache.size=1536KiB,3MiB
      fiberscope sweep gamma large.mtx --grid pe.count=32,64 --sample
      fiberscope sweep gamma wiki-Vote --command model --grid fibercache.size=768KiB,1536KiB,3MiB
      fiberscope sweep "csr csc" wiki-Vote --command convert --grid problem.bits=8,16,32
    """
    from fiberscope.explore.sweeps.api import run_study

    parsed = {"settings": executor_options.parse_settings(), "parts": executor_options.parse_parts()}
    study = _build_study(context.params, {**parsed, "sample": sampled.request(sampled.seed)})
    address = study.store or STORE
    with executor_options.open_live_page(f"sweep: {address}") as follow:
        executors = executor_options.executors()
        result = run_study(
            study, address, executors, retry=retry, quiet=executor_options.quiet, follow=follow
        )
    if not executor_options.quiet:
        _print_result(result, address)
    return POINTS_FAILED if result.failed else 0


def _build_study(options: Mapping[str, Any], parsed: Mapping[str, object]) -> Study:
    """Return the study of the options, or of a file with keys overridden by options."""
    from fiberscope.explore.sweeps.sweep import merge_study

    keys = {name: options[name] for name in ("command", "timeout", "memory")}
    keys["exact"] = options["exact"] or None  # without --exact, a study file may still ask for it
    keys |= {"config": options["config"] and str(options["config"]), "store": options["store"]}
    keys |= {"grid": _parse_grid(options["grid"] or []), **parsed}
    # An option that is not given must not override the key of a study file.
    return merge_study(
        options["swept"],
        options["workloads"] or [],
        {key: value for key, value in keys.items() if value not in (None, {})},
    )


def _parse_grid(texts: Sequence[str]) -> dict[str, list[object]]:
    """Return values by parameter.

    Raises:
        InputError: a parameter has no values, or is given twice.
    """
    from fiberscope.accelerators.yaml_layer import read_scalar

    grid: dict[str, list[object]] = {}
    for text in texts:
        key, _, values = text.partition("=")
        if not key.strip() or not values:
            raise InputError(f"--grid {text}: write it as KEY=V1,V2,..., for example pe.count=8,16,32")
        if key.strip() in grid:
            raise InputError(f"--grid {key.strip()} is given twice; write all values in one")
        grid[key.strip()] = [read_scalar(value.strip()) for value in values.split(",")]
    return grid


def _print_result(result: SweepResult, address: str) -> None:
    """Print the number of runs by outcome, the first failed runs, and the place of the rows."""
    counts = [f"{count:,} {status}" for status, count in sorted(result.statuses.items())]
    stored = [f"{result.stored_runs:,} in the store before"] if result.stored_runs else []
    print(f"{result.stored_runs + sum(result.statuses.values()):,} runs: {', '.join([*counts, *stored])}")
    if result.other_rows:
        command = f"fiberscope results {address} --sources"
        print(f"Left alone: {result.other_rows:,} rows of other sources (tell them apart: {command})")
    if note := format_footnote(result.surrogates()):
        print(note)
    for line in result.failures(MAX_FAILURES):
        print(f"  {line}")
    print(f"Results: {address} (look at them: fiberscope results {address})")
