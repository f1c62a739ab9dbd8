"""Waveforms: what every chosen component and channel held after each cycle, as a VCD file.

Whatever order the components tick in, asleep or awake, the same machine gives the same file, byte for byte.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.component import Component
from sim.constants import FAR
from sim.errors import SimulationError
from sim.kernel import Kernel
from sim.save_file import SAVE_FILE_ENDING, write_save_file
from sim.vcd_file import VcdFile
from sim.waveform import Waveform


@contextmanager
def write_vcd(
    kernel: Kernel,
    path: str | os.PathLike[str],
    *,
    window: tuple[int, int] | None = None,
    scopes: Sequence[str] = (),
    save_file: bool = True,
) -> Iterator[Tracer]:
    """Write a waveform of what the kernel runs within the ``with`` block; builds the machine if need be.

    The file is written under a temporary name beside ``path`` and takes its own name at the end, however the
    run ends: the waveform of a deadlock or a crash is the one most wanted.

    Args:
        kernel: the machine, with all its parts added and connected.
        path: the VCD file; replaced if it exists.
        window: cycles of the first clock, ``[start, end)``; outside of it a run is as fast as untraced.
        scopes: shell patterns on instance names, with or without the machine's leading name, as in
            ``pe0[0-3]``; a scope is shown with all that is within it. Empty for all.
        save_file: whether to write a GTKWave save file beside it, under the same name with ``.gtkw``.

    Raises:
        SimulationError: if the file cannot be written, the window is empty or past, a scope matches nothing,
            or the kernel is traced already.
        OSError: in the midst of the run, as when the disk is full; no file is left then.
    """
    if kernel.tracer is not None:
        raise SimulationError(f"the waveform {path}: the kernel is traced already")
    if not kernel.built:
        kernel.build()
    tracer = Tracer(kernel, Path(path), window, scopes, save_file)
    kernel.trace(tracer, tracer.start, tracer.end)
    finished = False
    try:
        yield tracer
        finished = True
    finally:
        kernel.trace(None)
        tracer.close(finished)


class Tracer:
    """Samples a machine into one VCD file; made by ``write_vcd``.

    ``start`` and ``end`` are its window in base ticks, ``changes`` the value changes written so far, apart
    from the values at the window's start, and ``begun`` says whether the run has reached the window.
    """

    def __init__(
        self,
        kernel: Kernel,
        path: Path,
        window: tuple[int, int] | None,
        scopes: Sequence[str],
        save_file: bool,
    ) -> None:
        self.start, self.end = _base_ticks(kernel, window)
        self.changes = 0
        self.begun = False
        self._latest = self.start  # time of the last change
        self._kernel = kernel
        self._waveform = Waveform(kernel.components, kernel.wiring, scopes)
        self._save_path = path.with_suffix(SAVE_FILE_ENDING) if save_file else None
        if path == self._save_path:
            raise SimulationError(f"the waveform {path} cannot end in {SAVE_FILE_ENDING}: its save file does")
        self._file = VcdFile(path, 1 / kernel.base_hertz, list(_clock_lines(kernel)))

    def begin(self, time: int) -> None:
        """The kernel is about to run the window's first time step, at this base tick."""
        if time > self.start:
            self._write_start()  # nothing has changed since the window's start

    def sample(self, time: int, ticked: list[Component]) -> None:
        """Write what has changed in a time step, given the components that ticked in it."""
        if not self.begun:
            self._write_start()
            return
        probes = self._waveform.probes
        changed = probes.collect(ticked)
        if changed:
            self._file.change(time, changed, probes.values)
            self.changes += len(changed)
            self._latest = time

    def _write_start(self) -> None:
        probes = self._waveform.probes
        probes.collect_all()
        self._file.begin(self.start, self._waveform.variables, probes.values)
        self.begun = True

    def close(self, finished: bool) -> None:
        """End the file where the run or the window did; a run that failed before its window leaves none."""
        try:
            if finished and not self.begun:
                self._warn()
                self._write_start()
            if self.begun:
                self._file.keep(min(self._last_time(finished), self.end))
                self._write_save_file()
        finally:
            self._file.discard()

    def _last_time(self, finished: bool) -> int:
        """Base tick at which the file ends: the run's end, or a cycle after the last change if it failed."""
        if finished or self._kernel.time >= self.end:
            return max(self._kernel.end, self._latest)
        return self._latest + self._kernel.clocks[0].period

    def _write_save_file(self) -> None:
        if self._save_path is not None:
            write_save_file(self._save_path, self._file, self._waveform.variables)

    def _warn(self) -> None:
        period = self._kernel.clocks[0].period
        warnings.warn(
            f"the waveform {self._file.path} shows only the end state: the run ended at cycle "
            f"{self._kernel.length(self._kernel.clocks[0])}, before its window from {self.start // period}",
            stacklevel=5,  # where write_vcd's with block stands
        )


def _base_ticks(kernel: Kernel, window: tuple[int, int] | None) -> tuple[int, int]:
    """A window in cycles of the first clock as base ticks, from the kernel's time on."""
    now = max(kernel.time, 0)
    if window is None:
        return now, FAR
    start, end = window
    if not 0 <= start < end:
        raise SimulationError(f"the window {start}:{end} holds no cycle: 0 <= start < end is needed")
    period = kernel.clocks[0].period
    if end * period <= now:
        raise SimulationError(f"the window {start}:{end} is past: the run is at cycle {kernel.cycle} already")
    return min(max(start * period, now), FAR), min(end * period, FAR)


def _clock_lines(kernel: Kernel) -> Iterator[str]:
    for clock in kernel.clocks:
        ticks = f"{clock.period} base tick{'s' if clock.period > 1 else ''}"
        yield f"clock {clock.name}: {clock.hertz} Hz, a cycle is {ticks}"
