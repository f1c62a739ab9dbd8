"""``fiberscope debug``: a run under the debugger."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import Accelerator, Operands
from fiberscope.commands.run_options import SimulationOptions, debugger_page, exit_code, page_title
from fiberscope.results.errors import FailedRunError
from fiberscope.results.report.files import STANDARD_OUTPUT, operand_files, read_text

if TYPE_CHECKING:
    from rich.console import Console

    from fiberscope.run.debug.session import Session

__all__ = ["Script", "debug", "hold", "script_lines"]

Script = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read the commands from here; '-' is standard input."),
]
_Snapshots = Annotated[
    int, typer.Option(metavar="N", min=0, help="Copies of the machine to keep for going back.")
]
_SnapshotMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Memory for these copies, for example 4GiB; half of all by default."),
]
STANDARD_INPUT = "standard input"  # in messages
_WAVES = "the debugger writes a waveform from a cycle on: its command 'wave FILE [N]'"
_TIMELINES = "the debugger writes a timeline from a cycle on: its command 'timeline FILE [N]'"


@expand_groups(
    **dict.fromkeys(("vcd", "vcd_window", "vcd_scope", "vcd_trigger", "vcd_cycles", "vcd_plain"), _WAVES),
    **dict.fromkeys(("timeline", "perfetto", "timeline_window"), _TIMELINES),
    memory_trace="the debugger goes back, and a trace of memory's requests does not",
    product="the debugger writes no product; 'fiberscope sim' does",
)
def debug(
    accelerator: Accelerator,
    operands: Operands,
    asked: SimulationOptions,
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
    from fiberscope.base.operand_arguments import operands_of
    from fiberscope.run.debug.api import requested_run
    from fiberscope.run.debug.session import Session
    from fiberscope.run.find_machine import specification_of

    factors, tensors = operands_of(asked.take_symbols(specification_of(accelerator), operands))
    asked.check({}, operand_files({**dict(zip("AB", factors, strict=False)), **tensors}))
    lines = script_lines(script)
    arguments = {"settings": asked.entries(), "config": asked.config, "exact": asked.exact}
    limit = None if snapshot_memory is None else SIZE.read(snapshot_memory, "--snapshot-memory")
    run = requested_run(accelerator, factors, tensors, **arguments)
    options = _run_options(asked)
    page = debugger_page(asked.live, page_title(run))
    with page as show, Session(run, options, snapshots, limit) as session, show(session):
        return hold(session, asked.json, script, lines)


def script_lines(script: Path | None) -> list[str] | None:
    """Return the lines of a script; None where they come from standard input."""
    return None if script is None or script == STANDARD_OUTPUT else read_text(script).splitlines()


def _run_options(asked: SimulationOptions) -> dict[str, Any]:
    """The options of the run itself."""
    from fiberscope.accelerators.user_parts import parse_parts

    names = ("histograms", "checked", "cycle_limit")
    options = {name: getattr(asked, name) for name in names if getattr(asked, name)}
    if asked.part:
        options["parts"] = parse_parts(asked.part)
    return options


def hold(session: Session, json: Path | None, script: Path | None, lines: list[str] | None) -> int:
    """Hold a session to its end, and write the report that is asked for; return the exit code."""
    from fiberscope.commands.report_output import report_delivery

    console = _console()
    if lines is None and script is None and sys.stdin is not None and sys.stdin.isatty():
        _converse(session, console)
    else:
        _follow(
            session,
            console,
            STANDARD_INPUT if lines is None else str(script),
            sys.stdin if lines is None else lines,
        )
    if json is None:
        return 0
    with report_delivery(json, quiet=True) as deliver:
        report = session.report()
    deliver(report)
    return exit_code(report)


def _console() -> Console:
    from rich.console import Console

    from fiberscope.run.debug.shown import WIDTH

    width = None if sys.stdout is not None and sys.stdout.isatty() else WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)


def _follow(session: Session, console: Console, source: str, lines: object) -> None:
    """Execute the lines of a script up to its end.

    Raises:
        InputError: a line is no command; has the file and the number of the line.
    """
    from fiberscope.run.debug.interpreter import Quit

    for number, line in enumerate(lines, 1):  # type: ignore[arg-type,var-annotated]
        try:
            _execute(session, console, line)
        except Quit:
            return
        except ValueError as error:
            raise InputError(f"{source}:{number}: {error}") from error


def _execute(session: Session, console: Console, line: str) -> None:
    from fiberscope.results.report.summary import show
    from fiberscope.run.debug.interpreter import execute
    from fiberscope.run.debug.shown import Shown

    answer = execute(session, line)
    if isinstance(answer, Shown):
        answer.show(console)
    elif answer is not None:
        show(answer, console)


def _converse(session: Session, console: Console) -> None:
    """Execute what is typed until the session is ended; a wrong line costs a line."""
    from fiberscope.run.debug.interpreter import Quit

    for line in _typed(session):
        try:
            _execute(session, console, line)
        except Quit:
            return
        except (ValueError, FailedRunError) as error:
            console.print(str(error), soft_wrap=True)
        except KeyboardInterrupt:
            console.print("interrupted")


def _typed(session: Session) -> Iterator[str]:
    """The lines that are typed, with history and completion where prompt_toolkit is installed."""
    ask: Callable[[str], str]
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
    except ModuleNotFoundError:
        ask = input
    else:
        from fiberscope.run.debug.interpreter import completions

        class NameCompleter(Completer):
            """Completes commands and the names of this machine."""

            names = session.names()

            def get_completions(self, document: Any, _event: object) -> Iterator[Any]:  # noqa: ANN401
                line = document.text_before_cursor
                for choice in completions(self.names, line):
                    yield Completion(choice, start_position=-len(line.rpartition(" ")[2]))

        prompt: Any = PromptSession(completer=NameCompleter(), complete_while_typing=False)
        ask = prompt.prompt
    while True:
        try:
            yield ask(f"{session.cycle:,}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
