"""``fiberscope compare``: runs of published workloads, with their errors against the published results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.checkout import is_checkout
from fiberscope.commands.design_tables import design_tables, name_with_source
from fiberscope.commands.options import Accelerator, Json, Markdown, Parts, Settings
from fiberscope.commands.output import print_progress, show
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json, write_text
from fiberscope.results.report.table import Table, format_percent, replace_between

if TYPE_CHECKING:
    from fiberscope.accelerators.machine import Accelerator as Kind
    from fiberscope.explore.compare import Run

Study: TypeAlias = Callable[[Sequence[str], Mapping[str, Any]], tuple[object, list[Table]]]

STUDIES: Final = ("costs", "mint", "sage", "sam", "sparseloop", "tiles", "validation")

# explains parentheses in the table of cycles
NOTE: Final = "an error in parentheses is of settings that the published runs did not have, and in no mean"

_Matrices = Annotated[
    list[str] | None, typer.Argument(help="Published matrices, or figures of sam; all by default.")
]
_Surrogates = Annotated[
    bool, typer.Option("--surrogates", help="Use generated surrogates for matrices that are not available.")
]
_Write = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the tables into this Markdown file, between its markers."),
]


def compare(
    accelerator: Accelerator,
    matrices: _Matrices = None,
    settings: Settings = None,
    part: Parts = None,
    surrogates: _Surrogates = False,
    markdown: Markdown = False,
    json: Json = None,
    write: _Write = None,
) -> None:
    """Compare an accelerator with its published results.

    Runs the published matrices with the options of the published runs, with both models of memory; of a
    machine with several designs, all of them side by side. In a checkout of the sources, it also runs seven
    studies: ``sage`` (predictor of formats), ``sparseloop`` (analytical model), ``sam`` (graphs of figures 11
    to 15 of its paper), ``mint`` (gates of the format converter's variants, by Yosys), ``tiles`` (ways to
    tile), ``costs`` (areas, powers and energies) and ``validation`` (every published figure).

    \b
    Examples:
      fiberscope compare gamma
      fiberscope compare gamma wiki-Vote --set memory.refresh=off
      fiberscope compare gamma --write docs/accuracy.md
      fiberscope compare costs gamma
      fiberscope compare sparseloop
      fiberscope compare sam 12 14
      fiberscope compare tiles wiki-Vote
      fiberscope compare validation sparseloop
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.accelerators.user_parts import parse_parts

    marker = f"compare {accelerator}"
    check_outputs({"--json": json, "--write": write}, {})
    if write is not None:
        replace_between(write, marker, "")  # detects errors before the runs
    options = {
        "settings": parse_settings(settings or []),
        "parts": parse_parts(part or []),
        "surrogates": surrogates,
        "tell": print_progress,
    }
    rows, comparison_tables = _study(accelerator)(matrices or [], options)
    text = "\n" + "\n".join(table.markdown() for table in comparison_tables)
    if json is not None:
        write_json(json, rows)
    if write is not None:
        write_text(write, replace_between(write, marker, text + "\n"))
    if json != STANDARD_OUTPUT:
        show(comparison_tables, markdown=markdown)


def _study(name: str) -> Study:
    """Return a named study of a checkout, or the study of a machine.

    Any other name is taken for a machine. The returned study refuses an unknown name when it is called.

    Raises:
        InputError: the named study needs a checkout of the sources.
    """
    if name not in STUDIES:
        return partial(_machine, name)
    if not is_checkout():
        raise InputError(
            f"compare {name}: needs a checkout of the sources, which has the published figures "
            "in published/; this package was installed without published/, and compares machines only"
        )
    if name in ("costs", "mint", "validation"):
        from fiberscope.rtl.select_block import rtl_blocks

        rtl_blocks()  # raises an error without the extra
    study: Study = import_module(f"published.{name}").study
    return study


def _machine(
    accelerator: str, matrices: Sequence[str], options: Mapping[str, Any]
) -> tuple[object, list[Table]]:
    """Return the comparison of a machine as data and as tables.

    A machine with several designs, of which speed-ups are published, is compared by these. Any other machine
    is compared by cycles and traffic.

    Raises:
        ConfigurationError: there is no such machine.
    """
    from fiberscope import accelerators
    from fiberscope.explore.speedups import has_designs

    descriptor = accelerators.find(accelerator)
    return (_designs if has_designs(descriptor) else _published)(descriptor, matrices, options)


def _published(
    kind: Kind[Any], matrices: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Any], list[Table]]:
    """Run the published matrices; return the comparison as data and as tables."""
    from fiberscope.explore import compare as study

    runs = study.compare(kind, matrices, **options)
    return [asdict(run) for run in runs], [_cycles(runs), _traffic(runs)]


def _designs(
    kind: Kind[Any], workloads: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Any], list[Table]]:
    """Run the designs of a machine; return speed-ups as data and as tables.

    Raises:
        InputError: surrogates are requested, with which no published speed-up is compared.
    """
    from fiberscope.explore import speedups

    remaining = dict(options)
    if remaining.pop("surrogates"):
        raise InputError(
            "--surrogates: tails of stand-ins for graphs were chosen to bring published speed-ups about; "
            "none is compared with them"
        )
    runs = speedups.speedups(kind, workloads, **remaining)
    return [asdict(run) for run in runs], design_tables(runs, speedups.read_designs(kind))


def _cycles(runs: Sequence[Run]) -> Table:
    """Return a table with a row for each run, and the mean absolute error of each memory model.

    A model whose settings differ from those of the published runs has no mean.
    """
    columns = ("Matrix", "Memory", "Cycles", "Reported", "Error", "TeAAL", "TeAAL's error")
    has_other_settings = any(not run.as_published for run in runs)
    table = Table(f"Cycles; {NOTE}" if has_other_settings else "Cycles", columns, labels=2)
    for run in runs:
        table.add(
            name_with_source(run.matrix, run.source),
            run.model,
            _cycles_of(run),
            _number(run.reported),
            _percent(run.error) if run.as_published else f"({_percent(run.error)})",
            _number(run.teaal),
            _percent(run.teaal_error),
        )
    # ``as_published`` depends on the model alone: all runs of a model count, or none of them
    for model in dict.fromkeys(run.model for run in runs if run.as_published):
        own_errors = [abs(run.error) for run in runs if run.model == model and run.error is not None]
        teaal_errors = [
            abs(run.teaal_error) for run in runs if run.model == model and run.teaal_error is not None
        ]
        table.add("mean, absolute", model, "", "", _mean(own_errors), "", _mean(teaal_errors))
    return table


def _traffic(runs: Sequence[Run]) -> Table:
    """Return a table with a row for each run and tensor.

    The error of a tensor is relative to the reported traffic of all tensors, so that errors add up.
    """
    columns = ("Matrix", "Memory", "Tensor", "Traffic", "Reported", "TeAAL", "Error, of all")
    table = Table("Traffic in bytes; errors are parts of all reported traffic", columns, labels=3)
    for run in runs:
        for tensor_traffic in run.traffic:
            table.add(
                name_with_source(run.matrix, run.source),
                run.model,
                tensor_traffic.tensor,
                f"{tensor_traffic.ours:,}",
                _number(tensor_traffic.reported),
                _number(tensor_traffic.teaal),
                _percent(tensor_traffic.difference),
            )
    return table


def _cycles_of(run: Run) -> str:
    """Format the cycles, with the range if several random matrices were drawn and their cycles differ."""
    interval = f" ({run.least:,} to {run.most:,})" if run.most > run.least else ""
    return f"{run.cycles:,}{interval}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "" if value is None else format_percent(value)


def _mean(values: Sequence[float]) -> str:
    return format_percent(sum(values) / len(values), signed=False) if values else ""
