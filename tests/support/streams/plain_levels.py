"""Plain models of what reads and writes levels and values: see ``streams.plain``."""

from streams.plain import EVERY_QUIRK, PlainBlock, is_data, is_stop, raised


class Scanner(PlainBlock):
    """Fibers by reference."""

    inputs = ("ref",)
    outputs = ("crd", "ref")

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.mode = "want"
        self.out = {}

    def step(self):
        self.out = {}
        self.work()
        return self.out

    def work(self):
        references = self.queues["ref"]
        if self.mode == "run":
            self.run()
        elif references and self.mode == "owe":
            self.end()
        elif references:
            self.want(references.popleft())

    def send(self, *tokens):
        """One token for each output."""
        self.out = dict(zip(self.outputs, tokens, strict=True))

    def send_all(self, token):
        self.send(*[token] * len(self.outputs))

    def end(self):
        """The look-ahead rule: the stop if a token is queued, which a stop there raises; else owe it."""
        seen = self.head("ref")
        self.mode = "owe" if seen is None else "want"
        if seen is not None:
            self.send_all(raised(self.pop("ref")) if is_stop(seen) else "S0")

    def end_taken(self):
        """The same for what has only just been taken: what is behind it is seen with the quirk alone."""
        if 0 in self.quirks:
            self.end()
        else:
            self.mode = "owe"

    def want(self, token):
        if token == "D":
            self.send_all("D")
            self.done = True
        elif is_stop(token):
            self.bare_stop(token)
        elif token == "N":
            self.empty()
        else:
            self.begin(token)

    def bare_stop(self, stop):
        self.send_all(raised(stop))

    def empty(self):
        if 5 in self.quirks:
            self.send_all("N")
            self.mode = "owe"
        else:
            self.end_taken()


class CompressedScanner(Scanner):
    def __init__(self, segments, coordinates, quirks=EVERY_QUIRK):
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
        elif self.queues["ref"] or 4 not in self.quirks:
            self.emit_next()


class SkippingScanner(CompressedScanner):
    inputs = ("ref", "skip")

    def __init__(self, segments, coordinates, quirks=EVERY_QUIRK):
        super().__init__(segments, coordinates, quirks)
        self.public = 7 in self.quirks
        self.previous = 0 if self.public else -1
        self.pending = None
        self.fiber = 0
        self.stops_told = self.stops_sent = 0
        self.skipped = self.applied = self.late = self.overtaken = self.longest = 0
        self.last_out = {}

    def arrive(self, port, token):
        """A stop deletes the coordinates queued behind the last stop; without the quirk any token does."""
        if self.done:
            return
        queue = self.queues[port]
        if port == "skip" and (is_stop(token) or not self.public):
            while queue and not is_stop(queue[-1]):
                queue.pop()
        queue.append(token)
        self.longest = max(self.longest, len(self.queues["skip"]))
        if port == "skip" and not self.public and self.pending is not None and not is_stop(self.pending):
            self.pending = None

    def work(self):
        if self.queues["skip"] and self.pending is None:
            self.take(self.pop("skip"))
        super().work()
        self.last_out = self.out
        self.count_out()

    def take(self, skip):
        late = self.stops_told == self.stops_sent and not is_stop(skip) and skip < self.previous
        self.late += late
        self.overtaken += self.stops_told < self.stops_sent
        if not late and self.stops_told >= self.stops_sent:
            self.pending, self.fiber = skip, self.stops_told
        self.stops_told += is_stop(skip)

    def count_out(self):
        """What has been emitted ends what a pending skip may speak of."""
        token = self.out.get("crd")
        if isinstance(token, int):
            self.previous = token
        elif token is not None and is_stop(token):
            self.stops_sent += 1
            if (self.stops_told if self.public else self.fiber) < self.stops_sent:
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


class DenseScanner(Scanner):
    def __init__(self, size, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.size = size

    def want(self, token):
        assert 6 not in self.quirks or is_data(token) or token == "D", (
            "a dense scanner takes references alone"
        )
        super().want(token)

    def begin(self, reference):
        self.base, self.at = reference * self.size, -1
        self.mode = "run"
        if self.size == 0 and 6 not in self.quirks:
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


class BitVectorScanner(Scanner):
    """References are counts of bits; its words are coordinates to a graph, bit vectors to the block."""

    def __init__(self, words, quirks=EVERY_QUIRK, per_fiber=1):
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
        self.send_all(stop if 10 in self.quirks else raised(stop))

    def empty(self):
        self.end_taken()


class ArrayLoad(PlainBlock):
    inputs = ("ref",)
    outputs = ("val",)

    def __init__(self, values, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.values = values

    def step(self):
        if not self.queues["ref"]:
            return {}
        token = self.pop("ref")
        self.done = token == "D"
        if token == "N":
            return {"val": 0}
        return {"val": self.values[token] if is_data(token) else token}


class CompressedWriter(PlainBlock):
    inputs = ("crd",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.segments, self.coordinates = [0], []
        self.open = False
        self.last_stop = "S1"

    def step(self):
        if self.queues["crd"]:
            self.take(self.pop("crd"))
        return {}

    def take(self, token):
        if is_stop(token):
            certain = "S0" in (token, self.last_stop) and 16 not in self.quirks
            if self.open or certain:
                self.segments.append(len(self.coordinates))
            self.open, self.last_stop = False, token
        elif token == "D":
            self.done = True
        else:
            self.coordinates.append(0 if token == "N" else token)
            self.open = True


class ValuesWriter(PlainBlock):
    inputs = ("val",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.values = []

    def step(self):
        if self.queues["val"]:
            token = self.pop("val")
            self.done = token == "D"
            if is_data(token):
                self.values.append(token)
        return {}
