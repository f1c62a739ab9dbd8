"""The command ``fiberscope``: registers the commands, and makes of what they raise a line and an exit code.

Exit codes: 0; 2 for bad input, with one line that says what would be right; 3 when the simulated machine
went wrong; 4 for a sweep some of whose points failed; 130 when interrupted, be it by Ctrl-C or by a signal
that ends processes. Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, NoReturn, TextIO

import typer

from fiberscope import __version__
from fiberscope.commands.ablate import ablate
from fiberscope.commands.analyze import analyze
from fiberscope.commands.check import check
from fiberscope.commands.compare import compare
from fiberscope.commands.convert import convert
from fiberscope.commands.diff import diff
from fiberscope.commands.formats import formats
from fiberscope.commands.graph import graph
from fiberscope.commands.info import info
from fiberscope.commands.list import list_
from fiberscope.commands.map import search_mapping
from fiberscope.commands.memory import memory
from fiberscope.commands.model import model
from fiberscope.commands.page import page
from fiberscope.commands.plot import plot
from fiberscope.commands.profile import profile
from fiberscope.commands.report import report
from fiberscope.commands.results import results
from fiberscope.commands.sage import sage
from fiberscope.commands.search import search
from fiberscope.commands.sim import sim
from fiberscope.commands.sweep import sweep
from fiberscope.commands.tile import tile
from fiberscope.commands.wave import wave
from fiberscope.errors import BAD_INPUT, INTERRUPTED, MACHINE_WRONG, FailedRunError, InputError
from fiberscope.interrupts import terminations_interrupt
from fiberscope.rtl.commands import rtl

__all__ = ["main", "run"]

YOUNG_OBJECTS = 100_000  # before Python looks for garbage; most of what is made is there to stay

# The base of all usage errors; where it lives depends on the version of typer.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="fiberscope",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fiberscope {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
]


def main() -> NoReturn:
    """Entry point of the console script."""
    _settle()
    sys.exit(run())


def _settle() -> None:
    """Spare the process of one command some percent of its time; before numpy is imported."""
    gc.set_threshold(YOUNG_OBJECTS)
    atexit.register(_leave)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would spin without work


def _leave() -> None:
    """Have what is left go with the process, unsearched; DuckDB would take it for leaks, and say so."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code, having said on stderr what was wrong."""
    with warnings.catch_warnings(), terminations_interrupt():
        warnings.showwarning = _warn
        try:
            return int(_commands()(arguments, prog_name="fiberscope", standalone_mode=False) or 0)
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


@cache
def _commands() -> Callable[..., Any]:
    """All commands, made of their signatures: most of the time of a short run, in a process of many."""
    return typer.main.get_command(app)


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


for _command in (
    sim,
    convert,
    sage,
    model,
    analyze,
    check,
    compare,
    formats,
    ablate,
    info,
    wave,
    report,
    plot,
    page,
    diff,
    profile,
    tile,
    sweep,
    results,
    search,
):
    app.command()(_command)
app.command("list")(list_)
app.command("map")(search_mapping)
app.add_typer(graph, name="graph")
app.add_typer(memory, name="memory")
app.add_typer(rtl, name="rtl")
