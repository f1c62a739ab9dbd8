"""All published figures compared with ours, with tuned choices and a public tool's error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any

from fiberscope import accelerators
from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.errors import InputError
from fiberscope.converters.sage.configuration import load_sage_parameters
from fiberscope.converters.sage.systems import OURS
from fiberscope.explore.compare import FetchedRun, Published, Run, compare, read_published
from fiberscope.results.report.table import Table
from fiberscope.workloads.errors import suggest
from published import sage
from published.costs import costs, refuse_options
from published.d2t2 import d2t2
from published.figures import Figure, MeanError, as_data, figure_table, mean_table, memory_table, tuned_table
from published.sam import Claim, as_figures, claim_table, composition, experiments
from published.sparseloop import sparseloop

TUNED_CHOICES = (
    "a PE reads and multiplies nothing for a zero (zero_gating) and compares only the ids that it holds; "
    "both chosen after a comparison with Table III"
)
# Formats of each workload in Table III, by their names there.
TABLE_III = {"MCFt": "mcf_a", "MCFf": "mcf_b", "ACFt": "acf_a", "ACFf": "acf_b"}
DRAM = "dram"  # memory model of a real DRAM, in the files of published values
MACHINES = ("gamma", "extensor", "outerspace", "sigma")
# Parts of the validation, which can be selected by name.
PARTS = (*MACHINES, "costs", "sage", "sparseloop", "d2t2", "sam")


def study(parts: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Return all published figures, or those of some parts, as data and as tables."""
    refuse_options("validation is", options)
    figures, claims = validation(parts, options["tell"])
    return as_data(figures) + [asdict(claim) for claim in claims], validation_tables(figures, claims)


def validation(names: Sequence[str], tell: Callable[[str], None]) -> tuple[list[Figure], list[Claim]]:
    """Run the parts with published figures, and check the claims of the SAM paper.

    Args:
        names: elements of ``PARTS``; all if empty.
        tell: called with a line about each run before its start.

    Raises:
        InputError: there is no such part.
    """
    for name in names:
        if name not in PARTS:
            raise InputError(f"nothing is validated of {name!r}; {suggest(name, PARTS)}")
    figures: list[Figure] = []
    claims: list[Claim] = []
    for name in names or PARTS:
        if name in MACHINES:
            figures += machine_figures(accelerators.find(name), tell)
        elif name == "costs":
            figures += [figure for cost in costs((), tell) for figure in cost.comparable()]
        elif name == "sage":
            figures += _sage()
        elif name == "sparseloop":
            figures += sparseloop()
        elif name == "d2t2":
            figures += d2t2(tell)
        else:
            runs, claims = experiments((), tell)
            figures += [*as_figures(runs), *composition()]
    return figures, claims


def validation_tables(figures: Sequence[Figure], claims: Sequence[Claim]) -> list[Table]:
    """Return the tables: mean errors, tuned choices, real DRAM, claims, the figures of each machine."""
    by_machine: dict[str, list[Figure]] = {}
    judged = [figure for figure in figures if figure.as_published]
    for figure in judged:
        by_machine.setdefault(figure.machine, []).append(figure)
    tables = [mean_table(MeanError.from_figures(judged)), tuned_table(judged), memory_table(figures)]
    tables.append(claim_table("Claims of the SAM paper", claims))
    tables += [figure_table(name, group, "Model", "Source") for name, group in by_machine.items()]
    return [table for table in tables if table.rows]


def machine_figures(accelerator: Accelerator[Any], tell: Callable[[str], None]) -> list[Figure]:
    """Return the published runs of a machine: local runs, then external runs.

    If the published runs had another memory, runs with a real DRAM are included.
    """
    publication = read_published(accelerator)
    models = tuple(
        model for model in publication.models if publication.is_as_published(model) or model == DRAM
    )
    runs = compare(accelerator, models=models, tell=tell)
    ran = {run.matrix for run in runs}
    figures = [figure for run in runs for figure in _run_figures(accelerator.name, publication, run)]
    elsewhere = (run for run in publication.elsewhere if run.matrix not in ran)
    return figures + [
        figure for run in elsewhere for figure in _external_figures(accelerator.name, publication, run)
    ]


def _run_figures(machine: str, publication: Published, run: Run) -> Iterator[Figure]:
    """Yield the cycles of a run, and the traffic of all tensors."""
    figures = publication.find(run.matrix, "reported", run.model)
    if figures is None:
        return
    knowledge = figures.held, figures.settled_with(run.model)
    if run.reported is not None:
        numbers = run.reported, run.cycles, run.model, run.teaal_error
        yield Figure(machine, "cycles", run.matrix, *numbers, *knowledge, as_published=run.as_published)
    reported, ours, teaal = (
        sum(getattr(tensor, name) or 0 for tensor in run.traffic) for name in ("reported", "ours", "teaal")
    )
    if reported and run.as_published:
        public = teaal / reported - 1 if teaal else None
        yield Figure(machine, "traffic, bytes", run.matrix, reported, ours, run.model, public, *knowledge)


def _external_figures(machine: str, publication: Published, run: FetchedRun) -> Iterator[Figure]:
    """Yield the cycles of an external run, and the traffic of all tensors if both are known."""
    reported, teaal = (publication.find(run.matrix, by, run.model) for by in ("reported", "TeAAL"))
    assert reported is not None
    assert reported.cycles is not None
    common: dict[str, Any] = {
        "held": reported.held,
        "settled": reported.settled_with(run.model),
        "ran": run.commit,
        "as_published": publication.is_as_published(run.model),
    }
    public = _ratio(teaal.cycles if teaal else None, reported.cycles)
    names = machine, "cycles", run.matrix, reported.cycles
    yield Figure(*names, run.cycles, run.model, public, recorded=run.error, **common)
    if run.traffic and reported.traffic and reported.minimum is None:
        total = sum(reported.traffic.values())
        public = _ratio(sum(teaal.traffic.values()) if teaal else None, total)
        yield Figure(machine, "traffic, bytes", run.matrix, total, run.traffic, run.model, public, **common)


def _ratio(modelled: float | None, reported: float) -> float | None:
    return modelled / reported - 1 if modelled else None


def _sage() -> Iterator[Figure]:
    """Yield the classes of Fig. 13, the formats of Table III, and the cost of conversions."""
    comparison = sage.compare((), load_sage_parameters({}))
    for ratio in comparison.ratios:
        if ratio.published_mean is not None and ratio.system != OURS:  # the ratio to itself is 1
            numbers = ratio.published_mean, ratio.mean
            yield Figure("sage", "energy-delay product, ratio", ratio.system, *numbers, settled=TUNED_CHOICES)
    for name, key in TABLE_III.items():
        equal_formats = sum(
            getattr(workload.ours, key) == getattr(workload.published, key)
            for workload in comparison.workloads
        )
        numbers = len(comparison.workloads), equal_formats
        yield Figure("sage", "formats of Table III as published", name, *numbers, settled=TUNED_CHOICES)
    matrices = ("spgemm", "spmm")
    converted = [
        workload for workload in comparison.workloads if workload.kernel in matrices and workload.conversion
    ]
    energy = mean(workload.picojoules * workload.conversion for workload in converted) / 1e6
    share = 100 * mean(workload.conversion for workload in converted)
    run = f"mean of {len(converted)} matrix products"
    yield Figure("sage", "energy of conversions, uJ", run, 87.5, energy)
    yield Figure("sage", "energy of conversions, % of all", run, 0.023, share)
