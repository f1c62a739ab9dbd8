"""The process that points run in, one after the other: what it was told comes in lines, outcomes go out.

First of all it tells that it is ready: the limit of a point is not for imports.

It ends with the process that started it, also in the midst of a point: nobody would hear of the outcome.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from typing import BinaryIO

from fiberscope.base.sharing import sharing
from fiberscope.explore.sweeps.outcome import execute_task
from fiberscope.explore.sweeps.task_status import TaskOutcome

__all__ = ["main"]

READY = b"\n"
MOST_SHARED = 2 << 30  # bytes
MEMORY_PART = 4  # of the memory, a quarter is for all processes together


def main() -> None:
    """Run what comes in until nothing does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the sweep, which ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a block of the user's prints is no answer
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    gc.freeze()  # what is imported is there to stay
    with suppress(BrokenPipeError):  # who started it is gone; _listen ends it
        os.write(answers.fileno(), READY)
    with sharing(_shared_bytes()):
        while True:
            request = json.loads(lines.get())
            _answer(answers, execute_task(request["task"], request["memory_bytes"]))


def _shared_bytes() -> int:
    """Return the memory that operands and functional passes may take which points share in this process."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(MOST_SHARED, memory // (MEMORY_PART * (os.cpu_count() or 1)))


def _listen(lines: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)


def _answer(answers: BinaryIO, came: TaskOutcome) -> None:
    header = {"status": came.status, "seconds": came.seconds, "length": len(came.content)}
    answers.write(json.dumps(header).encode() + b"\n" + came.content)
    answers.flush()


if __name__ == "__main__":
    main()
