"""Option groups of the commands that run a simulation or model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from fiberscope.base.errors import INTERRUPTED, InputError
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.commands.option_groups import Needs, Options
from fiberscope.commands.options import Config, Exact, Json, Live, Parts, Quiet, Settings
from fiberscope.commands.report_output import report_delivery
from fiberscope.commands.waveform_size import add_size_warning
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs

if TYPE_CHECKING:
    from fiberscope.accelerators.yaml_layer import Entry
    from fiberscope.page.live.run import LiveRun
    from fiberscope.results.recording.files import StateFiles
    from fiberscope.results.recording.waveform import Waveform
    from fiberscope.results.report.document import Report
    from fiberscope.run.debug.session import Session
    from fiberscope.run.request import RunRequest

_Files: TypeAlias = "Mapping[str, Path | None]"
_NEEDS_VCD = Needs("vcd", "--vcd FILE, the waveform to write")


class WaveformOptions(Options):
    """Options of a command that can write a waveform."""

    vcd: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a waveform to this .vcd or .fst file.")
    ] = None
    vcd_window: Annotated[
        str | None,
        typer.Option(metavar="START:END", help="Record only these cycles, without cycle END."),
        _NEEDS_VCD,
    ] = None
    vcd_scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Record only these components, for example 'pe0[0-3]'; repeatable."
        ),
        _NEEDS_VCD,
    ] = None
    vcd_trigger: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="Start recording when this holds, for example 'pe07 input_stall > 100'."
        ),
        _NEEDS_VCD,
    ] = None
    vcd_cycles: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Record at most this number of cycles."), _NEEDS_VCD
    ] = None
    vcd_plain: Annotated[
        bool,
        typer.Option(
            "--vcd-plain", help="Write texts as numbers with a table, for viewers other than GTKWave."
        ),
        _NEEDS_VCD,
    ] = False

    def waveform(self) -> Waveform | None:
        """Return the requested waveform, or None.

        Raises:
            InputError: the window is invalid.
        """
        from fiberscope.results.recording.waveform import Waveform

        if self.vcd is None:
            return None
        window, scopes = _parse_window("--vcd-window", self.vcd_window), self.vcd_scope or ()
        return Waveform(self.vcd, window, scopes, self.vcd_trigger, self.vcd_cycles, not self.vcd_plain)


class ReportOptions(Options):
    """Options of a command with a report."""

    settings: Settings = None
    config: Config = None
    json: Json = None
    product: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the result to this .npz, .npy, .mtx or .tns file."),
    ] = None
    exact: Exact = False
    quiet: Quiet = False

    def check(self, outputs: _Files, inputs: _Files) -> None:
        """Check before any work that outputs can be written and overwrite no input.

        Args:
            outputs, inputs: files besides those of this group, by their names in messages.

        Raises:
            InputError: a file cannot be written, would overwrite an input, or has an unknown ending.
        """
        config = {"the file of --config": self.config, **self._list_setting_files()}
        check_outputs({"the report": self.json, "the product": self.product, **outputs}, {**inputs, **config})
        if self.product is not None:
            from fiberscope.results.report.product import check_product

            check_product(self.product)

    def _list_setting_files(self) -> dict[str, Path]:
        """Return the existing files that ``--set KEY=FILE`` names, such as a table of energies.

        The kinds of settings are unknown here: any value that is the path of a file counts.
        """
        settings = (setting.partition("=") for setting in self.settings or ())
        return {f"the file of --set {key}": Path(value) for key, _, value in settings if isfile(value)}

    def take_symbols(self, specification: str, arguments: Sequence[str]) -> list[str]:
        """Move symbol assignments (``a=2``) from the operands to the settings; return the operands.

        Args:
            specification: the specification of the symbols; empty for a machine without one.
            arguments: the operands and symbol assignments on the command line.

        Raises:
            ConfigurationError: there is no such specification.
            InputError: ``--set`` also sets a symbol.
        """
        if not specification:
            return list(arguments)
        from fiberscope.models.trace.source import split_symbols

        operands, settings = split_symbols(specification, arguments)
        for name in (setting.partition("=")[0] for setting in settings):
            if name in self.entries():
                raise InputError(f"{name} is given twice, with --set and without; leave one out")
        self.settings = [*(self.settings or []), *settings]
        return operands

    def write_product(self, report: Report) -> None:
        """Write the requested product of the run; an incomplete run has none, which a warning says.

        Raises:
            InputError: the file cannot be written.
        """
        if self.product is not None and not report.complete:
            print("fiberscope: no product, as the run is incomplete", file=sys.stderr)
        elif self.product is not None:
            from fiberscope.results.report.product import write_product

            write_product(self.product, report.result)
            if not self.quiet and self.json != STANDARD_OUTPUT:
                print(f"Product: {self.product}")

    def entries(self) -> dict[str, Entry]:
        """Return the settings by dotted key."""
        from fiberscope.accelerators.configuration import parse_settings

        return parse_settings(self.settings or [])


class SimulationOptions(WaveformOptions, ReportOptions):
    """Options of a command that simulates components: a machine, a conversion or a graph."""

    timeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the states of all components over time, for 'fiberscope page'."
        ),
    ] = None
    perfetto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the states over time for the Perfetto viewer.")
    ] = None
    timeline_window: Annotated[
        str | None,
        typer.Option(metavar="START:END", help="Cycles in --timeline and --perfetto, without cycle END."),
    ] = None
    memory_trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all memory requests, for 'fiberscope memory replay'."),
    ] = None
    part: Parts = None
    histograms: Annotated[
        bool, typer.Option("--histograms", help="Count how full each channel is, for 'fiberscope plot'.")
    ] = False
    checked: Annotated[
        bool, typer.Option("--checked", help="Check that every memory request is inside its tensor; slower.")
    ] = False
    cycle_limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop after this number of cycles, with an incomplete report."),
    ] = None
    energy: Annotated[
        bool, typer.Option("--energy", help="Show energy (pJ) and area (um2) by part and action.")
    ] = False
    live: Live = None

    def simulate(
        self,
        make_request: Callable[..., RunRequest],
        inputs: _Files,
        command_settings: Mapping[str, object] | None = None,
        **run_options: object,
    ) -> Report:
        """Run, output the report, write the requested product, and return the report.

        Outputs are checked before the request is built. The report of a failed run is output too.

        Args:
            make_request: a function that builds the request from settings, config and exact.
            inputs: the files that the run reads, by their names in messages.
            command_settings: settings of the command itself, which override those of ``--set``.
            run_options: further options of the run. Options that are not set are not passed to it.
        """
        from fiberscope.accelerators.user_parts import parse_parts
        from fiberscope.commands.progress import progress_display

        waveform = self.waveform()
        self.check(self._list_outputs(), inputs)
        states = self._list_state_files()
        names = ("memory_trace", "histograms", "checked", "cycle_limit")
        options: dict[str, object] = {
            "parts": parse_parts(self.part or []),
            "waveform": waveform,
            "timeline": states,
            **run_options,
        }
        options |= {name: getattr(self, name) for name in names}
        settings = {**self.entries(), **(command_settings or {})}
        request = make_request(settings=settings, config=self.config, exact=self.exact)
        with self._open_live_run(request) as live:
            with (
                report_delivery(self.json, self.quiet, self.vcd, states) as deliver,
                progress_display(self.quiet) as callback,
            ):
                progress = add_size_warning(callback, waveform)  # None for a quiet run
                options |= (
                    {"progress": progress}
                    if live is None
                    else live.run_options(progress, request.drive_options)
                )
                report = request.run(**{name: value for name, value in options.items() if value})
            if live is not None:
                live.show_result(report)
            deliver(report)  # outside of the display, whose bars are gone
            self.write_product(report)
        return report

    def _open_live_run(self, run: RunRequest) -> AbstractContextManager[LiveRun | None]:
        """Return a context with the live view of a run; the context yields None without ``--live``.

        Raises:
            InputError: the errors of ``LiveView``, or an output that only one process can write.
        """
        if self.live is None:
            return nullcontext()
        if self.memory_trace is not None:
            raise InputError("--live: not with --memory-trace, which one process writes; leave one out")
        from fiberscope.page.live.run import open_live_run

        return open_live_run(
            self.live, format_page_title(run), quiet=self.quiet or self.json == STANDARD_OUTPUT
        )

    def finish(self, report: Report) -> int:
        """Print the requested energies of a run, unless its JSON is printed; return the exit code."""
        if self.energy and self.json != STANDARD_OUTPUT:
            from fiberscope.commands.output import show
            from fiberscope.results.report.costs_table import build_costs_tables

            show(build_costs_tables(report), markdown=False)
        return exit_code(report)

    def _list_outputs(self) -> _Files:
        """Return the files of the waveform, memory trace and states, by their names in messages."""
        from fiberscope.results.recording.waveform import list_files

        files = {"the memory trace": self.memory_trace, **(list_files(self.vcd) if self.vcd else {})}
        return {**files, "the timeline": self.timeline, "the trace for Perfetto": self.perfetto}

    def _list_state_files(self) -> StateFiles | None:
        """Return the files of component states.

        Raises:
            InputError: a window has no file or is invalid, or a library is missing.
        """
        from fiberscope.results.recording.files import state_files

        window = _parse_window("--timeline-window", self.timeline_window)
        return state_files(self.timeline, self.perfetto, window)


def format_page_title(run: RunRequest) -> str:
    """Return the title of the page of a run: the machine, and its operands in order or by name."""
    operands = [*filter(None, run.factors), *(f"{name}={tensor}" for name, tensor in run.tensors.items())]
    return f"{getattr(run.machine, 'name', run.machine)} on {', '.join(map(str, operands))}"


def open_debugger_page(
    port: str | None, title: str
) -> AbstractContextManager[Callable[[Session], AbstractContextManager[object]]]:
    """Return a context that yields a function, which returns the context of the live page of a session.

    Args:
        port: the value of ``--live``; None for no page.
        title: the title of the page.

    Raises:
        InputError: the errors of ``LiveView``.
    """
    if port is None:
        return nullcontext(nullcontext)  # yields the class, which makes a context without effect
    from fiberscope.page.live.session import open_live_debugger

    return open_live_debugger(port, title)


def exit_code(report: Report) -> int:
    """Return the exit code of a command with this report: 0 unless the run was interrupted.

    A run that reached its cycle limit has also done what was asked. Failed runs raise errors instead.
    """
    return INTERRUPTED if report.ending == "interrupted" else 0


def _parse_window(option: str, text: str | None) -> tuple[int, int] | None:
    """Parse ``START:END``, a range of cycles without its end, as the value of an option.

    Raises:
        InputError: the text has another form, or the range is empty.
    """
    if text is None:
        return None
    start, end = (read_whole_number(cycle) for cycle in text.partition(":")[::2])
    if start is None or end is None or start >= end:
        raise InputError(f"{option} {text}: write it as START:END in cycles, for example 1000:5000")
    return start, end
