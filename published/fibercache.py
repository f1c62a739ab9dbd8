"""Reads of B by Gamma's FiberCache, compared with fully associative caches on the same requests.

    python published/fibercache.py email-Enron reorder=affinity memory.model=simple

The requests are those of a run, in the order of the banks; a cache with other hits would receive other
requests. The models are fully associative with the same number of lines. *Farthest* is Belady's OPT, a lower
bound for these requests. *Least recent* is LRU that never evicts a partial fiber before it is consumed. Each
model runs with and without partial fibers in the cache.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.layout import B_POINTERS, PARTIAL, B
from fiberscope.explore.tables import simulate_to_end
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, TENSOR_SHIFT, WRITE

NEVER = 1 << 62
Lines = NDArray[np.integer]

operations = array("b")  # of all requests that the banks accepted
addresses = array("q")
evicted_unread = array("b")  # 1 for each line of B evicted between its fetch and its read


class RecordingBank(FiberCacheBank):
    """A bank that records its accepted requests."""

    def tick(self, now: int) -> int:
        """Execute a cycle of the bank, and record the accepted request."""
        requests = self.requests
        head = requests.token(0) if requests.occupancy else None
        pops, missed = requests.pops, self.read_misses
        wake = super().tick(now)
        if head is not None and requests.pops > pops:
            operations.append(head[0])
            addresses.append(head[2])
        if self.read_misses > missed:
            address = self.memory_requests.token(self.memory_requests.occupancy - 1)[2]
            if address >> TENSOR_SHIFT == B:
                evicted_unread.append(1)
        return wake


class Requests:
    """Uses of lines of B and its row pointers, optionally with partial fibers.

    A line of B is used when it is fetched, a row pointer when it is read. A line of a partial fiber is
    written and consumed.

    Args:
        opcodes, targets: operation and address of each request.
        line_bytes: bytes of a line.
        partials: whether partial fibers occupy lines.
    """

    def __init__(self, opcodes: Lines, targets: Lines, line_bytes: int, *, partials: bool) -> None:
        tensors = targets >> TENSOR_SHIFT
        is_used = (opcodes == FETCH) & (tensors == B) | (opcodes == READ) & (tensors == B_POINTERS)
        if partials:
            is_used |= (tensors == PARTIAL) & ((opcodes == WRITE) | (opcodes == CONSUME))
        self.partial = (tensors == PARTIAL)[is_used]
        self.consumes = (opcodes == CONSUME)[is_used]
        distinct, numbers = np.unique(targets[is_used] // line_bytes, return_inverse=True)
        self.lines: Lines = numbers
        self.count = int((distinct * line_bytes >> TENSOR_SHIFT != PARTIAL).sum())

    def __iter__(self) -> Iterator[tuple[int, bool, bool]]:
        """Yield the line, whether it belongs to a partial fiber, and whether this is its last use."""
        return zip(self.lines.tolist(), self.partial.tolist(), self.consumes.tolist(), strict=True)

    def next_uses(self) -> Lines:
        """Return for each use the next use of the same line."""
        order = np.lexsort((np.arange(len(self.lines)), self.lines))
        next_use = np.full(len(self.lines), NEVER)
        is_repeated = self.lines[order[1:]] == self.lines[order[:-1]]
        next_use[order[:-1][is_repeated]] = order[1:][is_repeated]
        next_use[self.consumes] = NEVER
        return next_use


def count_lru_misses(requests: Requests, capacity: int) -> int:
    """Return the lines of B read by an LRU cache that evicts lines of B only."""
    resident: OrderedDict[int, None] = OrderedDict()
    misses = partial_lines = 0
    for line, partial, consumed in requests:
        if partial:
            partial_lines += -1 if consumed else 1
        elif line in resident:
            resident.move_to_end(line)
        else:
            misses += 1
            resident[line] = None
        if len(resident) + partial_lines > capacity and resident:
            resident.popitem(last=False)
    return misses


def count_opt_misses(requests: Requests, capacity: int) -> int:
    """Return the lines of B read under Belady's OPT, for all tensors."""
    resident: dict[int, int] = {}  # next use by line
    farthest_first: list[tuple[int, int]] = []
    misses = 0
    for (line, partial, consumed), next_use in zip(requests, requests.next_uses().tolist(), strict=True):
        if line not in resident and not partial:
            misses += 1
        resident[line] = next_use
        if consumed:
            del resident[line]
            continue
        heapq.heappush(farthest_first, (-next_use, line))
        while len(resident) > capacity:
            use, victim = heapq.heappop(farthest_first)
            if resident.get(victim) == -use:
                del resident[victim]
    return misses


def main() -> None:
    """Run Gamma on a matrix; print the reads of the machine and of the models."""
    matrix, *arguments = sys.argv[1:] or ["p2p-Gnutella31"]
    settings = dict(setting.split("=", 1) for setting in arguments)
    report = simulate_to_end("gamma", matrix, settings=settings, parts={"bank": RecordingBank})
    cache = GammaConfiguration.model_validate(report.config).fibercache
    opcodes, targets = np.asarray(operations), np.asarray(addresses)
    without_partials, with_partials = (
        Requests(opcodes, targets, cache.line, partials=is_included) for is_included in (False, True)
    )
    lines = cache.size // cache.line
    figures = {
        "B by the machine, in MB": report.traffic["B"].read_bytes // cache.line,
        "of that, each line once": without_partials.count,
        "of that, evicted between fetch and read": sum(evicted_unread),
        "least recent, partial fibers in the cache": count_lru_misses(with_partials, lines),
        "least recent, partial fibers without room": count_lru_misses(without_partials, lines),
        "farthest, partial fibers in the cache": count_opt_misses(with_partials, lines),
        "farthest, partial fibers without room": count_opt_misses(without_partials, lines),
    }
    print(f"gamma, {matrix}, {' '.join(arguments)}: {report.cycles:,} cycles")
    for label, count in figures.items():
        print(f"{label:44} {count * cache.line / 1e6:8.2f}")


if __name__ == "__main__":
    main()
