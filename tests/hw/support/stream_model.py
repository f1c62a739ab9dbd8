"""Plain models of the stream machine's blocks: queues of text tokens, one update a cycle, no kernel.

A second reading of the specification, written for clearness alone; the components must do the same in every
cycle. ``quirks`` is a mask as the components take it.
"""

from collections import deque

from fiberscope.hw.streams.quirks import Q0, Q12, Q16


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
        self.new = self.wants_reference and bool(self.queues["in_ref"])
        if self.new:
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
            elif self.held is not None and self.new and not self.quirks & Q0:
                self.owes = True
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
