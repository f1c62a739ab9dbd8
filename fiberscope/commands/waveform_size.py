"""Warning about the expected size of an unbounded waveform."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fiberscope.base.progress import CYCLES, SIMULATING, Stage

if TYPE_CHECKING:
    from fiberscope.run.api import Progress, Waveform

LARGE_BYTES = 100 << 20  # expected size from which a warning is printed
KNOWN_SHARE = 0.05  # simulated share from which the file size can be extrapolated


def add_size_warning(progress: Progress | None, waveform: Waveform | None) -> Progress | None:
    """Return a progress callback that also warns of a large expected waveform, again whenever it has doubled.

    Without a waveform, or if a window or a number of cycles bounds it, the callback is ``progress`` itself.
    Without a callback, as for a quiet run, there is no warning, and the result is None.
    """
    if progress is None or waveform is None or waveform.window or waveform.cycles:
        return progress
    return _SizeWatch(progress, waveform)


class _SizeWatch:
    """Extrapolates the size of the waveform at each progress report."""

    def __init__(self, progress: Progress, waveform: Waveform) -> None:
        from fiberscope.sim.partial_files import partial

        self._report_progress, self._path = progress, waveform.path
        self._partial_file = partial(waveform.path)
        self._stage = Stage(SIMULATING, 0)
        self._reported_bytes = 0.0  # expected size in the last warning

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._report_progress(stage, done, total)
        if stage == SIMULATING:
            self._stage.reach(done, total)
        elif stage == CYCLES:
            self._stage.reach_cycle(done, total)
            self._check_size()

    def _check_size(self) -> None:
        """Print a warning if the expected size is large, and again whenever it has doubled."""
        if not self._stage.share or not self._partial_file.exists():
            return
        size = self._partial_file.stat().st_size
        expected = size / self._stage.share
        is_reliable = self._stage.share >= KNOWN_SHARE or size >= LARGE_BYTES
        if is_reliable and expected >= max(LARGE_BYTES, 2 * self._reported_bytes):
            self._reported_bytes = expected
            print(
                f"fiberscope: the waveform {self._path} will be about {expected / 2**20:,.0f} MiB; "
                "--vcd-window START:END, --vcd-cycles N or --vcd-scope PATTERN keep it small",
                file=sys.stderr,
            )
