"""A waveform of a run: what goes into it, and writing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.sim import Kernel, SimulationError

__all__ = ["Waveform", "files_of", "recording"]


@dataclass(frozen=True)
class Waveform:
    """File and contents of a waveform; see ``fiberscope.sim.trace.write_vcd``.

    Args:
        path: the file; one that ends in ``.fst`` is written as FST, by ``vcd2fst``.
        window: the first cycle and the one it ends before.
        scopes: patterns of instance names (``pe0[0-3]``), each with all that is within it.
        trigger: a condition from which it begins, as in ``pe07 input_stall > 100``; see
            ``fiberscope.sim.trigger``.
        cycles: how many it lasts at the most, from where it begins.
        colours: whether GTKWave shows the states in colour.
    """

    path: Path
    window: tuple[int, int] | None = None
    scopes: Sequence[str] = ()
    trigger: str | None = None
    cycles: int | None = None
    colours: bool = True


def files_of(path: Path) -> dict[str, Path]:
    """Return the files of a waveform, by their names in messages."""
    from fiberscope.sim.save_file import SAVE_FILE_ENDING, TABLE_ENDING  # noqa: PLC0415  (as below)

    beside = {"its save file": SAVE_FILE_ENDING, "its table of states": TABLE_ENDING}
    files = {called: path.parent / f"{path.stem}{ending}" for called, ending in beside.items()}
    return {"the waveform": path, **{called: file for called, file in files.items() if file != path}}


@dataclass
class Recording:
    """A waveform in the making; ``fault`` says in the end why it could not be written, None if it was."""

    fault: str | None = None


@contextmanager
def recording(kernel: Kernel, waveform: Waveform | None) -> Iterator[Recording]:
    """Write the waveform of what the kernel does meanwhile.

    A disk that is full in the midst of it ends the waveform and not the run, whose report is worth more.

    Raises:
        InputError: it cannot be begun, or what is to go into it is not there.
    """
    recorded = Recording()
    if waveform is None:
        yield recorded
        return
    from fiberscope.sim.trace import write_vcd  # noqa: PLC0415  (pyvcd is loaded only when a waveform is wanted)

    with ExitStack() as stack:
        try:
            stack.enter_context(write_vcd(kernel, **vars(waveform)))
        except SimulationError as error:
            raise InputError(str(error)) from error
        yield recorded
        try:
            stack.close()
        except OSError as error:
            recorded.fault = f"{waveform.path}: cannot write the waveform: {error.strerror}"
