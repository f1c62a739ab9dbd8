"""Entry of the command ``fiberscope``: registers commands, and converts errors to messages and exit codes.

Exit codes:

- 0: the command ended; a run with a cycle limit may be incomplete.
- 1: a defect of the program, with a traceback.
- 2: bad input, with a one-line message.
- 3: the simulated machine failed, RTL differs from its model, a proof failed, or a rerun differs.
- 4: a sweep or suite has failed points.
- 130: an interrupt by Ctrl-C or a terminating signal.
- 141, without a message: the reader of the output has closed it.

Heavy modules are imported within commands so that ``--help`` is fast.
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

from fiberscope.base.collector import COLLECTION_THRESHOLD
from fiberscope.base.errors import (
    BAD_INPUT,
    INTERRUPTED,
    MACHINE_WRONG,
    OUTPUT_CLOSED,
    InputError,
    InterruptedCommandError,
)
from fiberscope.base.extras import find_extra_hint
from fiberscope.base.interrupts import interrupt_on_termination
from fiberscope.base.outputs import expect_outputs, list_unwritten_outputs
from fiberscope.base.text_encoding import ESCAPE_HANDLER
from fiberscope.base.version import __version__
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.commands.group import lazy_group
from fiberscope.results.errors import FailedRunError

CLOSED_OUTPUT = 1  # click's exit code if the reader has closed the output
MIN_COLUMNS = 40  # minimum width of tables; a terminal may report 0

# ClickException, the base class of all errors of click; its module depends on the version of typer.
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


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"fiberscope {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
]


def configure_process() -> None:
    """Set up the process of a command. Call this before libraries are imported, as it sets their environment.

    Garbage collection is rarer, and skipped at exit except with DuckDB, which saves some percent of the time.
    Standard output and standard error escape characters that their encoding lacks. Tables have at least
    ``MIN_COLUMNS``. OpenBLAS gets one thread, and pydantic no plugins, unless the environment has a setting.
    """
    gc.set_threshold(COLLECTION_THRESHOLD)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        cast(TextIOWrapper, stream).reconfigure(errors=ESCAPE_HANDLER)
    atexit.register(_skip_final_collection)
    if _columns() < MIN_COLUMNS:
        os.environ["COLUMNS"] = str(MIN_COLUMNS)  # used by tables, bars and help
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle threads would spin
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # avoids a scan of all libraries


def _columns() -> int:
    """Return the columns by the variable ``COLUMNS``, else of the terminal, else ``MIN_COLUMNS``."""
    columns = read_whole_number(os.environ.get("COLUMNS", ""))
    if columns is not None:
        return columns
    for descriptor in range(3):  # standard input, output and error
        with suppress(OSError):
            return os.get_terminal_size(descriptor).columns or MIN_COLUMNS
    return MIN_COLUMNS


def _skip_final_collection() -> None:
    """Skip the final garbage collection, except with DuckDB, which would report leaks."""
    if "duckdb" not in sys.modules:
        gc.freeze()  # moves all objects to a generation that no collection visits


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; print errors to stderr and return the exit code.

    Warnings are printed to stderr, one line each.

    Args:
        arguments: the words after ``fiberscope``; None for those of this process.

    Raises:
        SystemExit: with any code other than ``CLOSED_OUTPUT``; a command raised it.
        Exception: any error that the user cannot correct, a defect of the program.
    """
    with warnings.catch_warnings(), interrupt_on_termination(), expect_outputs():
        warnings.showwarning = _print_warning
        try:
            # A command returns its exit code, or None for 0.
            code = int(_build_parser()(arguments, prog_name="fiberscope", standalone_mode=False) or 0)
            # An output that is closed or full has to fail here, not at exit.
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        # The order matters: most of the next errors are subclasses of Exception, the last case.
        except FailedRunError as error:
            return _print_error(str(error), MACHINE_WRONG)
        except (InterruptedCommandError, KeyboardInterrupt, typer.Abort) as error:
            return _print_error(_interrupt_message(error), INTERRUPTED)
        except BrokenPipeError:  # as in `fiberscope list | head`
            _discard_output()
            return OUTPUT_CLOSED
        except SystemExit as exit_:  # typer exits for EPIPE, even with standalone_mode=False
            if exit_.code != CLOSED_OUTPUT:
                raise
            return OUTPUT_CLOSED
        except Exception as error:
            message = _input_error_message(error)
            if message is None:
                raise
            return _print_error(message, BAD_INPUT)


def _interrupt_message(error: BaseException) -> str:
    """Return the message of an interrupted command.

    The message has the text of the error. For an error without text, it lists the expected outputs that are
    not written.
    """
    missing = ", ".join(map(str, list_unwritten_outputs()))
    reason = str(error) if error.args else missing and f"not written: {missing}"
    return f"interrupted; {reason}" if reason else "interrupted before the end"


def _input_error_message(error: Exception) -> str | None:
    """Return the message for an error that the user can correct; None for a defect of the program."""
    if isinstance(error, _ClickError):
        return _format_usage_error(error)
    if isinstance(error, MemoryError):
        return "out of memory; try a smaller matrix"
    if isinstance(error, OSError):
        return _system_error_message(error)
    if isinstance(error, ModuleNotFoundError):
        return find_extra_hint(error)
    # From int() of a text, or str() of a number, with more digits than Python's limit.
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return f"a number of more than {sys.get_int_max_str_digits():,} digits; give a smaller one"
    return str(error) if isinstance(error, ValueError) and _is_input_error(error) else None


def _system_error_message(error: OSError) -> str:
    """Return the message for an operating system error; if the output is at fault, discard further output.

    An error without a file is taken to concern the temporary folder if it is ENOENT, else the output.
    """
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason}"
    if error.errno == errno.ENOENT:  # raised by tempfile, which found no temporary folder
        return f"{reason}; name a folder with room in TMPDIR"
    _discard_output()
    return f"the output cannot be written: {reason}"


def _discard_output() -> None:
    """Replace stdout by the null device, because Python flushes stdout again at exit.

    A stdout that a caller has replaced, as in tests, is unchanged.
    """
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@cache
def _build_parser() -> Callable[..., Any]:
    """Return the command line parser; cached for processes with many runs."""
    return typer.main.get_command(app)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line; the signature is that of ``warnings.showwarning``."""
    print(f"fiberscope: warning: {message}", file=sys.stderr)


def _print_error(message: str, code: int) -> int:
    """Print an error and return its exit code; the message of bad input is a single printable line."""
    if code == BAD_INPUT:  # repr writes an unprintable character as an escape, such as '\n'
        message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"fiberscope: {message}", file=sys.stderr)
    return code


def _format_usage_error(error: Exception) -> str:
    """Return a usage error as one line that names the help of the command."""
    message = getattr(error, "format_message", error.__str__)()
    context = getattr(error, "ctx", None)
    command = "fiberscope" if context is None else context.command_path
    line = " ".join(str(message).split()).rstrip(".")
    # A message that suggests another name ends with "Did you mean ...?" and stays a sentence.
    return f"{line} See {command} --help" if line.endswith("?") else f"{line}; see {command} --help"


def _is_input_error(error: ValueError) -> bool:
    from fiberscope.accelerators import ConfigurationError
    from fiberscope.workloads import WorkloadError

    return isinstance(error, InputError | ConfigurationError | WorkloadError)


@app.callback(invoke_without_command=True)
def _show_help(context: typer.Context, version: _Version = False) -> None:
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
