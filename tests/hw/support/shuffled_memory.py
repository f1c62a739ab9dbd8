"""A memory that answers in any order, and tables of lines."""

import numpy as np

from fiberscope.hw.memory.protocol import REPLY, REQUEST
from fiberscope.sim import Component, Input, Output


class Shuffler(Component):
    """A memory that answers each request after a latency of its own."""

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    def __init__(self, name, latencies):
        super().__init__(name)
        self.latencies, self.waiting, self.asked = latencies or (1,), [], []

    def tick(self, now):
        while self.requests.can_pop():
            latency = self.latencies[len(self.asked) % len(self.latencies)]
            self.asked.append(self.requests.reference())
            self.waiting.append((now + latency, self.requests.coordinate(), self.requests.reference()))
            self.requests.pop()
        for entry in sorted(self.waiting):
            if entry[0] <= now and self.replies.can_push():
                self.replies.push(0, entry[1], entry[2])
                self.waiting.remove(entry)
                break
        return self.busy(now + 1) if self.waiting else self.idle()


def lines_of(*lines):
    return memoryview(np.array(lines, np.int64))
