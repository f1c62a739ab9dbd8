"""``fiberscope model``: evaluation of a machine's specification on real tensors."""

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
from fiberscope.results.report.files import STANDARD_OUTPUT, list_operand_files

if TYPE_CHECKING:
    from fiberscope.run.request import TraceRequest

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
    options: ReportOptions,
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
    from fiberscope.base.operand_arguments import split_operands
    from fiberscope.commands.output import show as show_tables
    from fiberscope.commands.progress import progress_display
    from fiberscope.models.trace.show import build_traffic_table
    from fiberscope.run.request import TraceRequest

    # First, as symbols such as a=2 look like operands; they become settings of ``options``
    factors, tensors = split_operands(options.take_symbols(specification, operands or []))
    _check_show(show, options, output)
    options.check({"--output": output}, _list_input_files(specification, factors, tensors))
    request = TraceRequest(specification, factors, tensors, options.entries(), options.config, options.exact)
    # A static view ignores the operands, which are parsed but not loaded.
    if show is not None and _show_static_view(show, specification, request.all_settings):
        return 0
    if show == "spacetime":  # options.check has not compared the default name with the inputs
        _draw_spacetime(output or Path(f"{Path(specification).stem}-spacetime.svg"), request)
        return 0
    # The table replaces the summary, not the progress display
    hides_summary = options.quiet or show is not None
    with report_delivery(options.json, hides_summary) as deliver, progress_display(options.quiet) as progress:
        report = request.run(progress=progress)
    deliver(report)
    options.write_product(report)
    if show is not None and options.json != STANDARD_OUTPUT:  # else stdout is for the JSON document alone
        show_tables([build_traffic_table(report)], markdown=False)
    return exit_code(report)


def _check_show(view: str | None, options: ReportOptions, output: Path | None) -> None:
    """Check the view, and that no option requires a file that the view does not write.

    Raises:
        InputError: the view is unknown, or an output option does not apply.
    """
    from fiberscope.models.trace.show import check_view

    if view is not None:
        check_view(view)
    if output is not None and view != "spacetime":
        raise InputError("--output names the picture that --show spacetime draws; leave it out")
    for option, file in (("--json", options.json), ("--product", options.product)):
        if file is not None and view not in (None, "traffic"):
            raise InputError(f"--show {view} runs no model; leave {option} out")


def _show_static_view(view: str, specification: str, settings: Mapping[str, object]) -> bool:
    """Print a view that needs no operands, ``loopnest`` or ``blocks``; return whether ``view`` is one."""
    from fiberscope.models.trace import show
    from fiberscope.models.trace.api import load_outline

    if view not in show.SPECIFICATION_VIEWS:
        return False
    outline = load_outline(specification, settings)
    print(show.loop_nests(outline) if view == "loopnest" else show.describe_blocks(outline))
    return True


def _draw_spacetime(path: Path, request: TraceRequest) -> None:
    """Run the specification, draw its loop bodies in space and time, and print the name of the picture.

    Args:
        path: the picture to write; ``.png``, ``.svg`` or ``.pdf``. The ending is checked after the run.
        request: the request of the specification and its operands.

    Raises:
        InputError: the specification has no ``mapping: spacetime:``, the file cannot be written or has
            another ending, or matplotlib is missing.
        ConfigurationError, WorkloadError: the specification, a setting or an operand is invalid.
        KeyboardInterrupt: the run was interrupted.
    """
    from fiberscope.models.trace.spacetime import draw_stamps
    from fiberscope.results.report.pictures import save_figure

    prepared = request.prepare()
    names = " and ".join(dict.fromkeys(operand.workload.name for operand in prepared.operands.values()))
    stamps = prepared.stamps()
    if not stamps:
        raise InputError(f"{request.machine} places no Einsum in space and time; see mapping: spacetime:")
    save_figure(lambda: draw_stamps(stamps, f"{request.machine} on {names}"), path)
    print(f"Picture: {path}")


def _list_input_files(
    specification: str, factors: list[str], tensors: dict[str, str]
) -> dict[str, Path | None]:
    """Return the specification and the operands' files, which no output may overwrite, by names in messages.

    The name of an accelerator is returned as a path, which usually does not exist. An operand that is not in
    a file has None.
    """
    operands = {**dict(zip("AB", factors, strict=False)), **tensors}
    return {"the specification": Path(specification), **list_operand_files(operands)}
