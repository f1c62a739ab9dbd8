"""``fiberscope debug``: a run in the debugger."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import Accelerator, Operands
from fiberscope.commands.run_options import (
    SimulationOptions,
    exit_code,
    format_page_title,
    open_debugger_page,
)
from fiberscope.results.errors import FailedRunError
from fiberscope.results.report.files import STANDARD_OUTPUT, list_operand_files, read_text

if TYPE_CHECKING:
    from rich.console import Console

    from fiberscope.run.debug.session import Session

Script = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Read the commands from here; '-' is standard input.")
]
_Snapshots = Annotated[
    int, typer.Option(metavar="N", min=0, help="Copies of the machine to keep for going back.")
]
_SnapshotMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Memory for these copies, for example 4GiB; half of all by default."),
]
STANDARD_INPUT = "standard input"  # its name in messages
_WAVE_ADVICE = "the debugger writes a waveform from a cycle on: its command 'wave FILE [N]'"
_TIMELINE_ADVICE = "the debugger writes a timeline from a cycle on: its command 'timeline FILE [N]'"


@expand_groups(
    **dict.fromkeys(
        ("vcd", "vcd_window", "vcd_scope", "vcd_trigger", "vcd_cycles", "vcd_plain"), _WAVE_ADVICE
    ),
    **dict.fromkeys(("timeline", "perfetto", "timeline_window"), _TIMELINE_ADVICE),
    memory_trace="the debugger goes back, and a trace of memory's requests does not",
    product="the debugger writes no product; 'fiberscope sim' does",
)
def debug(
    accelerator: Accelerator,
    operands: Operands,
    options: SimulationOptions,
    script: Script = None,
    snapshots: _Snapshots = 16,
    snapshot_memory: _SnapshotMemory = None,
) -> int:
    """Run a simulation in steps: stop it, look at its parts, and go back.

    Commands come from the keyboard, from a script, or from standard input; 'help' lists them. A graph's file
    or a conversion ('convert csr csc') may stand in the place of an accelerator.

    \b
    Examples:
      fiberscope debug gamma wiki-Vote --live
      fiberscope debug gamma wiki-Vote --script examples/debugger/stall.txt --json out.json
    """
    from fiberscope.accelerators.quantities import SIZE
    from fiberscope.base.operand_arguments import split_operands
    from fiberscope.run.debug.api import build_request
    from fiberscope.run.debug.session import Session
    from fiberscope.run.find_machine import find_specification

    factors, tensors = split_operands(options.take_symbols(find_specification(accelerator), operands))
    # Not strict: ``build_request`` refuses more than two operands.
    options.check({}, list_operand_files({**dict(zip("AB", factors, strict=False)), **tensors}))
    lines = read_script_lines(script)  # a script that cannot be read is an error before the machine is built
    arguments = {"settings": options.entries(), "config": options.config, "exact": options.exact}
    snapshot_bytes = None if snapshot_memory is None else SIZE.read(snapshot_memory, "--snapshot-memory")
    request = build_request(accelerator, factors, tensors, **arguments)
    run_options = _collect_run_options(options)
    page = open_debugger_page(options.live, format_page_title(request))
    with (
        page as page_of,
        Session(request, run_options, snapshots, snapshot_bytes) as session,
        page_of(session),
    ):
        return run_session(session, options.json, script, lines)


def read_script_lines(script: Path | None) -> list[str] | None:
    """Return the lines of a script; None without a script, and for ``-``, which is standard input.

    Raises:
        InputError: the script cannot be read.
    """
    # The constant is the path ``-``, which names standard input where a file is read.
    return None if script is None or script == STANDARD_OUTPUT else read_text(script).splitlines()


def _collect_run_options(options: SimulationOptions) -> dict[str, Any]:
    """Return the requested options of the run by name."""
    from fiberscope.accelerators.user_parts import parse_parts

    names = ("histograms", "checked", "cycle_limit")
    arguments = {name: getattr(options, name) for name in names if getattr(options, name)}
    if options.part:
        arguments["parts"] = parse_parts(options.part)
    return arguments


def run_session(session: Session, json: Path | None, script: Path | None, lines: list[str] | None) -> int:
    """Run a session to its end, and write the requested report; return the exit code.

    Args:
        json: the file of the report, if any; ``-`` prints it.
        script: the script as the user named it, for errors; None without a script.
        lines: the lines of the script; None for standard input, which may be a terminal.

    A prompt, which continues after errors, needs a terminal and no script. In a script, also ``--script -``
    at a terminal, the first error ends the session.

    Raises:
        InputError: a line of a script is invalid, or the report cannot be written.
        FailedRunError: the machine failed, in a script or for the report. At a prompt, failures are printed.
    """
    from fiberscope.commands.report_output import report_delivery

    console = _build_console()
    if lines is None and script is None and sys.stdin is not None and sys.stdin.isatty():
        _run_prompt(session, console)
    else:
        _run_script(
            session,
            console,
            STANDARD_INPUT if lines is None else str(script),
            (sys.stdin or ()) if lines is None else lines,
        )
    if json is None:
        return 0
    # If the run has failed, the context itself delivers the report of the error.
    with report_delivery(json, quiet=True) as deliver:
        report = session.report()
    deliver(report)
    return exit_code(report)


def _build_console() -> Console:
    """Return the console of standard output; outside of a terminal, it has ``WIDTH`` columns."""
    from rich.console import Console

    from fiberscope.run.debug.shown import WIDTH

    width = None if sys.stdout is not None and sys.stdout.isatty() else WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)


def _run_script(session: Session, console: Console, source: str, lines: Iterable[str]) -> None:
    """Execute the lines of a script.

    Raises:
        InputError: a line is invalid; the message has the file and the line number.
    """
    from fiberscope.run.debug.interpreter import Quit

    for number, line in enumerate(lines, 1):
        try:
            _execute(session, console, line)
        except Quit:
            return
        except ValueError as error:
            raise InputError(f"{source}:{number}: {error}") from error


def _execute(session: Session, console: Console, line: str) -> None:
    """Execute a debugger command, and print its answer: a view or a report."""
    from fiberscope.results.report.summary import show
    from fiberscope.run.debug.interpreter import execute
    from fiberscope.run.debug.shown import Shown

    answer = execute(session, line)
    if isinstance(answer, Shown):
        answer.show(console)
    elif answer is not None:
        show(answer, console)


def _run_prompt(session: Session, console: Console) -> None:
    """Execute typed commands until the session ends; errors are printed."""
    from fiberscope.run.debug.interpreter import Quit

    for line in _read_lines(session):
        try:
            _execute(session, console, line)
        except Quit:
            return
        except (ValueError, FailedRunError) as error:
            console.print(str(error), soft_wrap=True)
        except KeyboardInterrupt:
            console.print("interrupted")


def _read_lines(session: Session) -> Iterator[str]:
    """Yield typed lines, with history and completion if prompt_toolkit is installed."""
    ask: Callable[[str], str]
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
    except ModuleNotFoundError:
        ask = input
    else:
        from fiberscope.run.debug.interpreter import completions

        class NameCompleter(Completer):
            """A completer of commands and of the names of this machine."""

            names = session.names()

            def get_completions(self, document: Any, _event: object) -> Iterator[Any]:  # noqa: ANN401
                line = document.text_before_cursor
                for choice in completions(self.names, line):
                    # A choice replaces the last word of the line
                    yield Completion(choice, start_position=-len(line.rpartition(" ")[2]))

        prompt: Any = PromptSession(completer=NameCompleter(), complete_while_typing=False)
        ask = prompt.prompt
    while True:
        try:
            yield ask(f"{session.cycle:,}> ")
        except KeyboardInterrupt:  # Ctrl-C discards the line
            continue
        except EOFError:  # Ctrl-D ends the session
            return
