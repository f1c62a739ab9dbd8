"""``fiberscope model``: a machine by its specification, counted on real tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.completion import complete_matrix
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.report_output import report_delivery
from fiberscope.commands.run_options import ReportOptions, exit_code
from fiberscope.results.report.files import STANDARD_OUTPUT

if TYPE_CHECKING:
    from fiberscope.run.request import TraceRequest

__all__ = ["model"]

_Specification = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="Specification: an accelerator, a variant such as extensor-energy, or a YAML file.",
    ),
]
_Operands = Annotated[
    list[str] | None,
    typer.Argument(
        help="A [B], the factors of a product; or NAME=TENSOR for each tensor, whose rows are "
        "its first declared rank; SYMBOL=NUMBER is as --set SYMBOL=NUMBER.",
        autocompletion=complete_matrix,
    ),
]
_Show = Annotated[
    str | None,
    typer.Option(metavar="WHAT", help="Show loopnest, blocks, traffic or spacetime instead of the summary."),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File of the picture of --show spacetime."),
]


@expand_groups()
def model(
    specification: _Specification,
    asked: ReportOptions,
    operands: _Operands = None,
    show: _Show = None,
    output: _Output = None,
) -> int:
    """Count the work of a specification on real tensors; bound its time.

    Runs the loops of the Einsums as the specification maps them, and verifies the result. Operations and
    traffic are exact. The time is that of the slowest component, without stalls.

    \b
    Examples:
      fiberscope model gamma wiki-Vote
      fiberscope model extensor wiki-Vote --set semantics=teaal --json out.json
      fiberscope model my.yaml A=a.mtx B=b.mtx --set K1=512
      fiberscope model gamma wiki-Vote --show loopnest
    """
    from fiberscope.base.operand_arguments import operands_of
    from fiberscope.commands.output import show as show_tables
    from fiberscope.commands.progress import progress_display
    from fiberscope.models.trace.show import traffic_table
    from fiberscope.run.request import TraceRequest

    factors, tensors = operands_of(asked.take_symbols(specification, operands or []))
    _check_show(show, asked.json, output)
    asked.check({"--output": output}, _files(specification, factors, tensors))
    run = TraceRequest(specification, factors, tensors, asked.entries(), asked.config, asked.exact)
    if show is not None and _shown(show, specification, run.all_settings):
        return 0
    if show == "spacetime":
        _draw(output or Path(f"{Path(specification).stem}-spacetime.svg"), run)
        return 0
    quiet = asked.quiet or show is not None
    with report_delivery(asked.json, quiet) as deliver, progress_display(asked.quiet) as tell:
        report = run.run(progress=tell)
    deliver(report)
    asked.write_product(report)
    if show is not None and asked.json != STANDARD_OUTPUT:
        show_tables([traffic_table(report)], markdown=False)
    return exit_code(report)


def _check_show(what: str | None, json: Path | None, output: Path | None) -> None:
    """Refuse a view that there is not, and files that a view does not write.

    Raises:
        InputError: saying which.
    """
    from fiberscope.models.trace.show import check

    if what is not None:
        check(what)
    if output is not None and what != "spacetime":
        raise InputError("--output is of the picture that --show spacetime draws; leave it out")
    if json is not None and what not in (None, "traffic"):
        raise InputError(f"--show {what} makes no report; leave --json out")


def _shown(what: str, specification: str, settings: Mapping[str, object]) -> bool:
    """Show what a specification alone can tell; returns whether it can."""
    from fiberscope.models.trace import show
    from fiberscope.models.trace.api import load_outline
    from fiberscope.models.trace.show import loop_nests

    if what not in show.OF_SPECIFICATIONS:
        return False
    read = load_outline(specification, settings)
    print(loop_nests(read) if what == "loopnest" else show.blocks_in_words(read))
    return True


def _draw(path: Path, run: TraceRequest) -> None:
    """Draw where and when the bodies of the loops run."""
    from fiberscope.models.trace.spacetime import draw_stamps
    from fiberscope.results.report.pictures import save_figure

    ready = run.prepared()
    names = " and ".join(dict.fromkeys(operand.workload.name for operand in ready.operands.values()))
    stamps = ready.stamps()
    if not stamps:
        raise InputError(f"{run.machine} places no Einsum in space and time; see mapping: spacetime:")
    save_figure(lambda: draw_stamps(stamps, f"{run.machine} on {names}"), path)
    print(f"Picture: {path}")


def _files(specification: str, factors: list[str], tensors: dict[str, str]) -> dict[str, Path | None]:
    """Return the files that the model reads, by their names in messages; no output may overwrite them."""
    from fiberscope.workloads import file_of

    operands = {**dict(zip("AB", factors, strict=False)), **tensors}
    files = {f"the matrix {name}": file_of(matrix) for name, matrix in operands.items()}
    return {"the specification": Path(specification), **files}
