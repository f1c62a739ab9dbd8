"""Plain models of scanners, see ``stream_model``."""

from stream_model import PlainBlock, is_stop, raised

from fiberscope.hw.streams.quirks import Q0, Q4, Q5, Q6, Q7, Q10


class PlainScanner(PlainBlock):
    INPUTS = ("in_ref",)
    OUTPUTS = ("out_crd", "out_ref")

    def __init__(self, quirks=0):
        super().__init__(quirks)
        self.mode = "want"

    @property
    def q(self):
        return self.queues["in_ref"]

    def end(self):
        """The look-ahead rule: the stop if a token is queued, which a stop there raises; else owe it."""
        self.mode = "want" if self.q else "owe"
        if self.q:
            self.send_stop(raised(self.q.popleft()) if is_stop(self.q[0]) else "S0")

    def end_taken(self):
        """The same for what has only just been taken: what is behind it is seen with the quirk alone."""
        if self.quirks & Q0:
            self.end()
        else:
            self.mode = "owe"

    def send_stop(self, stop):
        self.send_all(stop)

    def update(self):
        if self.mode == "run":
            self.run()
        elif self.q and self.mode == "owe":
            self.end()
        elif self.q:
            self.want(self.q.popleft())

    def want(self, token):
        if token == "D":
            self.finish()
        elif is_stop(token):
            self.bare_stop(token)
        elif token == "N":
            self.empty()
        else:
            self.begin(token)

    def bare_stop(self, stop):
        self.send_stop(raised(stop))

    def empty(self):
        if self.quirks & Q5:
            self.send_all("N")
            self.mode = "owe"
        else:
            self.end_taken()


class PlainCompressed(PlainScanner):
    def __init__(self, segments, coordinates, quirks=0):
        super().__init__(quirks)
        self.segments, self.coordinates = segments, coordinates

    def begin(self, reference):
        self.first, self.behind = self.segments[reference], self.segments[reference + 1]
        if self.first == self.behind:
            self.end_taken()
        else:
            self.mode = "run"
            self.at = self.first
            self.emit_first()

    def emit(self, position):
        self.at = position
        self.send(self.coordinates[position], position)

    def emit_first(self):
        self.emit(self.first)

    def emit_next(self):
        self.emit(self.at + 1)

    def run(self):
        if self.at == self.behind - 1:
            self.end()
        elif self.q or not self.quirks & Q4:
            self.emit_next()


class PlainSkipping(PlainCompressed):
    INPUTS = ("in_ref", "in_skip")

    def __init__(self, segments, coordinates, quirks=0):
        super().__init__(segments, coordinates, quirks)
        self.public = bool(quirks & Q7)
        self.previous = 0 if self.public else -1
        self.pending = None
        self.fiber = 0
        self.sk = self.sent_stops = 0
        self.skipped = self.applied = self.late = self.overtaken = self.longest = 0
        self.last_out = {}

    def arrive(self, port, token):
        """A stop deletes the coordinates queued behind the last stop; without the quirk any token does."""
        queue = self.queues[port]
        if port == "in_skip" and (is_stop(token) or not self.public):
            while queue and not is_stop(queue[-1]):
                queue.pop()
        queue.append(token)
        self.longest = max(self.longest, len(self.queues["in_skip"]))
        if port == "in_skip" and not self.public and self.pending is not None and not is_stop(self.pending):
            self.pending = None

    def update(self):
        skips = self.queues["in_skip"]
        if skips and self.pending is None:
            self.take(skips.popleft())
        super().update()
        self.last_out = self.out
        self.count_out()

    def take(self, skip):
        late = self.sk == self.sent_stops and not is_stop(skip) and skip < self.previous
        self.late += late
        self.overtaken += self.sk < self.sent_stops
        if not late and self.sk >= self.sent_stops:
            self.pending, self.fiber = skip, self.sk
        self.sk += is_stop(skip)

    def count_out(self):
        """What has been emitted ends what a pending skip may speak of."""
        token = self.out.get("out_crd")
        if isinstance(token, int):
            self.previous = token
        elif token is not None and is_stop(token):
            self.sent_stops += 1
            if (self.sk if self.public else self.fiber) < self.sent_stops:
                self.overtaken += self.pending is not None
                self.pending = None
            if not self.public:
                self.previous = -1

    def jump(self, due, end):
        """Apply the pending skip, by ``end`` where nothing is left; whether it says more than to go on."""
        skip, self.pending = self.pending, None
        if not is_stop(skip) and skip <= self.previous:
            self.late += 1
            return False
        self.applied += 1
        places = range(self.first, self.behind)
        wanted = [] if is_stop(skip) else [at for at in places if self.coordinates[at] >= skip]
        self.skipped += (wanted[0] if wanted else self.behind) - due
        if wanted:
            self.emit(wanted[0])
        else:
            end()
        return True

    def emit_first(self):
        if self.pending is None:
            self.emit(self.first)
        elif not self.jump(self.first, self.end_taken):
            if self.public:
                self.out = dict(self.last_out)
            else:
                self.emit(self.first)

    def emit_next(self):
        if self.pending is None or not self.jump(self.at + 1, self.end):
            self.emit(self.at + 1)


class PlainDense(PlainScanner):
    def __init__(self, size, quirks=0):
        super().__init__(quirks)
        self.size = size

    def begin(self, reference):
        self.base, self.at = reference * self.size, -1
        self.mode = "run"
        if self.size == 0 and not self.quirks & Q6:
            self.end_taken()
        else:
            self.emit_next()

    def emit_next(self):
        self.at += 1
        self.send(self.at, self.base + self.at)

    def run(self):
        if self.at >= self.size - 1:
            self.end()
        else:
            self.emit_next()

    def empty(self):
        self.end_taken()


class PlainBitVector(PlainScanner):
    OUTPUTS = ("out_bv", "out_ref")

    def __init__(self, words, quirks=0, per_fiber=1):
        super().__init__(quirks)
        self.words, self.per_fiber = words, per_fiber

    def begin(self, reference):
        self.left = list(range(reference * self.per_fiber, (reference + 1) * self.per_fiber))
        self.run()

    def run(self):
        at = self.left.pop(0)
        self.send(self.words[at], sum(word.bit_count() for word in self.words[:at]))
        self.mode = "run" if self.left else "owe"

    def bare_stop(self, stop):
        self.send_stop(stop if self.quirks & Q10 else raised(stop))

    def empty(self):
        self.end_taken()
