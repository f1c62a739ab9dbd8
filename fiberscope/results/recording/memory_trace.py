"""The requests that a machine's memory gets, as a file that ``fiberscope memory replay`` takes."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fiberscope.base.errors import InputError
from fiberscope.hw.memory.protocol import READ, READ_BURST, WRITE_BURST
from fiberscope.results.report.files import check_writable
from fiberscope.sim import Kernel
from fiberscope.sim.partial_files import Partial, remove_abandoned

if TYPE_CHECKING:
    from fiberscope.accelerators.memory import MemoryChannel

__all__ = ["MemoryTrace", "tracing"]

LETTERS = {READ: "R", READ_BURST: "RB", WRITE_BURST: "WB"}  # of the operations; of all others W


class MemoryTrace:
    """Writes a line for each request that a channel takes; ``fault`` says in the end why it could not.

    A line is ``cycle R|W address``, with ``RB`` or ``WB`` of a single burst, as of
    ``fiberscope.hw.dram.replay``. The cycle, of the memory clock, is the one before the channel took the
    request: in which it would have been made if it had come straight.

    Args:
        path: the file that is being made, and is not there yet; compressed if ``compressed``.
        compressed: the compressed by gzip.
    """

    def __init__(self, path: Path, compressed: bool) -> None:
        opened = gzip.open(path, "xt", 1) if compressed else path.open("x")  # noqa: SIM115  (``close`` closes it)
        self._file: TextIO = opened
        self.fault: OSError | None = None

    def note(self, now: int, operation: int, address: int, _tag: int) -> None:
        """A channel takes a request; what a full disk does not take ends the trace and not the run."""
        if self.fault is None:
            try:
                self._file.write(f"{max(now - 1, 0)} {LETTERS.get(operation, 'W')} {address:#x}\n")
            except OSError as error:
                self.fault = error

    def close(self) -> None:
        """No more requests."""
        try:
            self._file.close()
        except OSError as error:
            self.fault = self.fault or error


@contextmanager
def tracing(kernel: Kernel, path: Path | None) -> Iterator[Callable[[], str | None]]:
    """Write the requests that memory gets meanwhile; gives what says in the end why that was not possible.

    The file has its name once it is whole; a run that raises leaves none.

    Raises:
        InputError: there is no memory whose requests these are, or the file cannot be begun.
    """
    if path is None:
        yield lambda: None
        return
    from fiberscope.accelerators.memory import observe_requests  # noqa: PLC0415  (it brings all models of memory)

    channels = _channels(kernel)
    if path.exists() and not path.is_file():
        raise InputError(f"the memory trace {path} cannot be written: it is no file")
    try:
        check_writable(path)
        remove_abandoned(path)
        partial = Partial(path)
        trace = MemoryTrace(partial.path, path.suffix == ".gz")
    except OSError as error:
        raise InputError(f"{path}: cannot write the memory trace: {error.strerror}") from error
    try:
        with observe_requests(channels, trace.note):
            yield lambda: _keep(trace, partial, path)
    finally:
        trace.close()
        partial.discard()


def _channels(kernel: Kernel) -> list[MemoryChannel]:
    from fiberscope.hw.dram import DramChannel, SimpleMemory  # noqa: PLC0415  (as above)

    channels = [
        component for component in kernel.components if isinstance(component, DramChannel | SimpleMemory)
    ]
    if not channels:
        raise InputError("the machine has no memory channel whose requests could be written")
    return channels


def _keep(trace: MemoryTrace, partial: Partial, path: Path) -> str | None:
    """Give a trace that is whole its name; else say why it is not."""
    trace.close()
    if trace.fault is None:
        try:
            partial.keep()
            return None
        except OSError as error:
            trace.fault = error
    return f"{path}: cannot write the memory trace: {trace.fault.strerror}"
