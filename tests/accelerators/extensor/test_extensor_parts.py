"""The core against a plain one that makes one step a cycle; buffer and stream cycle by cycle."""

from __future__ import annotations

import numpy as np
import pytest
from extensor_bench import random_matrix
from extensor_model import Model
from streams import check_laws, run_block

from accelerators.extensor.configuration import Format
from accelerators.extensor.layout import NOTHING, SLOTS
from accelerators.extensor.operand import TiledOperand, tiled_a, tiled_b
from accelerators.extensor.output import PartialSlot
from accelerators.extensor.pe import IntersectingCore, MicrotileBuffer
from accelerators.extensor.stream import MemoryStream
from accelerators.extensor.tiles import matrix_tree
from hw.memory import READ, TENSOR_SHIFT, WRITE
from sim import Component, Input, Output

SIDE, SHAPE = 8, (4, 1, 4)
FORMAT = Format(a_microtile=96, b_row=64, b_microtile=64, fiber=64, element=96, output=128)


def operands():
    """Four microtiles of A and four of B that all meet, K1 being one."""
    a, b = random_matrix(32, 8, 90, seed=1), random_matrix(8, 32, 90, seed=2)
    trees = tiled_a(matrix_tree(a, ("M", "K")), SIDE, SHAPE), tiled_b(matrix_tree(b, ("K", "N")), SIDE, SHAPE)
    formats = FORMAT.a, FORMAT.b
    return [TiledOperand(tree, chosen) for tree, chosen in zip(trees, formats, strict=True)], Model(
        a, b, SIDE, SHAPE
    )


class PlainCore(Component):
    """The core with a step a cycle: it ticks in each, and knows nothing of what is to come."""

    PORTS = (Input("ready", "microtile product"), Output("partials", "partial outputs"))

    def __init__(self, name, a, b):
        super().__init__(name)
        self.a, self.b = a, b
        self.steps = None
        self.total = 0

    def elaborate(self):
        self.ready, self.partials = self.channel("ready"), self.channel("partials")

    def tick(self, now):
        if self.steps is not None and next(self.steps, None) is None:
            if not self.partials.can_push():
                return self.wait_output(self.partials)
            self.partials.push(0, 0 if self.found else NOTHING, 0, 0.0)
            self.ready.pop()
            self.steps = None
        if self.steps is None:
            if not self.ready.can_pop():
                return self.idle()
            self.found = False
            self.steps = self._walk(self.ready.coordinate(), self.ready.reference())
            next(self.steps)
        self.total += 1
        return self.busy(now + 1)

    def _walk(self, a, b):
        for f in range(self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]):
            for g in range(self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]):
                yield from self._dot(fiber(self.a, f), fiber(self.b, g))

    def _dot(self, left, right):
        while left and right:
            yield True
            if left[0] == right[0]:
                self.found = True
                left, right = left[1:], right[1:]
            elif left[0] < right[0]:
                left = [k for k in left if k >= right[0]]
            else:
                right = [k for k in right if k >= left[0]]


def fiber(operand, number):
    return list(operand.element_k[operand.fiber_elements[number] : operand.fiber_elements[number + 1]])


def core(a, b):
    slots = [PartialSlot() for _ in range(SLOTS)]
    return IntersectingCore("core", a, b, slots, 0, microtile=SIDE, shape=(4, 4))


def products():
    return [(0, i, j, 0.0) for i in range(4) for j in range(4)]


def timeline(outcome, name):
    """Cycles in which results came, whether there were any, and where the core's cycles went."""
    times = [(cycle, token[1] != NOTHING) for cycle, token in outcome.received["partials"]]
    part = outcome.statistics[name]
    return times, (part.busy, part.idle, part.input_stall, part.output_stall), outcome.run


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_product_in_one_tick_is_what_a_step_a_cycle_gives(seed):
    (a, b), model = operands()
    plain, fast = PlainCore("core", a, b), core(a, b)
    expected = run_block(plain, {"ready": products()}, ["partials"], seed=seed)
    found = run_block(fast, {"ready": products()}, ["partials"], seed=seed)
    assert timeline(found, "core") == timeline(expected, "core")
    assert fast.steps == plain.total == sum(model.product_steps)


def test_planted_a_step_too_few_is_found(monkeypatch):
    (a, b), _model = operands()
    plain = PlainCore("core", a, b)
    monkeypatch.setattr(plain, "_dot", lambda left, right: iter([True] * len(left)))
    expected = run_block(plain, {"ready": products()}, ["partials"])
    assert timeline(run_block(core(a, b), {"ready": products()}, ["partials"]), "core") != timeline(
        expected, "core"
    )


def test_the_core_keeps_the_laws():
    (a, b), _model = operands()
    check_laws(lambda: core(a, b), {"ready": products()}, ["partials"])


def test_the_buffer_keeps_the_laws():
    (a, b), _model = operands()
    check_laws(lambda: MicrotileBuffer("buffer", a, b, 16, 1 << 16), {"tasks": products()}, ["ready"])


def test_moving_takes_a_cycle_for_each_port_of_bytes():
    (a, b), _model = operands()
    outcome = run_block(MicrotileBuffer("buffer", a, b, 16, 1 << 16), {"tasks": products()[:3]}, ["ready"])
    sizes = [a.microtile_bytes[0] + b.microtile_bytes[0], b.microtile_bytes[1], b.microtile_bytes[2]]
    # Seen in cycle 1, one behind the other, and a cycle on the way to the sink.
    expected = 1 + np.cumsum([-(-size // 16) for size in sizes]) + 1
    assert [cycle for cycle, _token in outcome.received["ready"]] == expected.tolist()


class Echo(Component):
    """Answers a read after 7 cycles, the odd ones after 3, so that they come out of order."""

    PORTS = (Input("requests", "memory request"), Output("replies", "memory reply"))

    def __init__(self, name):
        super().__init__(name)
        self.waiting, self.addresses = [], []

    def elaborate(self):
        self.requests, self.replies = self.channel("requests"), self.channel("replies")

    def tick(self, now):
        if self.requests.can_pop():
            self.addresses.append(self.requests.reference())
            delay = 3 if len(self.addresses) % 2 else 7
            self.waiting.append((now + delay, self.requests.coordinate()))
            self.requests.pop()
        due = min(self.waiting, default=None)
        if due is not None and due[0] <= now and self.replies.can_push():
            self.waiting.remove(due)
            self.replies.push(READ, due[1], 0, 0.0)
        return self.busy(now + 1) if self.waiting else self.idle()


def test_a_stream_packs_its_jobs_into_lines(kernel_of_stream):
    memory, sink, stream = kernel_of_stream(READ, [10, 0, 60, 200])
    base = 1 << TENSOR_SHIFT
    assert memory.addresses == [base + 64 * i for i in range(5)]  # 270 bytes
    assert len(sink.received) == 4
    assert stream.counters() == {"bytes": 270, "lines": 5}


def test_writes_are_done_when_they_are_sent(kernel_of_stream):
    sent, sink, stream = kernel_of_stream(WRITE, [64, 64, 1])
    assert [token[2] for _cycle, token in sent.received] == [(1 << TENSOR_SHIFT) + 64 * i for i in range(3)]
    assert len(sink.received) == 3
    assert stream.counters() == {"bytes": 129, "lines": 3}


@pytest.fixture
def kernel_of_stream():
    from streams import StreamSink, StreamSource

    from sim import Kernel

    def run(operation, jobs):
        kernel = Kernel()
        kernel.clock("core", 10**9)
        stream = kernel.add(MemoryStream("stream", operation, 1, 0, 0, line_bytes=64, lines=4))
        source = kernel.add(StreamSource("source", [(0, size, 0, 0.0) for size in jobs]))
        sink = kernel.add(StreamSink("sink"))
        memory = kernel.add(Echo("memory") if operation == READ else StreamSink("memory"))
        kernel.connect(source, "out", stream, "jobs", capacity=2)
        kernel.connect(stream, "done", sink, "in", capacity=2)
        kernel.connect(stream, "requests", memory, "requests" if operation == READ else "in", capacity=2)
        if operation == READ:
            kernel.connect(memory, "replies", stream, "replies", capacity=2)
        assert kernel.run(cycle_limit=10_000).complete
        return memory, sink, stream

    return run
