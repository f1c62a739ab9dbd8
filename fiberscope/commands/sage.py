"""``fiberscope sage``: formats of operands in memory and for the computation."""

from __future__ import annotations

from typing import Annotated

import typer

from fiberscope.commands.completion import complete_matrix
from fiberscope.commands.options import Config, Json, Markdown, Settings
from fiberscope.commands.output import show
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json

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
    from fiberscope.base.operand_arguments import select_a_and_b
    from fiberscope.run.format_ranking import sage as predict

    check_outputs({"--json": json}, {})
    parsed = parse_settings(settings or [])
    fixed = {"mcf_a": mcf_a, "mcf_b": mcf_b}
    a, b = select_a_and_b(operands)
    ranking = predict(a, b, kernel=kernel, system=system, settings=parsed, config=config, **fixed)
    if json is not None:
        write_json(json, ranking.document())
    if json != STANDARD_OUTPUT:
        show(ranking.tables(top), markdown=markdown)
