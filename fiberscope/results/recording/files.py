"""The files that a run's states over time are written to."""

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

FINEST = 2048  # intervals of states that are kept; a look takes 0.1 ms
__all__ = ["KeptStates", "StateFiles", "state_files"]


@dataclass(frozen=True)
class StateFiles:
    """Files for the states of the components of a run over time.

    Args:
        timeline: a JSON document, see ``fiberscope.results.recording.document``.
        perfetto: a trace for the Perfetto viewer.
        window: the first cycle and the one it ends before; the whole run by default.

    Raises:
        InputError: there is a window and no file, the window holds no cycle, or a library is missing.
    """

    timeline: Path | None = None
    perfetto: Path | None = None
    window: Window | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be before anything is run."""
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
        """The files, by what they are called in a message."""
        return {"the timeline": self.timeline, "the trace for Perfetto": self.perfetto}

    def watch(self, kernel: Kernel) -> StateWatch:
        """Return the recorder of a built machine, whose components then do not run ahead of the clock."""
        from fiberscope.results.recording.watch import StateWatch  # noqa: PLC0415  (as above)

        remove_lookahead(kernel)  # chains of waits look into all channels
        return StateWatch(kernel, self.window, chains=True)

    def write(self, watch: StateWatch) -> str | None:
        """Write what was seen; gives the reason why a file could not be written, None if all is well.

        A full disk costs the file and not the run, whose report is worth more.
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
    """Keeps what components of some families did, in place of writing it; in more intervals than a file has.

    Args:
        families: the families of the components.
        kept: the kept of each run that has ended.
    """

    families: Collection[str] = ()
    kept: list[StateTimeline] = field(default_factory=list)

    def watch(self, kernel: Kernel) -> StateWatch:
        """Return the recorder of these components of a built machine."""
        from fiberscope.results.recording.watch import StateWatch  # noqa: PLC0415  (most runs are not watched)

        return StateWatch(kernel, families=self.families, intervals=FINEST, largest=sys.maxsize)

    def write(self, watch: StateWatch) -> None:
        """Keep what was seen."""
        self.kept.append(watch.states())


def state_files(
    timeline: str | Path | None, perfetto: str | Path | None, window: Window | None
) -> StateFiles | None:
    """The files of a run, None if none is asked for.

    Raises:
        InputError: as of ``StateFiles``.
    """
    if timeline is None and perfetto is None and window is None:
        return None
    return StateFiles(Path(timeline) if timeline else None, Path(perfetto) if perfetto else None, window)
