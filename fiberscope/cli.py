"""The command ``fiberscope``: a thin layer over the Python API.

Exit codes: 0; 2 for bad input, with one line that says what would be right; 3 when the simulated machine
went wrong; 130 when interrupted. Everything heavy is imported inside the commands, so that ``--help`` answers
at once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from fiberscope import __version__
from fiberscope.errors import FailedRunError, InputError
from fiberscope.rtl.commands import rtl

__all__ = ["main", "run"]

BAD_INPUT = 2
MACHINE_WRONG = 3
INTERRUPTED = 130

# The base of all usage errors; where it lives depends on the version of typer.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="fiberscope",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(rtl, name="rtl")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fiberscope {__version__}")
        raise typer.Exit


_Accelerator = Annotated[str, typer.Argument(help="Name of the accelerator; see 'fiberscope list'.")]
_Matrix = Annotated[str, typer.Argument(help="A: a file, a known name, or a generator.")]
_SecondMatrix = Annotated[
    str | None, typer.Option("--b", metavar="MATRIX", help="B, where it is not A again.")
]
_Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a parameter; repeatable.")
]
_Config = Annotated[Path | None, typer.Option(metavar="FILE", help="YAML file of parameters to override.")]
_Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report here; - to the terminal.")]
_Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]
_Vcd = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a waveform here; as FST if it ends in .fst.")
]
_VcdWindow = Annotated[
    str | None, typer.Option(metavar="START:END", help="Cycles in the waveform, the end excluded.")
]
_VcdScope = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Components in the waveform, as in 'pe0[0-3]'; repeatable."),
]
_VcdTrigger = Annotated[
    str | None,
    typer.Option(metavar="CONDITION", help="Begin the waveform when 'pe07 input_stall > 100' or the like."),
]
_VcdCycles = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Length of the waveform at the most, from its begin.")
]
_VcdPlain = Annotated[
    bool, typer.Option("--vcd-plain", help="No colours in the waveform, for viewers other than GTKWave.")
]
_Exact = Annotated[bool, typer.Option("--exact", help="Refuse a surrogate for a matrix that cannot be had.")]
_Histograms = Annotated[
    bool, typer.Option("--histograms", help="Report how full the channels were, for 'fiberscope plot'.")
]
_CycleLimit = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Stop at this cycle, with an incomplete report.")
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
_Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
]


def main() -> NoReturn:
    """Entry point of the console script."""
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code, having said on stderr what was wrong."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            return int(app(arguments, prog_name="fiberscope", standalone_mode=False) or 0)
        except _ClickError as error:
            return _complain(_usage(error), BAD_INPUT)
        except FailedRunError as error:
            return _complain(str(error), MACHINE_WRONG)
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except MemoryError:
            return _complain("out of memory; try a smaller matrix", BAD_INPUT)
        except ValueError as error:
            if not _is_input_error(error):
                raise
            return _complain(str(error), BAD_INPUT)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as one line; the signature is that of ``warnings.showwarning``."""
    print(f"fiberscope: warning: {message}", file=sys.stderr)


def _complain(message: str, code: int) -> int:
    """Say what was wrong; bad input is one line, whatever characters it holds."""
    if code == BAD_INPUT:
        message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"fiberscope: {message}", file=sys.stderr)
    return code


def _usage(error: Exception) -> str:
    message = getattr(error, "format_message", error.__str__)()
    return f"{' '.join(str(message).split()).rstrip('.')}; see fiberscope --help"


def _is_input_error(error: ValueError) -> bool:
    from accelerators import ConfigurationError
    from workloads import WorkloadError

    return isinstance(error, InputError | ConfigurationError | WorkloadError)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: _Version = False,
) -> None:
    """Simulate sparse tensor accelerators, cycle by cycle.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote
      fiberscope sim gamma my_matrix.mtx --set pe.count=64 --json out.json
      fiberscope list
      fiberscope info gamma
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def sim(
    accelerator: _Accelerator,
    matrix: _Matrix,
    b: _SecondMatrix = None,
    settings: _Settings = None,
    config: _Config = None,
    json: _Json = None,
    vcd: _Vcd = None,
    vcd_window: _VcdWindow = None,
    vcd_scope: _VcdScope = None,
    vcd_trigger: _VcdTrigger = None,
    vcd_cycles: _VcdCycles = None,
    vcd_plain: _VcdPlain = False,
    exact: _Exact = False,
    histograms: _Histograms = False,
    cycle_limit: _CycleLimit = None,
    quiet: _Quiet = False,
) -> int:
    """Simulate A times A, or A times B, on an accelerator; the product is verified against scipy.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --set pe.count=64 --set fibercache.size=1MiB
      fiberscope sim gamma a.mtx --b b.mtx --json out.json
      fiberscope sim gamma uniform:rows=1000,cols=1000,nonzeros=5000
      fiberscope sim gamma wiki-Vote --vcd out.vcd --vcd-window 1000:5000
      fiberscope sim gamma wiki-Vote --vcd out.fst --vcd-trigger 'pe00 busy > 99'
    """
    from fiberscope.commands import sim as run_command

    return run_command.run(
        run_command.Request(
            accelerator=accelerator,
            a=matrix,
            b=b,
            settings=settings or [],
            config=config,
            json=json,
            vcd=vcd,
            vcd_window=vcd_window,
            vcd_scopes=vcd_scope or [],
            vcd_trigger=vcd_trigger,
            vcd_cycles=vcd_cycles,
            vcd_plain=vcd_plain,
            exact=exact,
            histograms=histograms,
            cycle_limit=cycle_limit,
            quiet=quiet,
        )
    )


@app.command()
def compare(
    accelerator: _Accelerator,
    matrices: Annotated[list[str] | None, typer.Argument(help="Published matrices; all by default.")] = None,
    settings: _Settings = None,
    surrogates: Annotated[
        bool, typer.Option("--surrogates", help="Take surrogates for matrices that cannot be had.")
    ] = False,
    markdown: _Markdown = False,
    json: _Json = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tables into this page, between its markers."),
    ] = None,
) -> int:
    """Compare an accelerator with what was published of it.

    Runs the published matrices with the options of the published runs, with both models of memory.

    \b
    Examples:
      fiberscope compare gamma
      fiberscope compare gamma wiki-Vote --set memory.refresh=off
      fiberscope compare gamma --write docs/accuracy.md
    """
    from fiberscope.commands import compare as compare_command

    request = compare_command.Request(
        accelerator, matrices or [], settings or [], surrogates, markdown, json, write
    )
    return compare_command.run(request)


@app.command()
def ablate(
    accelerator: _Accelerator,
    matrix: _Matrix,
    b: _SecondMatrix = None,
    settings: _Settings = None,
    markdown: _Markdown = False,
    json: _Json = None,
) -> int:
    """Find what holds an accelerator back: parts made ideal one at a time, then all; mechanisms taken away.

    \b
    Examples:
      fiberscope ablate gamma wiki-Vote
      fiberscope ablate gamma wiki-Vote --set reorder=affinity
    """
    from fiberscope.commands import ablate as ablate_command

    return ablate_command.run(ablate_command.Request(accelerator, matrix, b, settings or [], markdown, json))


@app.command(name="list")
def list_() -> None:
    """List the accelerators and the known matrices."""
    from fiberscope.commands import catalogue

    catalogue.show_all()


@app.command()
def info(name: Annotated[str, typer.Argument(help="An accelerator or a matrix.")]) -> None:
    """Describe an accelerator or a matrix.

    Of an accelerator every parameter with its default, unit and source; of a matrix what the registry says.

    \b
    Examples:
      fiberscope info gamma
      fiberscope info wiki-Vote
    """
    from fiberscope.commands import catalogue

    catalogue.show_one(name)


@app.command()
def wave(vcd: Annotated[Path, typer.Argument(metavar="FILE", help="A waveform written with --vcd.")]) -> None:
    """Open a waveform in GTKWave.

    The save file beside it, of the same name with .gtkw, gives the groups, names and formats.

    \b
    Example:
      fiberscope wave out.vcd
    """
    from fiberscope.commands import wave as wave_command

    wave_command.show(vcd)


@app.command()
def plot(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report written with --json.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A .png or .svg file.")
    ] = None,
) -> None:
    """Draw a report: where cycles went, traffic, both over time, how full channels were.

    The last only if the run was made with --histograms. Needs matplotlib: pip install 'fiberscope[plots]'.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --histograms --json out.json
      fiberscope plot out.json
      fiberscope plot out.json -o out.svg
    """
    from fiberscope.commands import reports as report_command

    report_command.show_pictures(report, output)


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A report written with --json.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one.")],
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all changes here; - for the terminal.")
    ] = None,
) -> None:
    """Say what changed between two runs, the largest effects first.

    \b
    Examples:
      fiberscope diff before.json after.json
      fiberscope diff before.json after.json --json changes.json
    """
    from fiberscope.commands import reports as report_command

    report_command.show_difference(before, after, json)
