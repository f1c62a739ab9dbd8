"""``fiberscope sage``: in which formats to store operands, and in which to compute with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.completion import complete_matrix
from fiberscope.commands.options import Config, Json, Markdown, Settings
from fiberscope.commands.output import show
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json
from fiberscope.results.report.table import Table, percent

if TYPE_CHECKING:
    from fiberscope.converters.sage.configuration import SageParameters
    from fiberscope.converters.sage.kernels import Problem
    from fiberscope.converters.sage.search import Choice, Prediction
    from fiberscope.converters.sage.statistics import Statistics

__all__ = ["sage"]

_Operands = Annotated[
    list[str],
    typer.Argument(
        metavar="A [B]",
        help="Operands: files, names or expected:...; by default B has A's last rank and half of A's first.",
        autocompletion=complete_matrix,
    ),
]
_Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="Computation: spgemm, spmm, spttm or mttkrp; chosen by A's number of ranks by default.",
    ),
]
_System = Annotated[
    str,
    typer.Option(
        "--system", metavar="CLASS", help="Class of accelerators, which limits the choice (docs/sage.md)."
    ),
]
_McfA = Annotated[
    str | None, typer.Option("--mcf-a", metavar="FORMAT", help="Fix the format of A in memory.")
]
_McfB = Annotated[
    str | None, typer.Option("--mcf-b", metavar="FORMAT", help="Fix the format of B in memory.")
]
_Top = Annotated[int, typer.Option("--top", min=1, help="Number of pairs in the table; --json has all.")]


def sage(
    operands: _Operands,
    kernel: _Kernel = None,
    system: _System = "Flex_Flex_HW",
    mcf_a: _McfA = None,
    mcf_b: _McfB = None,
    top: _Top = 10,
    settings: Settings = None,
    config: Config = None,
    markdown: Markdown = False,
    json: Json = None,
) -> None:
    """Predict the formats with the least energy-delay product.

    Tries every pair of formats, in memory and for the computation. Counts A and B, or expects nonzeros at
    random places: expected:shape=...,density=...

    \b
    Examples:
      fiberscope sage nd3k
      fiberscope sage wiki-Vote --kernel spmm --top 5 --set match_cost=bus
      fiberscope sage expected:shape=11000x11000,density=0.1 --mcf-a csr --json -
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.base.operand_arguments import a_and_b
    from fiberscope.converters.sage.configuration import sage_parameters
    from fiberscope.converters.sage.kernels import problem
    from fiberscope.converters.sage.operands import operand

    check_outputs({"--json": json}, {})
    parameters = sage_parameters(parse_settings(settings or []), config)
    a, b = a_and_b(operands)
    first = operand(a)
    chosen = kernel or ("spgemm" if len(first.shape) == 2 else "spttm")
    asked = problem(chosen, first, None if b is None else operand(b))
    ranked = _ranked(asked, parameters, system, mcf_a, mcf_b)
    if json is not None:
        write_json(json, _document(asked, parameters.model_dump(mode="json"), system, ranked))
    if json != STANDARD_OUTPUT:
        tables = [_table(asked, ranked, top), _why(ranked)]
        show([table for table in tables if table.rows], markdown=markdown)


def _ranked(
    asked: Problem, parameters: SageParameters, system: str, mcf_a: str | None, mcf_b: str | None
) -> list[Prediction]:
    from fiberscope.converters.sage.search import all_choices, rank
    from fiberscope.converters.sage.systems import system_called

    allowing = system_called(system)
    allowed = allowing.choices() or all_choices(asked)
    kept = [choice for choice in allowed if _is_asked(choice, asked, mcf_a, mcf_b)]
    return rank(asked, parameters, kept, allowing.converter)


def _is_asked(choice: Choice, asked: Problem, mcf_a: str | None, mcf_b: str | None) -> bool:
    from fiberscope.workloads.errors import WorkloadError, nearest

    for wanted, formats in zip((mcf_a, mcf_b), asked.mcfs, strict=True):
        if wanted is not None and wanted not in formats:
            raise WorkloadError(f"SAGE has no format {wanted!r} in memory here", fix=nearest(wanted, formats))
    return mcf_a in (None, choice.mcf_a) and mcf_b in (None, choice.mcf_b)


def _document(asked: Problem, parameters: object, system: str, ranked: Sequence[Prediction]) -> object:
    from fiberscope.converters.sage.reasons import reasons

    return {
        "schema": "fiberscope-sage-1",
        "kernel": asked.kernel,
        "system": system,
        "operands": {"a": _operand(asked.streamed), "b": _operand(asked.held)},
        "parameters": parameters,
        "best": ranked[0].document(),
        "why": [asdict(reason) for reason in reasons(ranked)],
        "pairs": [prediction.document() for prediction in ranked],
    }


def _operand(operand: Statistics) -> dict[str, object]:
    return {
        "name": operand.name,
        "shape": operand.shape,
        "nonzeros": operand.nonzeros,
        "density": operand.density,
        "counted": operand.tensor is not None,
    }


def _table(asked: Problem, ranked: Sequence[Prediction], top: int) -> Table:
    shapes = [" x ".join(f"{size:,}" for size in operand.shape) for operand in (asked.streamed, asked.held)]
    density = [f"{operand.density:.3g}" for operand in (asked.streamed, asked.held)]
    title = f"{asked.kernel}: A {shapes[0]}, density {density[0]}; B {shapes[1]}, density {density[1]}"
    columns = ("MCF A-B", "ACF A-B", "Cycles", "DRAM", "Conversion", "Computing", "uJ", "EDP")
    table = Table(title, columns, labels=2)
    for prediction in ranked[:top]:
        table.add(
            f"{prediction.choice.mcf_a}-{prediction.choice.mcf_b}",
            f"{prediction.choice.acf_a}-{prediction.choice.acf_b}",
            f"{prediction.cycles:,.0f}",
            f"{prediction.dram_cycles + prediction.output_cycles:,.0f}",
            f"{prediction.streaming_cycles + prediction.two_pass_cycles:,.0f}",
            f"{prediction.compute_cycles:,.0f}",
            f"{prediction.picojoules / 1e6:,.2f}",
            percent(prediction.product / ranked[0].product - 1) if ranked[0].product else "",
        )
    return table


def _why(ranked: Sequence[Prediction]) -> Table:
    from fiberscope.converters.sage.reasons import reasons

    table = Table(
        "Why: the best pair without each of its formats", ("Instead of", "The best", "EDP", "As"), 2
    )
    for reason in reasons(ranked):
        table.add(
            f"{reason.what}: {reason.chosen}",
            str(reason.instead),
            percent(reason.product - 1),
            reason.because,
        )
    return table
