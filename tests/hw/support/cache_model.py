"""What a FiberCache bank does when each request is finished before the next comes: a plain model.

Written from the description of the cache, not from its code: lines are objects, a set is a list of ways, and
SRRIP ages step by step as its paper tells.
"""

from collections import Counter
from dataclasses import dataclass

from fiberscope.hw.memory.protocol import CONSUME, FETCH, OPERATIONS, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD

WRITES = (WRITE, WRITE_UNREAD)
NAMES = dict(enumerate(OPERATIONS)) | {WRITE_UNREAD: "write"}  # as they are counted


@dataclass
class Line:
    number: int
    distance: int  # re-reference prediction value: large for reuse far away
    priority: int = 0
    dirty: bool = False


class CacheModel:
    """The contents of one bank, its counters, and what it sent to memory and to the requester."""

    def __init__(self, specification) -> None:
        self.specification = specification
        self.sets = [[None] * specification.ways for _ in range(specification.sets)]
        self.counters = Counter()
        self.traffic = []
        self.answered = []

    def serve(self, operation, number):
        if operation == WRITE_THROUGH:
            self.counters["writes_through"] += 1
            self.traffic.append((WRITE, number))
            return
        ways = self.sets[number // self.specification.banks % self.specification.sets]
        line = next((line for line in ways if line and line.number == number), None)
        self.counters[f"{NAMES[operation]}_{'hits' if line else 'misses'}"] += 1
        if operation != FETCH:
            self.answered.append((operation, number))
        if operation == CONSUME:
            self._consume(ways, line, number)
        elif line is None:
            self._bring(ways, operation, number)
        else:
            self._touch(line, operation)

    def _consume(self, ways, line, number):
        if line is None:
            self.traffic.append((READ, number))
        else:
            ways[ways.index(line)] = None

    def _touch(self, line, operation):
        if operation in WRITES:
            line.dirty = True
            return
        line.distance = 0
        change = 1 if operation == FETCH else -1
        line.priority = sorted([0, line.priority + change, self.specification.priority_limit])[1]

    def _bring(self, ways, operation, number):
        if None not in ways:
            self._evict(ways)
        line = Line(number, self.specification.reuse_limit - 1, dirty=operation in WRITES)
        line.priority = min(int(operation in (FETCH, WRITE)), self.specification.priority_limit)
        ways[ways.index(None)] = line
        if operation not in WRITES:
            self.traffic.append((READ, number))

    def _evict(self, ways):
        # Clean lines first, where they await a read: dirty ones would be read again.
        ranks = [(line.priority, line.dirty == (line.priority > 0)) for line in ways]
        equals = [line for line, rank in zip(ways, ranks, strict=True) if rank == min(ranks)]
        while all(line.distance < self.specification.reuse_limit for line in equals):
            for line in equals:
                line.distance += 1
        victim = next(line for line in equals if line.distance == self.specification.reuse_limit)
        self.counters["evictions"] += 1
        if victim.dirty:
            self.counters["write_backs"] += 1
            self.traffic.append((WRITE, victim.number))
        ways[ways.index(victim)] = None

    @property
    def held(self):
        """Whether each line held is dirty."""
        return {line.number: line.dirty for ways in self.sets for line in ways if line}

    @property
    def priorities(self):
        return {line.number: line.priority for ways in self.sets for line in ways if line}


def served(specification, requests):
    """The model after these requests (operation, line)."""
    model = CacheModel(specification)
    for operation, number in requests:
        model.serve(operation, number)
    return model
