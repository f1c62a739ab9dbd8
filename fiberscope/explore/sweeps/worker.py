"""Child process that runs points one after the other: reads requests as lines, writes outcomes.

The process signals when it is ready, so that imports do not count against the limit of a point. It ends with
its parent process, even during a point.
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

from fiberscope.base.collector import COLLECTION_THRESHOLD
from fiberscope.base.sharing import share_results
from fiberscope.explore.sweeps.outcome import execute_task
from fiberscope.explore.sweeps.task_status import TaskOutcome

READY = b"\n"
MAX_SHARED_BYTES = 2 << 30  # of one process
MEMORY_DIVISOR = 4  # a process per core together share at most 1/4 of the computer's memory


def run_requests() -> None:
    """Run the requests from standard input until its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the sweep, which ends this process
    answers = os.fdopen(os.dup(1), "wb")  # the pipe to the parent; descriptor 1 is redirected next
    os.dup2(2, 1)  # output of user components is no answer
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_queue_requests, args=(lines,), daemon=True).start()
    gc.freeze()  # imported objects are permanent
    gc.set_threshold(COLLECTION_THRESHOLD)
    with suppress(BrokenPipeError):  # the parent is gone; _queue_requests ends the process
        os.write(answers.fileno(), READY)
    with share_results(_count_shared_bytes()):
        while True:
            request = json.loads(lines.get())
            _write_outcome(answers, execute_task(request["task"], request["memory_bytes"]))


def _count_shared_bytes() -> int:
    """Return the bytes of this process for operands and functional passes that points share."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(MAX_SHARED_BYTES, memory // (MEMORY_DIVISOR * (os.cpu_count() or 1)))


def _queue_requests(lines: queue.SimpleQueue[bytes]) -> None:
    """Queue each line of standard input; end the process at its end, even during a point."""
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)


def _write_outcome(answers: BinaryIO, outcome: TaskOutcome) -> None:
    """Write an outcome: a line of JSON with the length of the row, then the encoded row."""
    header = {"status": outcome.status, "seconds": outcome.seconds, "length": len(outcome.content)}
    answers.write(json.dumps(header).encode() + b"\n" + outcome.content)
    answers.flush()


if __name__ == "__main__":
    run_requests()
