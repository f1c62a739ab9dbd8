"""The command ``fiberscope``: registers the commands, and makes of what they raise a line and an exit code.

Exit codes: 0; 2 for bad input, with one line that says what would be right; 3 when the simulated machine
went wrong; 4 for a sweep some of whose points failed; 130 when interrupted, be it by Ctrl-C or by a signal
that ends processes; 141, without a word, when nobody reads the output any more. Everything heavy is imported
inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any, TextIO, cast

import typer

from fiberscope.base.errors import (
    BAD_INPUT,
    INTERRUPTED,
    MACHINE_WRONG,
    UNREAD,
    InputError,
    InterruptedCommandError,
)
from fiberscope.base.extras import advice
from fiberscope.base.interrupts import terminations_interrupt
from fiberscope.base.outputs import expecting_outputs, unwritten_outputs
from fiberscope.base.text_encoding import ESCAPE_UNDECODABLE
from fiberscope.base.version import __version__
from fiberscope.commands.group import lazy_group
from fiberscope.results.errors import FailedRunError

__all__ = ["app", "execute", "reduce_overhead"]

PIPE_BROKEN = 1  # what click ends with where it sees that first
LEAST_COLUMNS = 40  # which tables are laid out for; a window may have none
YOUNG_OBJECTS = 200_000  # before Python looks for garbage: more than a run makes, most of it there to stay

# The base of all usage errors; where it lives depends on the version of typer.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]

COMMANDS = {
    "Run a machine, a specification or a graph": ("sim", "debug", "check", "model", "graph", "convert"),
    "Look at runs": ("report", "diff", "plot", "page", "wave", "rerun"),
    "Find bottlenecks and better designs": ("ablate", "compare", "search"),
    "Run many": ("sweep", "suite", "results"),
    "Choose mappings, tiles and formats": ("analyze", "map", "tile", "sage", "formats"),
    "Machines and matrices": ("list", "info", "profile", "new", "build"),
    "Hardware": ("rtl", "memory"),
    "Read on": ("help",),
}  # under their headings, each a module of fiberscope.commands

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fiberscope {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
]


def reduce_overhead() -> None:
    """Spare the process of one command some percent of its time; before libraries are imported."""
    gc.set_threshold(YOUNG_OBJECTS)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        cast(TextIOWrapper, stream).reconfigure(errors=ESCAPE_UNDECODABLE)
    atexit.register(_leave)
    if _columns() < LEAST_COLUMNS:
        os.environ["COLUMNS"] = str(LEAST_COLUMNS)  # what tables, bars and help are laid out by
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would spin without work
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # it would look into every library for them


def _columns() -> int:
    """Columns of the terminal, or what ``COLUMNS`` says; many where neither is known."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal():
        return int(said)
    for number in range(3):
        with suppress(OSError):
            return os.get_terminal_size(number).columns or LEAST_COLUMNS
    return LEAST_COLUMNS


def _leave() -> None:
    """Have what is left go with the process, unsearched; DuckDB would take it for leaks, and say so."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code, having said on stderr what was wrong."""
    with warnings.catch_warnings(), terminations_interrupt(), expecting_outputs():
        warnings.showwarning = _warn
        try:
            code = int(_commands()(arguments, prog_name="fiberscope", standalone_mode=False) or 0)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except FailedRunError as error:
            return _complain(str(error), MACHINE_WRONG)
        except (InterruptedCommandError, KeyboardInterrupt, typer.Abort) as error:
            return _complain(_interruption(error), INTERRUPTED)
        except BrokenPipeError:  # as of `fiberscope list | head`, who has seen enough
            _give_up_output()
            return UNREAD
        except SystemExit as ended:
            if ended.code != PIPE_BROKEN:
                raise
            return UNREAD
        except Exception as error:
            message = _mistake(error)
            if message is None:
                raise
            return _complain(message, BAD_INPUT)


def _interruption(error: BaseException) -> str:
    """Say what an interrupted command has not written: as its error says, or of the files it was to write."""
    missing = ", ".join(map(str, unwritten_outputs()))
    reason = str(error) if error.args else missing and f"not written: {missing}"
    return f"interrupted; {reason}" if reason else "interrupted before the end"


def _mistake(error: Exception) -> str | None:
    """Return the message for an error that the user can mend; None for a fault of the program."""
    if isinstance(error, _ClickError):
        return _usage(error)
    if isinstance(error, MemoryError):
        return "out of memory; try a smaller matrix"
    if isinstance(error, OSError):
        return _of_the_system(error)
    if isinstance(error, ModuleNotFoundError):
        return advice(error)
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return f"a number of more than {sys.get_int_max_str_digits():,} digits; give a smaller one"
    return str(error) if isinstance(error, ValueError) and _is_input_error(error) else None


def _of_the_system(error: OSError) -> str:
    """Return the message for an error of the system; without a file it concerns the output, now closed."""
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason}"
    if error.errno == errno.ENOENT:  # of Python's search for one
        return f"{reason}; name a folder with room in TMPDIR"
    _give_up_output()
    return f"the output cannot be written: {reason}"


def _give_up_output() -> None:
    """Replace stdout by a null device, since Python would flush it again at its end."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@cache
def _commands() -> Callable[..., Any]:
    """Return the command line parser, built once for a process of many runs."""
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
    context = getattr(error, "ctx", None)
    command = "fiberscope" if context is None else context.command_path
    line = " ".join(str(message).split()).rstrip(".")
    return f"{line} See {command} --help" if line.endswith("?") else f"{line}; see {command} --help"


def _is_input_error(error: ValueError) -> bool:
    from fiberscope.accelerators import ConfigurationError
    from fiberscope.workloads import WorkloadError

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
