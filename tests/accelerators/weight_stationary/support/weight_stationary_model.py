"""The weight-stationary array again, plainly: passes and beats as lists, their times by recurrences."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class PlainPe:
    """A processing element: when it took each token, and when each of its sums was taken from it."""

    pops: list[int] = field(default_factory=list)
    free: int = 0  # the cycle from which it may take another
    taken: list[int] = field(default_factory=list)
    row: int | None = None


def slices_of(parameters, b, first, last):
    """The slices of K in a pass over some columns of B: low, high."""
    depth, room = b.shape[0], parameters.pe.buffer
    if parameters.acf.b == "dense":
        yield from ((low, min(low + room, depth)) for low in range(0, depth, room))
        return
    low, held = 0, Counter()
    for k in range(depth):
        row = [n for n in range(first, last) if b[k, n]]
        if any(2 * (held[n] + 1) > room for n in row):
            yield low, k
            low, held = k, Counter()
        held.update(row)
    yield low, depth


def beats_of(parameters, a, low, high):
    """What crosses the bus: lists of places of A."""
    acf, words = parameters.acf.a, parameters.bus.words
    fit = {"dense": words - 1, "csr": (words - 1) // 2, "csc": (words - 1) // 2, "coo": words // 3}[acf]
    rows, columns = range(a.shape[0]), range(low, high)
    if acf == "dense":
        pieces = [columns[first : first + fit] for first in range(0, len(columns), fit)]
        return [[(m, k) for k in piece if a[m, k]] for m in rows for piece in pieces]
    by_row = [[(m, k) for k in columns if a[m, k]] for m in rows]
    by_column = [[(m, k) for m in rows if a[m, k]] for k in columns]
    whole = {"csr": by_row, "csc": by_column, "coo": [[one for row in by_row for one in row]]}[acf]
    return [one[first : first + fit] for one in whole for first in range(0, len(one), fit)]


def found_per_id(parameters):
    """Cycles in which what meets one id is found."""
    if parameters.match == "bus" or parameters.acf.a == "dense":
        return 0
    if parameters.acf.b == "dense":
        return parameters.pe.dense_match
    return -(-(parameters.pe.buffer // 2) // parameters.pe.comparators)


class PlainArray:
    """A run of the array; a and b are dense. ``cycles`` and ``counts`` are what it comes to."""

    def __init__(self, parameters, a, b):
        self.parameters, self.a, self.b = parameters, a, b
        self.pes = [PlainPe() for _ in range(min(parameters.pe.count, max(1, b.shape[1])))]
        self.counts = Counter()
        self.sums = Counter()  # by element of the product
        self.sent = []  # by token, the cycle in which the bus has sent it
        self.next = 0  # cycle in which the bus may send
        for first in range(0, b.shape[1], parameters.pe.count):
            last = min(first + parameters.pe.count, b.shape[1])
            for low, high in slices_of(parameters, b, first, last):
                self._pass(first, last, low, high)
        ends = [self.sent[-1] + 1] if self.sent else [0]
        ends += [pe.free for pe in self.pes] + [pe.taken[-1] + 1 for pe in self.pes if pe.taken]
        self.cycles = max(ends)
        self.counts["output add"] = sum(times - 1 for times in self.sums.values())

    def _pass(self, first, last, low, high):
        parameters = self.parameters
        if parameters.bus.load == "counted":
            held = self.b[low:high, first:last]
            words = held.size if parameters.acf.b == "dense" else 2 * int((held != 0).sum())
            self.next += -(-words // parameters.bus.words)
            self.counts["loading"] += -(-words // parameters.bus.words)
        for beat in [*beats_of(parameters, self.a, low, high), None]:
            number = len(self.sent)
            queued = number - parameters.pe.queue  # the token that has to be taken for this one to have room
            self.sent.append(max([self.next, *(pe.pops[queued] + 1 for pe in self.pes if queued >= 0)]))
            self.next = self.sent[-1] + 1
            for place, pe in enumerate(self.pes):
                self._take(pe, first + place, last, beat)
        self.counts["passes"] += 1

    def _take(self, pe, column, last, beat):
        """A token at a processing element."""
        at = max(self.sent[-1] + 1, pe.free)
        room = self.parameters.pe.latency + self.parameters.bus.words
        while len(pe.taken) - bisect_left(pe.taken, at) > room:
            at += 1
        pe.pops.append(at)
        self.counts["streamed"] += beat is not None and pe is self.pes[0]
        lasts = self._end(pe, column, at) if beat is None else self._match(pe, column, last, beat, at)
        pe.free = at + lasts

    def _match(self, pe, column, last, beat, at):
        parameters, sums, products = self.parameters, 0, 0
        for row, k in beat:
            if column < last and self.b[k, column]:
                products += 1
                if row == pe.row:
                    self.counts["add"] += 1
                else:
                    sums += self._send(pe, column, at)
                    pe.row = row
        ids = len({k for _row, k in beat})
        self.counts["multiply"] += products
        self.counts["searched"] += ids
        return max(1, ids * found_per_id(parameters), -(-products // parameters.pe.lanes), sums)

    def _end(self, pe, column, at):
        self._send(pe, column, at)
        pe.row = None
        return 1

    def _send(self, pe, column, at):
        """The sum of the present row, if there is one, leaves, and is taken behind those before."""
        if pe.row is None:
            return 0
        pe.taken.append(max([at + self.parameters.pe.latency, *(taken + 1 for taken in pe.taken[-1:])]))
        self.sums[pe.row, column] += 1
        self.counts["sent"] += 1
        return 1
