"""Plain models of the stream machine's blocks: queues of text tokens, one update a cycle, no kernel.

A second reading of the specification, written for clearness alone; the components must do the same in every
cycle. ``quirks`` is a mask as the components take it.
"""

from collections import deque

from hw.streams.quirks import Q4, Q5, Q6, Q7, Q10, Q12, Q16


def is_stop(token):
    return isinstance(token, str) and token[0] == "S" and len(token) > 1


def raised(stop):
    return f"S{int(stop[1:]) + 1}"


class PlainBlock:
    """Queues by input port; ``out`` by output port holds what the present update makes."""

    INPUTS = ()
    OUTPUTS = ()

    def __init__(self, quirks=0):
        self.quirks = quirks
        self.queues = {port: deque() for port in self.INPUTS}
        self.out = {}
        self.done = False

    def arrive(self, port, token):
        self.queues[port].append(token)

    def send(self, *tokens):
        """One token for each output."""
        self.out = dict(zip(self.OUTPUTS, tokens, strict=True))

    def send_all(self, token):
        self.send(*[token] * len(self.OUTPUTS))

    def finish(self):
        self.send_all("D")
        self.done = True


def run_plain(block, inputs, limit=100_000):
    """The streams that a block makes of these, as (cycle, token), and the cycle in which it is done."""
    due = {port: deque(stream) for port, stream in inputs.items()}
    made = {port: [] for port in block.OUTPUTS}
    for cycle in range(limit):
        for port, stream in due.items():
            if stream and stream[0][0] == cycle:
                block.arrive(port, stream.popleft()[1])
        block.out = {}
        block.update()
        for port, token in block.out.items():
            made[port].append((cycle, token))
        if block.done:
            return made, cycle
    raise AssertionError("the model is not done")


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
            self.end()


class PlainCompressed(PlainScanner):
    def __init__(self, segments, coordinates, quirks=0):
        super().__init__(quirks)
        self.segments, self.coordinates = segments, coordinates

    def begin(self, reference):
        self.first, self.behind = self.segments[reference], self.segments[reference + 1]
        if self.first == self.behind:
            self.end()
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
        self.last_out = {}

    def arrive(self, port, token):
        """A stop deletes the coordinates queued behind the last stop; without the quirk any token does."""
        queue = self.queues[port]
        if port == "in_skip" and (is_stop(token) or not self.public):
            while queue and not is_stop(queue[-1]):
                queue.pop()
        queue.append(token)
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
                self.pending = None
            if not self.public:
                self.previous = -1

    def jump(self):
        """Apply the pending skip; whether it says more than to go on."""
        skip, self.pending = self.pending, None
        if not is_stop(skip) and skip <= self.previous:
            return False
        places = range(self.first, self.behind)
        wanted = [] if is_stop(skip) else [at for at in places if self.coordinates[at] >= skip]
        if wanted:
            self.emit(wanted[0])
        else:
            self.end()
        return True

    def emit_first(self):
        if self.pending is None:
            self.emit(self.first)
        elif not self.jump():
            if self.public:
                self.out = dict(self.last_out)
            else:
                self.emit(self.first)

    def emit_next(self):
        if self.pending is None or not self.jump():
            self.emit(self.at + 1)


class PlainDense(PlainScanner):
    def __init__(self, size, quirks=0):
        super().__init__(quirks)
        self.size = size

    def begin(self, reference):
        self.base, self.at = reference * self.size, -1
        self.mode = "run"
        if self.size == 0 and not self.quirks & Q6:
            self.end()
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
        self.end()


class PlainBitVector(PlainScanner):
    OUTPUTS = ("out_bv", "out_ref")

    def __init__(self, words, quirks=0):
        super().__init__(quirks)
        self.words = words

    def begin(self, reference):
        self.send(self.words[reference], sum(word.bit_count() for word in self.words[:reference]))
        self.mode = "owe"

    def bare_stop(self, stop):
        self.send_stop(stop if self.quirks & Q10 else raised(stop))

    def empty(self):
        self.end()


class PlainGenerator(PlainBlock):
    INPUTS = ("in_crd",)
    OUTPUTS = ("out_repsig",)

    def update(self):
        if self.queues["in_crd"]:
            token = self.queues["in_crd"].popleft()
            self.send("D" if token == "D" else "S" if is_stop(token) else "R")
            self.done = token == "D"


class PlainRepeater(PlainBlock):
    INPUTS = ("in_ref", "in_repsig")
    OUTPUTS = ("out_ref",)

    def __init__(self, quirks=0):
        super().__init__(quirks)
        self.held = None
        self.wants_reference = True
        self.wants_signal = bool(quirks & Q12)
        self.owes = False

    def end(self):
        references = self.queues["in_ref"]
        self.owes = not references
        if references:
            self.send(raised(references.popleft()) if is_stop(references[0]) else "S0")

    def update(self):
        if self.owes:
            self.end()
            return
        if self.wants_reference and self.queues["in_ref"]:
            self.held = self.queues["in_ref"].popleft()
            self.wants_reference, self.wants_signal = False, True
        if self.wants_signal and self.queues["in_repsig"]:
            self.signal(self.queues["in_repsig"].popleft())

    def signal(self, signal):
        if signal == "R":
            if self.held is not None:
                self.send(self.held)
        elif signal == "D":
            self.finish()
        else:
            self.wants_reference, self.wants_signal = True, False
            if self.held is not None and is_stop(self.held):
                self.send(raised(self.held))
            elif self.held is not None:
                self.end()


class PlainArray(PlainBlock):
    INPUTS = ("in_ref",)
    OUTPUTS = ("out_val",)

    def __init__(self, values, quirks=0):
        super().__init__(quirks)
        self.values = values

    def update(self):
        if self.queues["in_ref"]:
            token = self.queues["in_ref"].popleft()
            self.send(token if isinstance(token, str) and token != "N" else self.load(token))
            self.done = token == "D"

    def load(self, reference):
        return 0 if reference == "N" else self.values[reference]


class PlainCompressedWriter(PlainBlock):
    INPUTS = ("in_crd",)

    def __init__(self, quirks=0):
        super().__init__(quirks)
        self.segments, self.coordinates = [0], []
        self.open = False
        self.last_stop = "S1"

    def update(self):
        if not self.queues["in_crd"]:
            return
        token = self.queues["in_crd"].popleft()
        if is_stop(token):
            certain = "S0" in (token, self.last_stop) and not self.quirks & Q16
            if self.open or certain:
                self.segments.append(len(self.coordinates))
            self.open, self.last_stop = False, token
        elif token == "D":
            self.done = True
        else:
            self.coordinates.append(0 if token == "N" else token)
            self.open = True


class PlainValuesWriter(PlainBlock):
    INPUTS = ("in_val",)

    def __init__(self, quirks=0):
        super().__init__(quirks)
        self.values = []

    def update(self):
        if self.queues["in_val"]:
            token = self.queues["in_val"].popleft()
            self.done = token == "D"
            if not isinstance(token, str):
                self.values.append(token)
