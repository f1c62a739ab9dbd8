"""Recording of a waveform during a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.sim import Kernel, SimulationError


@dataclass(frozen=True)
class Waveform:
    """File and contents of a waveform; see ``fiberscope.sim.trace.write_vcd``.

    Args:
        path: the file; ``vcd2fst`` converts a file that ends in ``.fst`` to FST.
        window: the first cycle of the first clock and the cycle after the last; None for the whole run.
        scopes: patterns of instance names (``pe0[0-3]``); nested instances are included.
        trigger: the condition that starts the waveform, as in ``pe07 input_stall > 100``; see
            ``fiberscope.sim.trigger``.
        cycles: the maximum length in cycles of the first clock; None for no limit.
        colours: whether GTKWave shows the states in colour.
    """

    path: Path
    window: tuple[int, int] | None = None
    scopes: Sequence[str] = ()
    trigger: str | None = None
    cycles: int | None = None
    colours: bool = True


def list_files(path: Path) -> dict[str, Path]:
    """Return the files that a waveform may write, by their names in messages."""
    from fiberscope.sim.save_file import SAVE_FILE_ENDING, TABLE_ENDING  # noqa: PLC0415  (as below)
    from fiberscope.sim.surfer_file import COMMAND_FILE_ENDING  # noqa: PLC0415  (as below)

    endings = {
        "its save file": SAVE_FILE_ENDING,
        "its table of states": TABLE_ENDING,
        "its command file": COMMAND_FILE_ENDING,
    }
    files = {name: path.parent / f"{path.stem}{ending}" for name, ending in endings.items()}
    return {"the waveform": path, **{name: file for name, file in files.items() if file != path}}


@dataclass
class Recording:
    """State of a waveform recording; ``fault`` is the reason for a missing waveform, or None."""

    fault: str | None = None


@contextmanager
def record_waveform(kernel: Kernel, waveform: Waveform | None) -> Iterator[Recording]:
    """Record the waveform of a kernel during the context.

    A full disk ends the waveform but not the run, because the report is worth more than the waveform. The
    reason is in ``fault`` of the yielded recording after the context.

    Args:
        kernel: the kernel of the machine.
        waveform: the file and its contents; None to record nothing.

    Raises:
        InputError: the errors of ``write_vcd`` before the run, such as a file that cannot be created, a scope
            that does not exist, an empty window, an invalid trigger, or ``cycles`` below 1.
    """
    state = Recording()
    if waveform is None:
        yield state
        return
    from fiberscope.sim.trace import write_vcd  # noqa: PLC0415  (pyvcd is loaded only when a waveform is wanted)

    with ExitStack() as stack:
        try:
            stack.enter_context(write_vcd(kernel, **vars(waveform)))
        except SimulationError as error:
            raise InputError(str(error)) from error
        yield state
        try:
            stack.close()  # within ``try``, so that a full disk does not end the run
        except OSError as error:
            state.fault = f"{waveform.path}: cannot write the waveform: {error.strerror}"
