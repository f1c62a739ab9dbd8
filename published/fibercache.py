"""What Gamma's FiberCache reads of B, why, and what caches without sets would read for the same requests.

    python published/fibercache.py email-Enron reorder=affinity memory.model=simple

The requests are those of a run, in the order in which the banks took them; a cache with other hits would
have had others. The models hold as many lines in any place. *Farthest* evicts what is used last in times to
come (Belady), which no cache can know: less cannot be read for these requests. *Least recent* never evicts a
partial fiber before it is consumed. Each with the partial fibers in the cache, and as if they took no room.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import fiberscope
from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.layout import B_POINTERS, PARTIAL, B
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, TENSOR_SHIFT, WRITE

NEVER = 1 << 62
Lines = NDArray[np.integer]

operations = array("b")  # of all requests that the banks took
addresses = array("q")
lost = array("b")  # 1 for each line of B that was evicted between its fetch and its read


class RecordingBank(FiberCacheBank):
    """A bank that notes what it takes."""

    def tick(self, now: int) -> int:
        """A cycle of the bank, and the request that it took."""
        requests = self.requests
        head = requests.token(0) if requests.occupancy else None
        taken, missed = requests.pops, self.read_misses
        then = super().tick(now)
        if head is not None and requests.pops > taken:
            operations.append(head[0])
            addresses.append(head[2])
        if self.read_misses > missed:
            asked = self.memory_requests.token(self.memory_requests.occupancy - 1)[2]
            if asked >> TENSOR_SHIFT == B:
                lost.append(1)
        return then


class Requests:
    """Uses of lines of B and its row pointers, and of partial fibers where they are to take room.

    A line of B is used when it is fetched; a row pointer when it is read; a partial fiber's line is written
    and consumed.

    Args:
        made, where: operation and address of each request.
        line_bytes: bytes of a line.
        partials: whether partial fibers take room.
    """

    def __init__(self, made: Lines, where: Lines, line_bytes: int, *, partials: bool) -> None:
        tensors = where >> TENSOR_SHIFT
        used = (made == FETCH) & (tensors == B) | (made == READ) & (tensors == B_POINTERS)
        if partials:
            used |= (tensors == PARTIAL) & ((made == WRITE) | (made == CONSUME))
        self.partial = (tensors == PARTIAL)[used]
        self.consumes = (made == CONSUME)[used]
        distinct, numbers = np.unique(where[used] // line_bytes, return_inverse=True)
        self.lines: Lines = numbers
        self.count = int((distinct * line_bytes >> TENSOR_SHIFT != PARTIAL).sum())

    def __iter__(self) -> Iterator[tuple[int, bool, bool]]:
        """Line, whether it is a partial fiber's, and whether it is used for the last time."""
        return zip(self.lines.tolist(), self.partial.tolist(), self.consumes.tolist(), strict=True)

    def next_uses(self) -> Lines:
        """By use, that of the same line which comes next."""
        order = np.lexsort((np.arange(len(self.lines)), self.lines))
        after = np.full(len(self.lines), NEVER)
        same = self.lines[order[1:]] == self.lines[order[:-1]]
        after[order[:-1][same]] = order[1:][same]
        after[self.consumes] = NEVER
        return after


def least_recent(requests: Requests, capacity: int) -> int:
    """Lines of B read by a cache that evicts the least recently used one, of B."""
    held: OrderedDict[int, None] = OrderedDict()
    read = room_taken = 0
    for line, partial, consumed in requests:
        if partial:
            room_taken += -1 if consumed else 1
        elif line in held:
            held.move_to_end(line)
        else:
            read += 1
            held[line] = None
        if len(held) + room_taken > capacity and held:
            held.popitem(last=False)
    return read


def farthest(requests: Requests, capacity: int) -> int:
    """Lines of B read by a cache that evicts the one whose next use is farthest, of whatever tensor."""
    held: dict[int, int] = {}  # line: its next use
    farthest_first: list[tuple[int, int]] = []
    read = 0
    for (line, partial, consumed), after in zip(requests, requests.next_uses().tolist(), strict=True):
        if line not in held and not partial:
            read += 1
        held[line] = after
        if consumed:
            del held[line]
            continue
        heapq.heappush(farthest_first, (-after, line))
        while len(held) > capacity:
            use, victim = heapq.heappop(farthest_first)
            if held.get(victim) == -use:
                del held[victim]
    return read


def main() -> None:
    """Run Gamma on a matrix, and print what was read and what the models would read."""
    matrix, *given = sys.argv[1:] or ["p2p-Gnutella31"]
    settings = dict(setting.split("=", 1) for setting in given)
    report = fiberscope.simulate("gamma", matrix, settings=settings, parts={"bank": RecordingBank})
    cache = GammaConfiguration.model_validate(report.config).fibercache
    made, where = np.asarray(operations), np.asarray(addresses)
    alone, beside = (Requests(made, where, cache.line, partials=room) for room in (False, True))
    lines = cache.size // cache.line
    figures = {
        "B by the machine, in MB": report.traffic["B"].read_bytes // cache.line,
        "of that, each line once": alone.count,
        "of that, evicted between fetch and read": sum(lost),
        "least recent, partial fibers in the cache": least_recent(beside, lines),
        "least recent, partial fibers without room": least_recent(alone, lines),
        "farthest, partial fibers in the cache": farthest(beside, lines),
        "farthest, partial fibers without room": farthest(alone, lines),
    }
    print(f"gamma, {matrix}, {' '.join(given)}: {report.cycles:,} cycles")
    for what, count in figures.items():
        print(f"{what:44} {count * cache.line / 1e6:8.2f}")


if __name__ == "__main__":
    main()
