"""Arguments of ``fiberscope graph``: a graph or an expression, and tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import find_graph_file

if TYPE_CHECKING:
    from fiberscope.models.graphs.compiler.compile import CompiledExpression
    from fiberscope.models.graphs.netlist import Graph

AUTO = "auto"  # value of --order: the order with the fewest estimated cycles
Expression = Annotated[
    str, typer.Argument(metavar="EXPRESSION", help="Expression, for example X(i,j) = B(i,k) * C(k,j).")
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE.gv", help="Graph file to write; named after the input by default."
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE.gv|EXPRESSION",
        help="Graph file, or an expression to compile: X(i,j) = B(i,k) * C(k,j).",
    ),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME:LETTERS[:LEVELS],...",
        help="How tensors are stored: s compressed, d dense, b bit vectors; with C:ss:10 columns first. "
        "Dense without it; repeatable.",
    ),
]
Order = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="i,k,j",
        help="Loops, outermost first; auto estimates the best. By default the order that the "
        "formats require.",
    ),
]
Tensors = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=TENSOR]...",
        help="Operands: a file, a folder, a name, a generator, ones, or a number for each tensor.",
    ),
]


def graph_of(
    source: str, formats: list[str] | None, order: str, operands: Mapping[str, object] | None = None
) -> Graph | Path:
    """Return a compiled graph, or the path of a graph file.

    Args:
        source: the path of a graph file (``.gv``), or an expression.
        formats: texts of ``--format``, for an expression.
        order: loops from the outermost on, separated by commas, or ``auto``; empty for the formats' order.
        operands: operands by name, whose statistics determine the order ``auto``.

    Raises:
        InputError: the expression cannot be compiled, the order is ``auto`` without operands, or options of
            expressions are given for a file. The file itself is not read.
    """
    path = find_graph_file(source)
    if path is None:
        return compile_graph(source, *choose_formats(source, formats, order, operands)).graph
    if formats or order:
        raise InputError(
            f"{path}: --format and --order are options of an expression; a graph file has its own"
        )
    return path


def named_graph(
    source: str, formats: list[str] | None, order: str, operands: Mapping[str, object] | None = None
) -> tuple[str, Graph]:
    """Return the stem of a graph's files, and the graph. The stem is ``graph`` for a compiled graph.

    The arguments are those of ``graph_of``.

    Raises:
        InputError: the errors of ``graph_of``, or the file cannot be read.
    """
    from fiberscope.models.graphs.gv_reader import read_gv
    from fiberscope.models.graphs.netlist import Graph

    graph, file = graph_of(source, formats, order, operands), find_graph_file(source)
    return "graph" if file is None else file.stem, graph if isinstance(graph, Graph) else read_gv(graph)


def choose_formats(
    expression: str,
    formats: list[str] | None,
    order: str,
    operands: Mapping[str, object] | None,
    split: str = "",
) -> tuple[list[str] | None, str]:
    """Return formats and the loop order; ``auto`` becomes the order with the fewest estimated cycles.

    With ``auto``, an operand whose format names no order of levels gets the order of the chosen loops. With
    any other order, both arguments are returned as they are.

    Args:
        expression: the expression, read only for ``auto``.
        formats: texts of ``--format``.
        order: loops from the outermost on, separated by commas, or ``auto``; empty for the formats' order.
        operands: operands by name, for ``auto``.
        split: text of ``--split``, for ``auto``.

    Raises:
        InputError: the order is ``auto``, without operands or without an order that can be estimated.
        WorkloadError: the order is ``auto``, and an operand cannot be loaded.
    """
    if order != AUTO:
        return formats, order
    if not operands:
        raise InputError("--order auto uses statistics of the tensors; give the tensors, as in B=wiki-Vote")
    from fiberscope.models.graphs.compiler.choice import list_text_candidates
    from fiberscope.models.graphs.compiler.schedule import parse_splits

    splits = parse_splits(split) if split else {}
    # Candidates are sorted by estimated cycles.
    best = list_text_candidates(expression, formats or [], operands, splits)[0]
    return best.format_texts, ",".join(best.order)


def compile_graph(
    expression: str,
    formats: list[str] | None,
    order: str,
    *,
    reorder: str = "",
    factor: bool = False,
    optimise: str = "",
    split: str = "",
    parallelize: str = "",
) -> CompiledExpression:
    """Compile an expression with the options of ``fiberscope graph compile``, as texts.

    Args:
        formats: texts of ``--format``; None for dense tensors.
        order: text of ``--order``, but not ``auto``; empty for the order that the formats require.
        reorder, factor, optimise, split, parallelize: values of the options of these names.

    Raises:
        InputError: the expression or an option is invalid.
    """
    from fiberscope.models.graphs.compiler.compile import compile_expression
    from fiberscope.models.graphs.compiler.schedule import parse_variables

    return compile_expression(
        expression,
        formats or [],
        parse_variables(order, "--order") if order else (),
        reorder=parse_variables(reorder, "--reorder") if reorder else (),
        factor=factor,
        optimise=optimise,
        split=split,
        parallelize=parallelize,
    )


def tensors_by_name(arguments: list[str] | None) -> dict[str, str]:
    """Return operands by name.

    Raises:
        InputError: an operand has no name, or a name is given twice.
    """
    from fiberscope.base.operand_arguments import split_operands

    plain, by_name = split_operands(arguments or [])
    if plain:
        raise InputError(f"{plain[0]} names no tensor; write NAME=TENSOR, as in B=wiki-Vote")
    return by_name
