"""Trace of memory requests as a file that ``fiberscope memory replay`` reads."""

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

LETTERS = {READ: "R", READ_BURST: "RB", WRITE_BURST: "WB"}  # of operations; all others are W


class MemoryTrace:
    """Writer of a line for each request that a memory channel accepts.

    A line is ``cycle R|W address``, with ``RB`` or ``WB`` for a single burst, in the format of
    ``fiberscope.hw.dram.replay``. The cycle of the memory clock precedes the acceptance by one, the latency
    of the channel. Several channels share the file; a line does not name its channel. After an error, which
    is stored in ``fault``, no further lines are written.

    Args:
        path: the file to create.
        compressed: whether to compress with gzip.

    Raises:
        OSError: the file exists or cannot be created.
    """

    def __init__(self, path: Path, compressed: bool) -> None:
        # level 1, the fastest, because the run waits for the compression
        file = gzip.open(path, "xt", 1) if compressed else path.open("x")  # noqa: SIM115  (``close`` closes it)
        self._file: TextIO = file
        self.fault: OSError | None = None

    def record(self, now: int, operation: int, address: int, _tag: int) -> None:
        """Record a request; a write error ends the trace but not the run.

        Args:
            now: the cycle of the memory clock in which the channel accepts the request.
            operation: the kind of request, see ``fiberscope.hw.memory.protocol``.
            address: address in bytes.
            _tag: not recorded; the observer of requests passes it.
        """
        if self.fault is None:
            try:
                self._file.write(f"{max(now - 1, 0)} {LETTERS.get(operation, 'W')} {address:#x}\n")
            except OSError as error:
                self.fault = error

    def close(self) -> None:
        """Close the file; store an error in ``fault`` unless there is an earlier one."""
        try:
            self._file.close()
        except OSError as error:
            self.fault = self.fault or error


@contextmanager
def record_requests(kernel: Kernel, path: Path | None) -> Iterator[Callable[[], str | None]]:
    """Write the memory requests during the context; yield a function that completes the file.

    Call the function after the run. It returns the error message, or None if the file is complete. Until then
    the file has a temporary name. No file remains if the run raises or the function is not called. Without a
    path the function does nothing.

    Args:
        kernel: the built kernel of the machine.
        path: the file to write, compressed if its name ends with ``.gz``; None to write no file.

    Raises:
        InputError: the machine has no memory channel, ``path`` exists and is no regular file, or the file
            cannot be created.
    """
    if path is None:
        yield lambda: None
        return
    from fiberscope.accelerators.memory import observe_requests  # noqa: PLC0415  (it brings all models of memory)

    channels = _list_channels(kernel)
    if path.exists() and not path.is_file():
        raise InputError(f"the memory trace {path} cannot be written: it is no file")
    try:
        check_writable(path)
        remove_abandoned(path)
        # an existing file is replaced only when the trace is complete
        partial = Partial(path)
        trace = MemoryTrace(partial.path, path.suffix == ".gz")
    except OSError as error:
        raise InputError(f"{path}: cannot write the memory trace: {error.strerror}") from error
    try:
        with observe_requests(channels, trace.record):
            yield lambda: _finish(trace, partial, path)
    finally:
        # after ``_finish`` has kept the file, both calls have no effect
        trace.close()
        partial.discard()


def _list_channels(kernel: Kernel) -> list[MemoryChannel]:
    from fiberscope.hw.dram import DramChannel, SimpleMemory  # noqa: PLC0415  (as above)

    channels = [
        component for component in kernel.components if isinstance(component, DramChannel | SimpleMemory)
    ]
    if not channels:
        raise InputError("the machine has no memory channel whose requests could be written")
    return channels


def _finish(trace: MemoryTrace, partial: Partial, path: Path) -> str | None:
    """Rename a complete trace to its path and return None, or return the error message."""
    trace.close()
    if trace.fault is None:
        try:
            partial.keep()
            return None
        except OSError as error:
            trace.fault = error
    return f"{path}: cannot write the memory trace: {trace.fault.strerror}"
