"""The studies that ``fiberscope compare`` runs by name: each returns its figures as data and as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fiberscope.base.errors import InputError
from fiberscope.results.report.table import Table, percent

if TYPE_CHECKING:
    from fiberscope.converters.configuration import MintParameters

__all__ = ["STUDIES"]

# From names of cases and the options of the command to figures as data and as tables.
Study: TypeAlias = Callable[[Sequence[str], Mapping[str, Any]], tuple[object, list[Table]]]


def _sage_study(workloads: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """SAGE beside what the paper's picks and gains."""
    from fiberscope.converters.sage.configuration import sage_parameters
    from published import sage
    from published.sage_tables import sage_tables

    if options["parts"]:
        raise InputError("--part: sage has no parts")
    found = sage.compare(workloads, sage_parameters(options["settings"]))
    return asdict(found), sage_tables(found)


def _sparseloop_study(_cases: Sequence[str], _options: Mapping[str, Any]) -> tuple[list[Any], list[Table]]:
    """The analytical model, beside what Sparseloop published."""
    from published.sparseloop import sparseloop

    table = Table("Sparseloop", ("Figure", "Case", "Number", "Ours", "Published", "Error"), labels=3)
    rows = sparseloop()
    for row in rows:
        numbers = f"{row.ours:,.6g}", f"{row.published:,.6g}", f"{row.error:+.3%}"
        table.add(row.figure, row.case, row.what, *numbers)
    return [{**asdict(row), "error": row.error} for row in rows], [table]


def _sam_study(figures: Sequence[str], options: Mapping[str, Any]) -> tuple[list[Any], list[Table]]:
    """The figures of the SAM paper, whose machines are graphs."""
    from published.experiment_tables import experiment_tables
    from published.sam_experiments import experiments

    runs, claims = experiments(figures, options["tell"])
    rows = [asdict(run) for run in runs] + [asdict(claim) for claim in claims]
    return rows, experiment_tables(runs, claims)


def _tiles_study(matrices: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """Ways to tile, by the meter and on ExTensor."""
    from published import tiles
    from published.tile_tables import tile_tables

    tell = options["tell"]
    moved = list(tiles.words(matrices or tiles.MATRICES, tell))
    runs = list(tiles.ran(matrices, tell) if matrices else tiles.ran(tiles.MATRICES, tell, tiles.LARGEST))
    return {"words": [asdict(one) for one in moved], "runs": [asdict(one) for one in runs]}, tile_tables(
        moved, runs
    )


def _mint_study(cases: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
    """The variants of MINT in gates, beside their published areas."""
    from fiberscope.accelerators.configuration import load
    from fiberscope.converters.mint import MINT
    from fiberscope.hw.rtl.tools.area import require, version
    from fiberscope.hw.rtl.tools.simulator import HdlError
    from fiberscope.rtl.select_block import input_errors, rtl_blocks
    from published.mint_tables import mint_tables

    if cases or options["parts"]:
        raise InputError("mint has no matrices and no parts: it counts gates; write fiberscope compare mint")
    rtl_blocks()
    from published.mint import gates

    given = load(MINT.configuration, MINT.shipped, name=MINT.name, settings=options["settings"])
    try:
        require()
        with input_errors():
            found = gates(given, options["tell"])
    except HdlError as error:
        raise InputError(str(error)) from error
    return asdict(found), mint_tables(found, version())


def _costs_study(machines: Sequence[str], options: Mapping[str, Any]) -> tuple[object, list[Table]]:
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
    from fiberscope.rtl.select_block import rtl_blocks

    if options["parts"] or options["settings"]:
        raise InputError(f"{said} of machines as they ship: no --set and no --part")
    rtl_blocks()
    return load(MINT.configuration, MINT.shipped, name=MINT.name)


def _validation_study(parts: Sequence[str], options: Mapping[str, Any]) -> tuple[list[Any], list[Table]]:
    """Every published figure, or those of some parts."""
    mint = _shipped_mint("validation is", options)
    from fiberscope.converters.sage.configuration import sage_parameters
    from published import validation
    from published.validation_tables import validation_tables

    rows = validation.validation(parts, mint, sage_parameters({}), options["tell"])
    tiled, claims = validation.sam(parts, options["tell"])
    rows += tiled
    data = [{**asdict(row), "known": row.known} for row in rows] + [asdict(claim) for claim in claims]
    return data, validation_tables(rows, claims)


STUDIES: Final[Mapping[str, Study]] = {
    "costs": _costs_study,
    "mint": _mint_study,
    "sage": _sage_study,
    "sam": _sam_study,
    "sparseloop": _sparseloop_study,
    "tiles": _tiles_study,
    "validation": _validation_study,
}
