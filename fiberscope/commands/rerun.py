"""``fiberscope rerun``: repeat the run of a report, or the runs of an archive, and compare the results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import MACHINE_WRONG, InputError
from fiberscope.commands.debug import Script, read_script_lines, run_session
from fiberscope.commands.options import Json, Live, Quiet
from fiberscope.commands.report_output import report_delivery
from fiberscope.commands.run_options import exit_code, open_debugger_page
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs

_Report = Annotated[
    Path, typer.Argument(metavar="FILE", help="Report written with --json, or archive of a study.")
]
_Anyway = Annotated[bool, typer.Option("--anyway", help="Run even if the sources or operands have changed.")]

_To = Annotated[
    int | None,
    typer.Option("--to", metavar="CYCLE", min=0, help="Go to this cycle, and start the debugger there."),
]
_Workers = Annotated[
    int | None, typer.Option(min=1, help="Number of workers for an archive; one for each core by default.")
]


def rerun(
    file: _Report,
    anyway: _Anyway = False,
    to: _To = None,
    script: Script = None,
    live: Live = None,
    workers: _Workers = None,
    json: Json = None,
    quiet: Quiet = False,
) -> int:
    """Repeat a run, or the runs of an archive, and show what differs.

    The command, parameters and operands are those of the report. If the sources or an operand have changed
    since, the run is refused, except with --anyway. Relative paths start at the current folder. With --to,
    the run stops in a cycle and starts the debugger. Only for an archive, a difference gives an error exit
    code.

    \b
    Examples:
      fiberscope rerun out.json
      fiberscope rerun out.json --anyway --json again.json
      fiberscope rerun out.json --to 5000
      fiberscope rerun study.zip
    """
    from fiberscope.commands.diff import show_difference
    from fiberscope.commands.progress import progress_display
    from fiberscope.results.report.difference import compare
    from fiberscope.run.rerun import rerun as run_again

    check_outputs({"the report": json}, {"the report FILE": file})
    if _is_archive(file):
        if any(option is not None for option in (to, script, live, json)):
            advice = "--to, --script, --live and --json need a report of one run"
            raise InputError(f"{file}: an archive has several runs; {advice}")
        return _rerun_archive(file, workers, anyway, quiet)
    if workers is not None:
        raise InputError(
            f"{file}: --workers needs an archive, as this is the report of one run; leave it out"
        )
    if to is not None:
        return _open_in_debugger(file, to, script, live, anyway, json)
    _refuse_debugger_options(script, live)
    # A difference from the report is shown, but does not change the exit code.
    with report_delivery(json, quiet) as deliver, progress_display(quiet) as progress:
        before, after = run_again(file, progress, anyway=anyway)
    deliver(after)
    if not quiet and json != STANDARD_OUTPUT:
        print()
        show_difference(compare(before, after), before, after)
    return exit_code(after)


def _refuse_debugger_options(script: Path | None, live: str | None) -> None:
    """Raise an error for an option of the debugger, which a run to the end does not start."""
    if script is not None:
        raise InputError("--script needs --to CYCLE, because a script contains debugger commands")
    if live is not None:
        raise InputError("--live needs --to CYCLE, because its page shows the debugger")


def _is_archive(file: Path) -> bool:
    """Return whether a file is an archive: its name ends in ``.zip``, or its content is a zip file."""
    from zipfile import is_zipfile

    return file.suffix == ".zip" or is_zipfile(file)


def _open_in_debugger(
    file: Path, cycle: int, script: Path | None, live: str | None, anyway: bool, json: Path | None
) -> int:
    """Repeat the run of a report up to ``cycle``, start the debugger there, and return the exit code.

    Args:
        file: the report.
        cycle: the cycle in which the debugger starts.
        script: file of debugger commands; None for commands of the user.
        live: port of the live page; None for no page.
        anyway: whether to run even if the sources or operands have changed.
        json: file of the report of the repeated run.
    """
    from fiberscope.run.rerun import open_report_in_debugger

    # Before the run, so that a missing script is detected at once
    lines = read_script_lines(script)
    page = open_debugger_page(live, f"{file}, run again")
    with page as show, open_report_in_debugger(file, cycle, anyway=anyway) as session, show(session):
        print(session.info())
        return run_session(session, json, script, lines)


def _rerun_archive(file: Path, workers: int | None, anyway: bool, quiet: bool) -> int:
    """Repeat the runs of an archive, and print how they differ from the archived runs.

    With ``quiet``, only the last line is printed. Runs that had failed in the archive are not repeated, and
    do not count as different. Return ``MACHINE_WRONG`` if a run differs, else 0.
    """
    from fiberscope.commands.output import show
    from fiberscope.explore.sweeps.archive_rerun import rerun_archive
    from fiberscope.results.report.table import Table
    from fiberscope.results.store.archive import count_runs

    outcome = rerun_archive(file, workers=workers, anyway=anyway, quiet=quiet)
    if not quiet:
        columns = ["machine", "workload", "cycles", "cycles, repeated", "comparison"]
        runs = Table(f"Runs of {file.name}", columns)
        for run in outcome.runs:
            cycles = None if run.repeated is None else run.repeated["cycles"]
            machine, workload = run.archived["machine"], run.archived["workload"]
            comparison = f"differ: {', '.join(run.differences)}" if run.differences else "equal"
            repeated = "" if cycles is None else f"{cycles:,}"
            runs.add(machine, workload, f"{run.archived['cycles']:,}", repeated, comparison)
        show([runs], markdown=False)
    count, different = len(outcome.runs), len(outcome.different)
    failed = outcome.index.failed
    note = f"; not repeated: {count_runs(failed)} that failed" if failed else ""
    if different:
        print(f"Different: {different:,} of {count_runs(count)}{note}")
        return MACHINE_WRONG
    print(f"Equal: all numbers of {count_runs(count)}{note}")
    return 0
