"""Waveforms: the values of selected components and channels after each time step, as a VCD or FST file.

The same machine gives the same VCD file, byte for byte, for every order of ticks, with and without sleep.

A ``RecordingInterval`` decides in which base ticks the waveform is recorded, possibly with a ``Trigger``. The
``Tracer`` is what the kernel calls; it owns the file. From the first recorded cycle on, its ``Recorder``
writes the changes of each time step. A ``Landmark`` finds the time and the component at which viewers open.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fiberscope.sim.component import Component
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.kernel import Kernel
from fiberscope.sim.landmark import Landmark
from fiberscope.sim.recorder import Recorder
from fiberscope.sim.save_file import SAVE_FILE_ENDING, TABLE_ENDING, write_save_file
from fiberscope.sim.surfer_file import COMMAND_FILE_ENDING, write_command_file
from fiberscope.sim.trigger import Trigger
from fiberscope.sim.vcd_file import VcdFile
from fiberscope.sim.waveform import Waveform

CHECK_CYCLES = 16  # cycles of the first clock between two evaluations of a trigger


@contextmanager
def write_vcd(
    kernel: Kernel,
    path: str | os.PathLike[str],
    *,
    window: tuple[int, int] | None = None,
    scopes: Sequence[str] = (),
    trigger: str | None = None,
    cycles: int | None = None,
    save_file: bool = True,
    colours: bool = True,
) -> Iterator[Tracer]:
    """Write a waveform of all cycles that run within the ``with`` block. Build the machine if necessary.

    If an exception ends the block, the file has the cycles up to it; there is no file if they end before the
    waveform starts. A block that ends normally before the start leaves the end state, with a ``UserWarning``.
    Within the block, no component defers work and no lookahead models are used, so a run is slower than
    without a waveform also outside the window, where nothing is sampled.

    Args:
        kernel: the machine, with all components added and connected.
        path: the VCD file, replaced if it exists; or an FST file (``.fst``), which ``vcd2fst`` converts.
        window: cycles of the first clock, ``[start, end)``; None for all cycles. Past cycles are left out.
        scopes: shell patterns on instance names, such as ``pe0[0-3]``; inner scopes are included.
        trigger: a condition that starts the waveform, evaluated every ``CHECK_CYCLES`` cycles in the window.
        cycles: the maximum length of the waveform, in cycles of the first clock; None for no limit.
        save_file: whether to write the view beside the waveform: ``.gtkw`` for GTKWave, ``.sucl`` for Surfer.
        colours: whether the save file shows states in colour. If False, the file is plain IEEE 1364: texts
            are numbers, listed in the comment of the file, and in ``.enum`` if there is a ``.gtkw`` file.

    Raises:
        SimulationError: the file cannot be written, ``vcd2fst`` is missing, or the window, a scope, the
            trigger, ``cycles`` or a signal is invalid; the errors of ``Kernel.build``.
        OSError: at the end of a block without an exception, if the file could not be written.
    """
    if kernel.tracer is not None:
        raise SimulationError(f"the waveform {path}: the kernel is traced already")
    if not kernel.built:
        kernel.build()
    coloured = colours and save_file
    waveform = Waveform(kernel.components, kernel.wiring, scopes, colours=coloured, plain=not colours)
    start = RecordingInterval(kernel, window, trigger, cycles)
    tracer = Tracer(kernel, Path(path), waveform, start, save_file)
    finished = False
    try:
        kernel.trace(tracer, tracer.start)
        yield tracer
        finished = True
    finally:
        kernel.trace(None)
        tracer.close(finished)


class RecordingInterval:
    """Start and end of a waveform in base ticks: of a window, or from the cycle in which a trigger holds.

    A trigger counts only within the window. A window that has begun already is clipped to the current time.

    Args:
        kernel: the machine, built.
        window, trigger, cycles: as for ``write_vcd``.

    Raises:
        SimulationError: if the window is empty or past, the trigger is invalid, or ``cycles`` is below 1.

    Attributes:
        start: base tick at which the waveform begins; with a trigger, of the next evaluation of the trigger.
        end: base tick before which the waveform ends; ``MAX_TIME`` without a limit. With a trigger, the
            length ``cycles`` limits it only after the trigger holds.
        trigger: the trigger until it holds, then None.
    """

    def __init__(
        self, kernel: Kernel, window: tuple[int, int] | None, trigger: str | None, cycles: int | None
    ) -> None:
        self.start, self.end = _convert_window(kernel, window)
        self.trigger = None if trigger is None else Trigger(trigger, kernel)
        period = kernel.clocks[0].period
        if cycles is not None and cycles < 1:
            raise SimulationError(f"a waveform of {cycles} cycles: at least 1 is needed")
        self._max_ticks = MAX_TIME if cycles is None else cycles * period
        self._check_ticks = CHECK_CYCLES * period
        if self.trigger is None:
            self._set_start(self.start)

    def _set_start(self, time: int) -> None:
        """Set the start, and limit the end to the maximum length."""
        self.start = time
        self.end = min(self.end, time + self._max_ticks)

    def start_at_end(self, time: int) -> None:
        """Move the start to base tick ``time``, at which the run ended; ``trigger`` remains set."""
        self.start = time

    def next_check(self, time: int) -> int:
        """Return the base tick of the next check; not in the future if the waveform begins at ``start``.

        The trigger is evaluated at each check point up to ``time``, also if no time step ran there, so that
        sleep does not move the start. After the window, the result is ``MAX_TIME``.

        Args:
            time: base tick of the next time step. The machine is in the state before it.
        """
        while self.trigger is not None and self.start <= time:
            if self.start >= self.end:
                return MAX_TIME  # the window is over: no further check
            if self.trigger.holds(self.start):
                self._set_start(self.start)
                self.trigger = None
            else:
                self.start += self._check_ticks
        return self.start


class Tracer:
    """The connection between a kernel and the file of one waveform. Created by ``write_vcd``.

    The kernel calls ``begin`` until the waveform starts, then ``sample`` after each time step before ``end``.
    ``write_vcd`` calls ``close`` at the end.

    Raises:
        SimulationError: if the file cannot be written, its ending is that of a file beside it, or the
            converter to FST is not installed.

    Attributes:
        sample: the function for each time step, given its base tick and the components that ticked. The
            first call writes the initial values, unless ``begin`` did; later calls write changes.
        failure: error that stopped the file, else None.
    """

    def __init__(
        self, kernel: Kernel, path: Path, waveform: Waveform, start: RecordingInterval, save_file: bool
    ) -> None:
        self.failure: OSError | None = None
        self.sample: Callable[[int, list[Component]], None] = self._take_first_sample
        self._recorder: Recorder | None = None
        self._start = start
        self._kernel = kernel
        self._waveform = waveform
        self._landmark = Landmark(waveform.variables)
        self._save_path = path.with_suffix(SAVE_FILE_ENDING) if save_file else None
        # Checked before the file is opened, as nothing would remove the partial file after this error
        if path.suffix in {SAVE_FILE_ENDING, TABLE_ENDING, COMMAND_FILE_ENDING}:
            raise SimulationError(
                f"the waveform {path} cannot end in {path.suffix}: this ending belongs to a file beside it"
            )
        comment = [*_describe_clocks(kernel), *_list_texts(waveform)]
        self._file = VcdFile(path, 1 / kernel.base_hertz, comment)

    @property
    def start(self) -> int:
        """Base tick at which the waveform begins, or of the next check of the trigger."""
        return self._start.start

    @property
    def end(self) -> int:
        """Base tick before which the waveform ends."""
        return self._start.end

    def begin(self, time: int) -> int:
        """Start the waveform if its start is reached; return the base tick of the next call.

        A base tick that is not in the future tells the kernel to call ``sample`` from now on. If the start is
        this time step, the first ``sample`` writes the initial values; if it has passed, this method does.
        After an error of the file, the result is ``MAX_TIME``: the kernel calls nothing further.

        Args:
            time: base tick of the time step that follows the call.
        """
        next_call = self._start.next_check(time)
        if next_call >= time:
            return next_call
        try:
            self._write_start()  # no time step ran since the start, so no value has changed
        except OSError as error:
            self._discard_after_error(error)
            return MAX_TIME
        return next_call

    @property
    def changes(self) -> int:
        """Number of changes of values that are recorded so far, without initial values."""
        return 0 if self._recorder is None else self._recorder.changes

    def _take_first_sample(self, _time: int, _ticked: list[Component]) -> None:
        """Write the start of the file after the first time step."""
        try:
            self._write_start()
        except OSError as error:
            self._discard_after_error(error)

    def _write_lines(self) -> None:
        """Write the buffered lines to the file."""
        try:
            self._file.write()
        except OSError as error:
            self._discard_after_error(error)

    def _discard_after_error(self, error: OSError) -> None:
        """Discard the file after an error. The run continues without a waveform."""
        self.failure = error
        self._file.discard()
        self._kernel.trace(None)

    def _write_start(self) -> None:
        """Write the header and the value of every variable, at base tick ``start``; begin to record."""
        probes = self._waveform.probes
        probes.collect_all()  # ``changes`` has all values now, and no position counts as changed
        self._file.begin(self.start, self._waveform.variables, probes.changes)
        self._landmark.observe(self.start, probes.changes, probes.changes.all())
        self._recorder = Recorder(probes, self._file.lines, self._landmark, self._write_lines)
        self.sample = self._recorder.record

    def close(self, finished: bool) -> None:
        """End the file at the end of the run or window; a run that failed before its window leaves none.

        Args:
            finished: whether the ``with`` block ended without an exception.

        Raises:
            OSError: if the file could not be written and the run itself succeeded.
        """
        try:
            self._finish(finished)
        except OSError as error:
            self._discard_after_error(error)
        if finished and self.failure is not None:
            raise self.failure

    def _finish(self, finished: bool) -> None:
        """Complete the file and its views if the waveform has begun, else discard the file.

        A finished run that never reached the start leaves a file with its end state, and a warning.
        """
        try:
            if self.failure is not None:
                return
            if finished and self._recorder is None:
                self._warn_of_late_start()  # first: the message has the start that ``start_at_end`` changes
                self._start.start_at_end(self._kernel.end)
                self._write_start()
            if self._recorder is not None:
                # The run may have continued after the window
                self._file.publish(min(self._find_last_time(finished), self.end))
                self._write_views()
        finally:
            self._file.discard()  # after ``publish``: only the VCD file of which an FST file was made

    def _find_last_time(self, finished: bool) -> int:
        """Return the file's last base tick: the run's end, or a cycle after the last change on failure.

        Only a failure within the window counts. The caller limits the result to the window.
        """
        if finished or self._kernel.time >= self.end:
            return max(self._kernel.end, self._file.lines.time)
        return self._file.lines.time + self._kernel.clocks[0].period

    def _write_views(self) -> None:
        """Write the save file for GTKWave and the command file for Surfer, if requested."""
        if self._save_path is not None:
            write_save_file(self._save_path, self._file, self._waveform, self._landmark)
            commands = self._save_path.with_suffix(COMMAND_FILE_ENDING)
            write_command_file(commands, self._file, self._waveform, self._landmark)

    def _warn_of_late_start(self) -> None:
        """Warn that the run ended before the start of the waveform."""
        kernel, period = self._kernel, self._kernel.clocks[0].period
        trigger = self._start.trigger
        cause = f"before its window from {self.start // period}"
        if trigger is not None:
            cause = f"and until then its trigger {trigger.text!r} never held"
        warnings.warn(
            f"the waveform {self._file.path} shows only the end state: the run ended at cycle "
            f"{kernel.length(kernel.clocks[0])}, {cause}",
            stacklevel=6,  # the caller's with block
        )


def _convert_window(kernel: Kernel, window: tuple[int, int] | None) -> tuple[int, int]:
    """Return a window in cycles of the first clock as base ticks, clipped to the kernel's time.

    Raises:
        SimulationError: if the window is empty or past.
    """
    now = max(kernel.time, 0)  # the time is -1 before the first time step
    if window is None:
        return now, MAX_TIME
    start, end = window
    if not 0 <= start < end:
        raise SimulationError(f"the window {start}:{end} holds no cycle: 0 <= start < end is needed")
    period = kernel.clocks[0].period
    if end * period <= now:
        raise SimulationError(f"the window {start}:{end} is past: the run is at cycle {kernel.cycle} already")
    return min(max(start * period, now), MAX_TIME), min(end * period, MAX_TIME)


def _describe_clocks(kernel: Kernel) -> Iterator[str]:
    """Yield the frequency and the period in base ticks of each clock."""
    for clock in kernel.clocks:
        ticks = f"{clock.period} base tick{'s' if clock.period > 1 else ''}"
        yield f"clock {clock.name}: {clock.hertz} Hz, a cycle is {ticks}"


def _list_texts(waveform: Waveform) -> Iterator[str]:
    """Yield the text of each number in a plain waveform."""
    if any(variable.is_number for variable in waveform.variables):
        yield from (f"reg {row}: {text}" for text, row in waveform.table.items())
