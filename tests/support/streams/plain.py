"""The stream machine in plain Python: queues, registers, one update of each block a cycle.

What the blocks of ``fiberscope.hw.streams`` are held against. Tokens are as the reference examples write
them: numbers, "S0", "D", "N", "R", "S". Ports and parameters have the names of the examples, too. Quirks of
the public simulator are numbered as on the blocks; a model has all of them unless told otherwise.
"""

from collections import deque

EVERY_QUIRK = frozenset(range(41))


def is_stop(token):
    return isinstance(token, str) and token[0] == "S" and token != "S"


def level_of(token):
    return int(token[1:])


def raised(stop):
    return f"S{level_of(stop) + 1}"


def is_data(token):
    return not isinstance(token, str)


class PlainBlock:
    """A block of the page: what an update makes is a dict from port to token, idle ports left out."""

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def __init__(self, quirks=EVERY_QUIRK):
        self.quirks = frozenset(quirks)
        self.queues = {port: deque() for port in self.inputs}
        self.done = False
        self.done_cycle = None  # of ``drive``

    def arrive(self, port, token):
        self.queues[port].append(token)

    def head(self, port):
        """The oldest token of a queue, or None."""
        return self.queues[port][0] if self.queues[port] else None

    def pop(self, port):
        return self.queues[port].popleft()

    def update(self):
        return {} if self.done else self.step()

    def step(self):
        raise NotImplementedError


def drive(block, inputs):
    """Run a block alone, until it is done or does no more: (cycle, token) by port in and by port out."""
    feeds = {port: deque(tokens) for port, tokens in inputs.items()}
    patience = 10 + sum(map(len, feeds.values()))  # updates in which nothing shows outside
    outputs, cycle, quiet = {}, 0, 0
    while quiet < patience:
        for port, feed in feeds.items():
            while feed and feed[0][0] == cycle:
                block.arrive(port, feed.popleft()[1])
        seen = sum(map(len, block.queues.values()))
        emitted = block.update()
        if block.done and block.done_cycle is None:
            block.done_cycle = cycle
        for port, token in emitted.items():
            outputs.setdefault(port, []).append((cycle, token))
        waits = not any(feeds.values()) and seen == sum(map(len, block.queues.values()))
        quiet = quiet + 1 if waits and not emitted else 0
        cycle += 1
    return outputs
