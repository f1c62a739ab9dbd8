"""``fiberscope tile``: tiles of a tensor kernel, chosen from statistics of its operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import in_order
from fiberscope.commands.completion import complete_matrix
from fiberscope.commands.options import Exact, Json, Markdown
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json

if TYPE_CHECKING:
    from fiberscope.models.tiles.kernel import Kernel
    from fiberscope.models.tiles.plan import Plan

_Operands = Annotated[
    list[str],
    typer.Argument(
        metavar="A [B]...",
        help="Operands in order, or by name (A=TENSOR); without B, B is A.",
        autocompletion=complete_matrix,
    ),
]
_Kernel = Annotated[str, typer.Option(help="Expression: sums and products of tensors.")]
_Order = Annotated[str, typer.Option(help="Loops over tiles, outermost first.")]
_Buffer = Annotated[
    str, typer.Option(metavar="SIZE", help="Buffer size for each operand, for example 128KiB.")
]
_Capacity = Annotated[
    int | None, typer.Option(metavar="WORDS", help="Buffer size in words of 4 bytes, instead of --buffer.")
]
_Transpose = Annotated[bool, typer.Option("--transpose-b", help="Use A transposed as B.")]
_Compare = Annotated[
    str, typer.Option(metavar="METHOD,...", help="Also compare these methods: prescient, tailors, drt.")
]
_Measure = Annotated[
    bool, typer.Option("--measure", help="Count the words that the tiles of each method move.")
]
_Scan = Annotated[bool, typer.Option("--scan", help="Try every side of square tiles instead of halving.")]
_Swiftiles = Annotated[
    bool, typer.Option("--swiftiles", help="Let the method tailors estimate its tile size from a sample.")
]
_Microtile = Annotated[int, typer.Option(min=1, help="Side of the microtiles of drt, in elements.")]
_Panel = Annotated[int, typer.Option(min=1, help="Width of drt's panel, in microtiles.")]
_Statistics = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Take the statistics from a report written with --json.")
]
_Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw candidates and tiles to this .png, .svg or .pdf file."),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the prediction or search; repeatable."),
]


def tile(
    operands: _Operands,
    kernel: _Kernel = "C[i,j]=A[i,k]*B[k,j]",
    order: _Order = "ikj",
    buffer: _Buffer = "128KiB",
    capacity: _Capacity = None,
    transpose_b: _Transpose = False,
    compare: _Compare = "",
    measure: _Measure = False,
    scan: _Scan = False,
    swiftiles: _Swiftiles = False,
    microtile: _Microtile = 32,
    panel: _Panel = 128,
    statistics: _Statistics = None,
    settings: _Settings = None,
    plot: _Plot = None,
    json: Json = None,
    markdown: Markdown = False,
    exact: Exact = False,
) -> None:
    """Choose tiles from statistics of the tensors (D2T2).

    The tiles fit in the buffers and move little data. Predicts the traffic in words of 4 bytes; --measure
    counts it on the real tiles.

    \b
    Examples:
      fiberscope tile wiki-Vote --transpose-b --compare prescient,tailors,drt --measure
      fiberscope tile wiki-Vote --order ijk --buffer 64KiB --json out.json
      fiberscope tile wiki-Vote --transpose-b --set model=counted --set grow=contracted --plot out.svg
    """
    from fiberscope.accelerators.configuration import parse_settings, validate
    from fiberscope.models.tiles.kernel import Kernel
    from fiberscope.models.tiles.operands import load_operands
    from fiberscope.models.tiles.options import Options
    from fiberscope.models.tiles.plan import Methods, plan
    from fiberscope.models.tiles.report import read_statistics
    from fiberscope.workloads import file_of

    tiled_kernel = Kernel.read(kernel, order)
    operands = in_order(operands, tiled_kernel.inputs)
    files = {f"operand {number}": file_of(name) for number, name in enumerate(operands, start=1)}
    check_outputs({"--json": json, "--plot": plot}, {**files, "--statistics": statistics})
    options = validate(Options, parse_settings(settings or []), "tile")
    methods = Methods([name for name in compare.split(",") if name], scan, swiftiles, microtile, panel)
    capacity_words = _buffer_words(tiled_kernel, buffer, capacity)
    tensors = load_operands(tiled_kernel, operands, transpose_b=transpose_b, exact=exact)
    statistics_of_tiles = None if statistics is None else read_statistics(statistics, tiled_kernel)
    choose = partial(plan, tiled_kernel, tensors, capacity_words, options, methods, statistics_of_tiles)
    _write_plan(_choose(choose, measure), measure, json, plot, markdown)


def _choose(choose: Callable[..., Plan], measure: bool) -> Plan:
    """Choose tiles and, if requested, measure their traffic, with a progress display.

    Args:
        choose: returns the plan; takes a progress callback as ``progress``.
        measure: whether the traffic of the plan's tiles is counted.
    """
    from fiberscope.base.progress import ignore_progress
    from fiberscope.commands.progress import progress_display

    with progress_display(quiet=False) as progress:
        tiles = choose(progress=progress or ignore_progress)
        if measure:
            tiles.measure_all(progress or ignore_progress)
    return tiles


def _buffer_words(kernel: Kernel, buffer: str, capacity: int | None) -> int:
    """Return the capacity of the buffer of one operand in words of 4 bytes.

    A capacity in words is taken as it is. From a size in bytes, the capacity is computed as the paper of D2T2
    does, and may exceed the words of the buffer (see ``count_capacity``).

    Raises:
        InputError: the size is invalid.
    """
    from fiberscope.accelerators.quantities import SIZE
    from fiberscope.models.tiles.base import count_capacity

    if capacity is not None:
        return capacity
    try:
        return count_capacity(kernel, SIZE.parse(buffer))
    except ValueError as error:
        raise InputError(f"--buffer {buffer}: {error}") from error


def _write_plan(tile_plan: Plan, measure: bool, json: Path | None, plot: Path | None, markdown: bool) -> None:
    """Write the requested files; print the tables and the choice's reason, unless JSON is printed."""
    from fiberscope.commands.output import show
    from fiberscope.models.tiles.pictures import draw_plan
    from fiberscope.models.tiles.report import document, explain_choice, tables
    from fiberscope.results.report.pictures import save_figure

    if json is not None:
        write_json(json, document(tile_plan, measured=measure))
    if plot is not None:
        save_figure(lambda: draw_plan(tile_plan), plot)
    if json != STANDARD_OUTPUT:
        show(tables(tile_plan, measured=measure), markdown=markdown)
        print(f"\n{explain_choice(tile_plan)}")
