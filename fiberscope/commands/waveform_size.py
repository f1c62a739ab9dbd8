"""Says while a waveform is written that it will be a large file, where its length was not bounded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fiberscope.base.progress import CYCLES, SIMULATING, Stage

if TYPE_CHECKING:
    from fiberscope.run.api import Progress, Waveform

__all__ = ["with_size_warning"]

LARGE_BYTES = 100 << 20
KNOWN_SHARE = 0.05  # of the run: before it, header and first values count for much and little is done


def with_size_warning(tell: Progress | None, waveform: Waveform | None) -> Progress | None:
    """The progress, which also says how large the waveform will be if it goes on growing as it did.

    It says so again when twice as much is to be expected as it said before.
    """
    if tell is None or waveform is None or waveform.window or waveform.cycles:
        return tell
    return _SizeWatch(tell, waveform)


class _SizeWatch:
    """Looks at the file that is being made whenever there is news of the simulation."""

    def __init__(self, tell: Progress, waveform: Waveform) -> None:
        from fiberscope.sim.partial_files import partial

        self._tell, self._path, self._making = tell, waveform.path, partial(waveform.path)
        self._stage = Stage(SIMULATING, 0)
        self._reported_bytes = 0.0  # bytes

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._tell(stage, done, total)
        if stage == SIMULATING:
            self._stage.reach(done, total)
        elif stage == CYCLES:
            self._stage.reach_cycle(done, total)
            self._look()

    def _look(self) -> None:
        if not self._stage.share or not self._making.exists():
            return
        size = self._making.stat().st_size
        expected = size / self._stage.share
        begun = self._stage.share >= KNOWN_SHARE or size >= LARGE_BYTES
        if begun and expected >= max(LARGE_BYTES, 2 * self._reported_bytes):
            self._reported_bytes = expected
            print(
                f"fiberscope: the waveform {self._path} will be about {expected / 2**20:,.0f} MiB; "
                "--vcd-window START:END, --vcd-cycles N or --vcd-scope PATTERN keep it small",
                file=sys.stderr,
            )
