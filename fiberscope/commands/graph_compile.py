"""``fiberscope graph compile``: compilation of index notation to a graph of stream blocks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.graph_source import (
    AUTO,
    Expression,
    Formats,
    Order,
    Tensors,
    choose_formats,
    compile_graph,
    tensors_by_name,
)
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json

if TYPE_CHECKING:
    from fiberscope.models.graphs.compiler.compile import CompiledExpression


class _Shown(StrEnum):
    """Values of the option ``--show``."""

    CIN = "cin"
    GRAPH = "graph"


_Reorder = Annotated[str, typer.Option(metavar="k,j", help="Exchange these two neighbouring loops.")]
_Factor = Annotated[
    bool, typer.Option("--factor", help="Compute each sum over a part in a statement of its own.")
]
_Locate = Annotated[bool, typer.Option("--locate", help="Look up dense levels instead of scanning them.")]
_Optimise = Annotated[
    str, typer.Option(metavar="NAME,...", help="Apply these rewrites (see 'graph optimise'), or all.")
]
_Split = Annotated[
    str,
    typer.Option(
        metavar="i:N,...",
        help="Split a loop into chunks of N coordinates: i_0 over chunks, i_1 within a chunk.",
    ),
]
_Parallelize = Annotated[str, typer.Option(metavar="i:N", help="Make N copies of the blocks inside a loop.")]
_Show = Annotated[
    list[_Shown] | None,
    typer.Option("--show", help="Print the loop nest (cin, concrete index notation) or each block (graph)."),
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.gv", help="Graph file to write.")
]
_Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write order and counts to this file; - prints them."),
]


def compile_(
    expression: Expression,
    tensors: Tensors = None,
    formats: Formats = None,
    order: Order = "",
    reorder: _Reorder = "",
    factor: _Factor = False,
    locate: _Locate = False,
    optimise: _Optimise = "",
    split: _Split = "",
    parallelize: _Parallelize = "",
    shown: _Show = None,
    output: _Output = None,
    json: _Json = None,
) -> None:
    """Compile tensor index notation into a graph.

    Indices that are missing on the left are summed over, term by term. Prints the primitives as Table 1 of
    the Sparse Abstract Machine counts them, and the blocks of the graph.

    Tensors are needed only for --order auto, which estimates the fastest order of loops from them.

    \b
    Examples:
      fiberscope graph compile "X(i,j) = B(i,k) * C(k,j)" --format "X:ss,B:ss,C:ss" --order i,k,j -o ikj.gv
      fiberscope graph compile "x(i) = b(i) - C(i,j) * d(j)" --format "x:s,b:s,C:ss,d:s" --show cin
    """
    from fiberscope.models.graphs.gv_writer import write_gv

    check_outputs({"the graph": output, "the file of --json": json}, {})
    operands = tensors_by_name(tensors)
    if operands and order != AUTO:
        raise InputError("only --order auto uses tensors, for their statistics; leave the tensors out")
    formats, order = choose_formats(expression, formats, order, operands, split)  # ``auto`` sets both
    graph = compile_graph(
        expression,
        formats,
        order,
        reorder=reorder,
        factor=factor,
        optimise=",".join([*["locate"] * locate, *[optimise] * bool(optimise)]),  # applied in this order
        split=split,
        parallelize=parallelize,
    )
    if output is not None:
        write_gv(graph.graph, output)
    if json is not None:
        write_json(json, graph.document())
    if STANDARD_OUTPUT not in (json, output):
        print("\n".join(_summary(graph, shown or [], output)))


def _summary(graph: CompiledExpression, shown: list[_Shown], output: Path | None) -> list[str]:
    """Return the lines that describe a compiled graph: splits, loop order, primitives and blocks.

    Args:
        graph: the compiled expression.
        shown: further parts to show, before these lines.
        output: the file that the graph was written to, named in the last line; None for no file.
    """
    from fiberscope.models.graphs.splits import split_lines

    lines: list[str] = []
    if _Shown.CIN in shown:
        lines += map(str, graph.notations)
    if _Shown.GRAPH in shown:
        lines += map(str, graph.graph.nodes.values())
        streams = graph.graph.streams
        lines += [f"{each.source}.{each.output} -> {each.target}.{each.input}" for each in streams]
    lines += split_lines(graph.graph.splits)
    lines += [f"Order: {','.join(graph.order) or 'no loops'}", f"Primitives: {_format_counts(graph.counts)}"]
    lines.append(f"Blocks: {_format_counts(dict(sorted(graph.graph.counts().items())))}")
    return [*lines, f"Written: {output}"] if output is not None else lines


def _format_counts(counts: dict[str, int]) -> str:
    """Return counts as text, without zeros; ``none`` if no count is left."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def gallery(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the page and its pictures.")],
) -> None:
    """Write the page of the twelve expressions of SAM's Table 1.

    Compiles, draws and runs each expression.

    \b
    Examples:
      fiberscope graph gallery docs
    """
    from fiberscope.models.graphs.gallery import write_gallery

    print("\n".join(f"Written: {path}" for path in write_gallery(folder)))
