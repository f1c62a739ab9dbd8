"""Files for the recorded states of a run."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import STANDARD_OUTPUT, write_bytes
from fiberscope.sim import Kernel
from fiberscope.sim.lookahead import remove_lookahead

if TYPE_CHECKING:
    from fiberscope.results.recording.document import StateTimeline
    from fiberscope.results.recording.watch import StateWatch, Window

MAX_INTERVALS = 2048  # of a timeline that is kept in memory; a sample takes 0.1 ms


@dataclass(frozen=True)
class StateFiles:
    """Files for the states of the components of a run over time: busy, idle, or waiting at a port.

    Args:
        timeline: a JSON document, see ``fiberscope.results.recording.document``.
        perfetto: a trace for the Perfetto viewer.
        window: the first cycle of the first clock and the cycle after the last; the whole run by default.

    Raises:
        InputError: a file is standard output, there is a window without a file, the window is empty or starts
            below 0, or a library is missing.
    """

    timeline: Path | None = None
    perfetto: Path | None = None
    window: Window | None = None

    def __post_init__(self) -> None:
        """Check the files and the window before the run."""
        if STANDARD_OUTPUT in (self.timeline, self.perfetto):
            raise InputError("-: a timeline goes to a file; give it a name")
        if self.window is not None:
            start, end = self.window
            if self.timeline is None and self.perfetto is None:
                raise InputError("a timeline's window needs a timeline: --timeline FILE or --perfetto FILE")
            if not 0 <= start < end:
                raise InputError(
                    f"the timeline's window {start}:{end} holds no cycle: 0 <= start < end is needed"
                )
        if self.perfetto is not None:
            from fiberscope.results.recording.perfetto import require_perfetto  # noqa: PLC0415  (most runs write none)

            require_perfetto()

    @property
    def outputs(self) -> dict[str, Path | None]:
        """Return the files by their names in messages."""
        return {"the timeline": self.timeline, "the trace for Perfetto": self.perfetto}

    def watch(self, kernel: Kernel) -> StateWatch:
        """Return the recorder of a built machine, after the removal of lookahead models.

        Call this method before the first run of the machine, as ``remove_lookahead`` requires.
        """
        from fiberscope.results.recording.watch import StateWatch  # noqa: PLC0415  (as above)

        remove_lookahead(kernel)  # chains of waits look into all channels
        return StateWatch(kernel, self.window, samples_chains=True)

    def write(self, watch: StateWatch) -> str | None:
        """Write the recorded states; return the reason if a file could not be written, else None.

        A full disk does not fail the run, because the report is worth more than the file. If the timeline
        fails, the trace for Perfetto is not written either.
        """
        from fiberscope.results.recording.perfetto import trace_of  # noqa: PLC0415  (as above)

        states = watch.states()
        try:
            if self.timeline is not None:
                states.write(self.timeline)
            if self.perfetto is not None:
                write_bytes(self.perfetto, trace_of(states))
        except InputError as error:
            return str(error)
        return None


@dataclass(frozen=True)
class KeptStates(StateFiles):
    """Keeps the states of some families in memory, in more intervals than a file has.

    Args:
        families: the families of the recorded components.
        kept: the recorded states of each finished run.
    """

    families: Collection[str] = ()
    kept: list[StateTimeline] = field(default_factory=list)

    def watch(self, kernel: Kernel) -> StateWatch:
        """Return the recorder of the selected families over the whole run, without wait chains.

        Lookahead models stay, because only wait chains look into all channels.
        """
        from fiberscope.results.recording.watch import StateWatch  # noqa: PLC0415  (most runs are not watched)

        return StateWatch(kernel, families=self.families, max_intervals=MAX_INTERVALS, max_bytes=sys.maxsize)

    def write(self, watch: StateWatch) -> None:
        """Append the recorded states to ``kept``."""
        self.kept.append(watch.states())


def state_files(
    timeline: str | Path | None, perfetto: str | Path | None, window: Window | None
) -> StateFiles | None:
    """Return the state files of a run; None if neither a file nor a window is requested.

    Args:
        timeline, perfetto: paths of the files; None for no file.
        window: the first cycle of the first clock and the cycle after the last; the whole run by default.

    Raises:
        InputError: the errors of ``StateFiles``.
    """
    if timeline is None and perfetto is None and window is None:
        return None
    return StateFiles(Path(timeline) if timeline else None, Path(perfetto) if perfetto else None, window)
