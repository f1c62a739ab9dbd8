"""``fiberscope compare``: runs the published matrices and prints how far off the machine is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.design_tables import design_tables
from fiberscope.commands.options import Accelerator, Json, Markdown, Parts, Settings
from fiberscope.commands.output import show, tell
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json, write_text
from fiberscope.results.report.table import Table, percent, replace_between

if TYPE_CHECKING:
    from fiberscope.accelerators.machine import Accelerator as Kind
    from fiberscope.converters.configuration import MintParameters
    from fiberscope.explore.compare import Run

__all__ = ["compare", "tables"]

Study: TypeAlias = Callable[[str, Sequence[str], Mapping[str, Any]], tuple[object, list[Table]]]

_Matrices = Annotated[
    list[str] | None, typer.Argument(help="Published matrices, of sam figures; all by default.")
]
_Surrogates = Annotated[
    bool, typer.Option("--surrogates", help="Take surrogates for matrices that cannot be had.")
]
_Write = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the tables into this page, between its markers.")
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
    """Compare an accelerator with what was published of it.

    Runs the published matrices with the options of the published runs, with both models of memory; of a
    machine with several designs, all of them side by side. ``sage`` compares the predictor of formats,
    ``sparseloop`` the analytical model; ``sam`` runs the graphs of figures 11 to 15 of its paper; ``mint``
    counts the gates of the format converter's variants, by Yosys; ``tiles`` puts ways to tile side by side;
    ``costs`` lays areas, powers, energies beside published ones; ``validation`` is of every published figure.

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
        replace_between(write, marker, "")  # finds a fault before the runs, not after
    options = {
        "settings": parse_settings(settings or []),
        "parts": parse_parts(part or []),
        "surrogates": surrogates,
        "tell": tell,
    }
    rows, found = STUDIES.get(accelerator, _machine)(accelerator, matrices or [], options)
    text = "\n" + "\n".join(table.markdown() for table in found)
    if json is not None:
        write_json(json, rows)
    if write is not None:
        write_text(write, replace_between(write, marker, text + "\n"))
    if json != STANDARD_OUTPUT:
        show(found, markdown=markdown)


def _machine(
    accelerator: str, matrices: Sequence[str], options: Mapping[str, Any]
) -> tuple[object, list[Table]]:
    """A machine, as data and as tables."""
    from fiberscope import accelerators
    from fiberscope.explore.speedups import has_designs

    kind = accelerators.find(accelerator)
    return (_designs if has_designs(kind) else _published)(kind, matrices, options)


def _sage(_name: str, workloads: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """SAGE beside what the paper's picks and gains."""
    from fiberscope.converters.sage.configuration import sage_parameters
    from published import sage as study
    from published.sage_tables import sage_tables

    if options["parts"]:
        raise InputError("--part: sage has no parts")
    found = study.compare(workloads, sage_parameters(options["settings"]))
    return asdict(found), sage_tables(found)


def _sparseloop(
    _name: str, _cases: Sequence[str], _options: Mapping[str, Any]
) -> tuple[list[Any], list[Table]]:
    """The analytical model, beside what Sparseloop published."""
    from published.sparseloop import sparseloop

    table = Table("Sparseloop", ("Figure", "Case", "Number", "Ours", "Published", "Error"), labels=3)
    rows = sparseloop()
    for row in rows:
        numbers = f"{row.ours:,.6g}", f"{row.published:,.6g}", f"{row.error:+.3%}"
        table.add(row.figure, row.case, row.what, *numbers)
    return [{**asdict(row), "error": row.error} for row in rows], [table]


def _sam(_name: str, figures: Sequence[str], _options: Mapping[str, Any]) -> tuple[list[Any], list[Table]]:
    """The figures of the SAM paper, whose machines are graphs."""
    from published.experiment_tables import experiment_tables
    from published.sam_experiments import experiments

    runs, claims = experiments(figures, tell)
    rows = [asdict(run) for run in runs] + [asdict(claim) for claim in claims]
    return rows, experiment_tables(runs, claims)


def _tiles(_name: str, matrices: Sequence[str], _options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Ways to tile, by the meter and on ExTensor."""
    from published import tiles
    from published.tile_tables import tile_tables

    moved = list(tiles.words(matrices or tiles.MATRICES, tell))
    runs = list(tiles.ran(matrices, tell) if matrices else tiles.ran(tiles.MATRICES, tell, tiles.LARGEST))
    return {"words": [asdict(one) for one in moved], "runs": [asdict(one) for one in runs]}, tile_tables(
        moved, runs
    )


def _mint(_name: str, cases: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """The variants of MINT in gates, beside their published areas."""
    from fiberscope.accelerators.configuration import load
    from fiberscope.converters.mint import MINT
    from fiberscope.hw.rtl.tools.area import require, version
    from fiberscope.hw.rtl.tools.simulator import HdlError
    from fiberscope.rtl.choice import known, one_line
    from published.mint_tables import mint_tables

    if cases or options["parts"]:
        raise InputError("mint has no matrices and no parts: it counts gates; write fiberscope compare mint")
    known()
    from published.mint import gates

    given = load(MINT.configuration, MINT.shipped, name=MINT.name, settings=options["settings"])
    try:
        require()
        with one_line():
            found = gates(given, options["tell"])
    except HdlError as error:
        raise InputError(str(error)) from error
    return asdict(found), mint_tables(found, version())


def _costs(_name: str, machines: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Areas, powers and energies, beside what was published of them."""
    mint = _shipped_mint("costs are", options)
    from published.costs import costs

    rows = costs(machines, mint, options["tell"])
    columns = ("Machine", "Figure", "Run", "Published", "Ours", "Error", "Not in ours", "Source")
    table = Table("Areas, powers and energies", columns, labels=3)
    for row in rows:
        numbers = f"{row.published:,.4g}", f"{row.ours:,.4g}", percent(row.error), str(row.without)
        table.add(row.machine, row.what, row.run, *numbers, row.source)
    return [{**asdict(row), "error": row.error} for row in rows], [table]


def _shipped_mint(said: str, options: Mapping[str, Any]) -> MintParameters:
    """The converter's parameters, for a study of all as it ships; what RTL needs is there then.

    Raises:
        InputError: there are settings, or parts.
    """
    from fiberscope.accelerators.configuration import load
    from fiberscope.converters.mint import MINT
    from fiberscope.rtl.choice import known

    if options["parts"] or options["settings"]:
        raise InputError(f"{said} of machines as they ship: no --set and no --part")
    known()
    return load(MINT.configuration, MINT.shipped, name=MINT.name)


def _validation(
    _name: str, parts: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Any], list[Table]]:
    """Every published figure, or those of some parts."""
    mint = _shipped_mint("validation is", options)
    from fiberscope.converters.sage.configuration import sage_parameters
    from published import validation as study
    from published.validation_tables import validation_tables

    rows = study.validation(parts, mint, sage_parameters({}), options["tell"])
    tiled, claims = study.sam(parts, options["tell"])
    rows += tiled
    data = [{**asdict(row), "known": row.known} for row in rows] + [asdict(claim) for claim in claims]
    return data, validation_tables(rows, claims)


def _published(
    kind: Kind[Any], matrices: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Any], list[Table]]:
    """What was run beside what was published, as data and as tables."""
    from fiberscope.explore import compare as study

    runs = study.compare(kind, matrices, **options)
    return [asdict(run) for run in runs], tables(runs)


def _designs(
    kind: Kind[Any], workloads: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Any], list[Table]]:
    """The same of designs beside one another."""
    from fiberscope.explore import speedups

    given = dict(options)
    if given.pop("surrogates"):
        raise InputError(
            "--surrogates: tails of stand-ins for graphs were chosen to bring published speed-ups about; "
            "none is compared with them"
        )
    runs = speedups.speedups(kind, workloads, **given)
    return [asdict(run) for run in runs], design_tables(runs, speedups.designs(kind))


def tables(runs: Sequence[Run]) -> list[Table]:
    """Cycles with mean errors, and traffic."""
    return [_cycles(runs), _traffic(runs)]


def _cycles(runs: Sequence[Run]) -> Table:
    columns = ("Matrix", "Memory", "Cycles", "Reported", "Error", "TeAAL", "TeAAL's error")
    table = Table("Cycles", columns, labels=2)
    for run in runs:
        table.add(
            _name(run),
            run.model,
            _cycles_of(run),
            _number(run.reported),
            _share(run.error),
            _number(run.teaal),
            _share(run.teaal_error),
        )
    for model in dict.fromkeys(run.model for run in runs):
        ours = [abs(run.error) for run in runs if run.model == model and run.error is not None]
        theirs = [abs(run.teaal_error) for run in runs if run.model == model and run.teaal_error is not None]
        table.add("mean, absolute", model, "", "", _mean(ours), "", _mean(theirs))
    return table


def _traffic(runs: Sequence[Run]) -> Table:
    columns = ("Matrix", "Memory", "Tensor", "Traffic", "Reported", "TeAAL", "Error, of all")
    table = Table("Traffic in bytes; errors are parts of all reported traffic", columns, labels=3)
    for run in runs:
        for one in run.traffic:
            table.add(
                _name(run),
                run.model,
                one.tensor,
                f"{one.ours:,}",
                _number(one.reported),
                _number(one.teaal),
                _share(one.difference),
            )
    return table


def _name(run: Run) -> str:
    return run.matrix if run.source != "surrogate" else f"{run.matrix} ({run.source.upper()})"


def _cycles_of(run: Run) -> str:
    """The cycles, with the range of the draws if there are several."""
    spread = f" ({run.least:,} to {run.most:,})" if run.most > run.least else ""
    return f"{run.cycles:,}{spread}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _mean(values: Sequence[float]) -> str:
    return percent(sum(values) / len(values), signed=False) if values else ""


# What is compared beside machines: by its name, from names of cases and options, data and tables.
STUDIES: Final[Mapping[str, Study]] = {
    "costs": _costs,
    "mint": _mint,
    "sage": _sage,
    "sam": _sam,
    "sparseloop": _sparseloop,
    "tiles": _tiles,
    "validation": _validation,
}
