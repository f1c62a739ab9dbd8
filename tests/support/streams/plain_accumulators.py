"""Plain models of the accumulators and of what makes fibers of their points: see ``streams.plain``."""

from collections import defaultdict

from streams.plain import EVERY_QUIRK, PlainBlock, is_stop

POINT = ("outer", "inner", "val")


class PointToFiber(PlainBlock):
    inputs = ("outer", "inner")

    def __init__(self, quirks=EVERY_QUIRK, last_level=True):
        super().__init__(quirks)
        self.outer = None  # of the fiber that is open
        self.closed = False  # the last stops have left
        del last_level

    def step(self):
        if not all(self.queues.values()):
            return {}
        outer, inner = (self.head(port) for port in self.inputs)
        if outer == "D":
            return self.end()
        if self.outer is not None and outer != self.outer:
            self.outer = None
            return {"inner": "S0"}
        opened = {} if outer == self.outer else {"outer": self.pop_both()}
        if not opened:
            self.pop_both()
        self.outer = outer
        return opened | {"inner": inner}

    def pop_both(self):
        self.pop("inner")
        return self.pop("outer")

    def end(self):
        if self.outer is not None or (18 not in self.quirks and not self.closed):
            self.outer, self.closed = None, True
            return {"outer": "S0", "inner": "S1"}
        self.done = True
        return {port: self.pop(port) for port in self.inputs}


class Accumulator(PlainBlock):
    """What both have: tables of sums, fibers scheduled, and points on their way to be fibers."""

    inputs = POINT

    def __init__(self, quirks=EVERY_QUIRK, val_stkn=False):
        super().__init__(quirks)
        self.stops_in_values = val_stkn or 25 not in self.quirks
        self.table = defaultdict(lambda: defaultdict(float))
        self.scheduled = []  # [outer, last inner that was emitted]
        self.points = PointToFiber(quirks)
        self.values = []
        self.ended = False  # D has been taken
        self.sent_all = False

    def step(self):
        if all(self.queues.values()) and not self.ended:
            self.take(*(self.pop(port) for port in POINT))
        if 25 in self.quirks or not self.points.queues["outer"]:
            self.emit_point()
        fibers = self.points.update()
        self.done = self.points.done
        emitted = {f"crd_{port}": token for port, token in fibers.items()}
        value = self.next_value(fibers.get("inner"))
        return emitted if value is None else emitted | {"val": value}

    def next_value(self, inner):
        if not self.stops_in_values:
            return self.values.pop(0) if self.values else None
        if inner is None:
            return None
        return inner if is_stop(inner) else self.values.pop(0)

    def emit_point(self):
        if self.scheduled:
            entry = self.scheduled[0]
            outer, last = entry
            sums = self.table[outer]
            inner = min(i for i in sums if i > last)
            self.send(outer, inner, sums[inner])
            entry[1] = inner
            if max(sums) == inner:
                self.scheduled.pop(0)
                if 17 not in self.quirks:
                    del self.table[outer]
        elif self.ended and not self.sent_all:
            self.sent_all = True
            self.send("D", "D", "D")

    def send(self, outer, inner, value):
        self.points.queues["outer"].append(outer)
        self.points.queues["inner"].append(inner)
        self.values.append(value)


class VectorReduce(Accumulator):
    def __init__(self, quirks=EVERY_QUIRK, val_stkn=False):
        super().__init__(quirks, val_stkn)
        self.outer = None

    def take(self, outer, inner, value):
        if self.outer is not None and outer != self.outer:
            assert 17 in self.quirks or outer == "D" or outer > self.outer, "an outer coordinate comes back"
            self.scheduled.append([self.outer, -1])
        self.outer = outer
        if outer == "D":
            self.ended = True
        else:
            self.table[outer][inner] += value


class MatrixReduce(Accumulator):
    def take(self, outer, inner, value):
        if outer != "D":
            self.table[outer][inner] += value
            return
        assert self.table or 18 not in self.quirks, "no points at all"
        self.ended = True
        self.scheduled = [[key, -1] for key in sorted(self.table)]
