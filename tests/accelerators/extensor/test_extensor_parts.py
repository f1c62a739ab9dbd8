"""The core against a plain one that makes one step a cycle; buffer and stream cycle by cycle."""

import numpy as np
import pytest
from extensor_bench import random_matrix, run_extensor, small_operands, tiny
from extensor_checks import check_all
from extensor_model import Model
from plain_core import PlainCore

from fiberscope.accelerators.extensor import ExTensor
from fiberscope.accelerators.extensor.configuration import Format
from fiberscope.accelerators.extensor.layout import NO_SLOT
from fiberscope.accelerators.extensor.operand import TiledOperand, tiled_a, tiled_b
from fiberscope.accelerators.extensor.output import PartialSlot
from fiberscope.accelerators.extensor.pe import IntersectingCore, MicrotileBuffer
from fiberscope.accelerators.extensor.tiles import build_matrix_tree
from fiberscope.accelerators.testing import cycles
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST, TENSOR_SHIFT, WRITE
from fiberscope.sim import Component, Input, Output, SimulationError
from fiberscope.sim.testing import check_laws, run_block

SIDE, SHAPE = 8, (4, 1, 4)
FORMAT = Format(
    dense="none", a_microtile=96, b_row=64, b_microtile=64, fiber=64, element=96, value=64, output=128
)


def operands(*, skip=True):
    """Four microtiles of A and four of B that all meet, K1 being one."""
    a, b = random_matrix(32, 8, 90, seed=1), random_matrix(8, 32, 90, seed=2)
    trees = (
        tiled_a(build_matrix_tree(a, ("M", "K")), SIDE, SHAPE),
        tiled_b(build_matrix_tree(b, ("K", "N")), SIDE, SHAPE),
    )
    formats = FORMAT.ranks("A", dense=False), FORMAT.ranks("B", dense=False)
    return [TiledOperand(tree, chosen) for tree, chosen in zip(trees, formats, strict=True)], Model(
        a, b, SIDE, SHAPE, intersection="skip" if skip else "two_finger"
    )


def plain(a, b, **options):
    return PlainCore("core", a, b, slots(), 0, microtile=SIDE, shape=(4, 4), **options)


def core(a, b, **options):
    return IntersectingCore("core", a, b, slots(), 0, microtile=SIDE, shape=(4, 4), **options)


def slots():
    return [PartialSlot() for _ in range(4)]


def products():
    return [(0, i, j, 0.0) for i in range(4) for j in range(4)]


def timeline(outcome, name):
    """Cycles in which results came, whether there were any, and where the core's cycles went."""
    times = [(cycle, token[1] != NO_SLOT) for cycle, token in outcome.received["partials"]]
    part = outcome.statistics[name]
    return times, (part.busy, part.idle, part.input_stall, part.output_stall), outcome.run


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_product_in_one_tick_is_what_a_step_a_cycle_gives(seed, skip):
    (a, b), model = operands(skip=skip)
    slow, fast = plain(a, b, skip=skip), core(a, b, skip=skip)
    expected = run_block(slow, {"ready": products()}, ["partials"], seed=seed)
    found = run_block(fast, {"ready": products()}, ["partials"], seed=seed)
    assert timeline(found, "core") == timeline(expected, "core")
    assert fast.counters() == slow.counters()
    assert fast.intersect_k0 == sum(model.product_steps)


def test_planted_a_step_too_few_is_found(monkeypatch):
    (a, b), _model = operands()
    slow = plain(a, b)
    monkeypatch.setattr(slow, "_dot", lambda left, right, key: iter([True] * len(left)))
    expected = run_block(slow, {"ready": products()}, ["partials"])
    assert timeline(run_block(core(a, b), {"ready": products()}, ["partials"]), "core") != timeline(
        expected, "core"
    )


@pytest.mark.parametrize("intersection", ["skip", "two_finger"])
def test_a_machine_of_plain_cores_is_the_same_machine(intersection):
    parameters, matrices = tiny(intersection=intersection), small_operands()
    found, expected = (
        run_extensor(parameters, *matrices, **options) for options in ({}, {"parts": {"core": PlainCore}})
    )
    check_all(expected, *matrices)
    assert found.kernel.statistics() == expected.kernel.statistics()
    assert cycles(found) == cycles(expected)


def test_a_part_that_does_not_count_is_refused():
    class Silent(PlainCore):
        def counters(self):
            return {}

    message = r"extensor.pe00.core \(Silent\) should count add in counters\(\)"
    with pytest.raises(SimulationError, match=message):
        ExTensor(tiny(), *small_operands(), parts={"core": Silent})


def test_a_core_waits_for_space_for_its_results():
    """Microtiles of one element each: products of one step, faster than the sink takes results."""
    a, b = random_matrix(32, 1, 4), random_matrix(1, 32, 4)
    a.indptr[:], b.indices[:] = [0, *(1 + m // 8 for m in range(32))], [0, 8, 16, 24]
    trees = (
        tiled_a(build_matrix_tree(a, ("M", "K")), SIDE, SHAPE),
        tiled_b(build_matrix_tree(b, ("K", "N")), SIDE, SHAPE),
    )
    small = [
        TiledOperand(tree, chosen)
        for tree, chosen in zip(
            trees, (FORMAT.ranks("A", dense=False), FORMAT.ranks("B", dense=False)), strict=True
        )
    ]
    outcomes = [
        run_block(make(*small), {"ready": products()}, ["partials"], seed=1, capacity=1)
        for make in (core, plain)
    ]
    assert timeline(outcomes[0], "core") == timeline(outcomes[1], "core")
    assert outcomes[0].statistics["core"].output_stall["partials"] > 0


def test_a_buffer_needs_a_channel_for_two_products():
    (a, b), _model = operands()
    with pytest.raises(SimulationError, match="its capacity should be 2: a buffer's halves"):
        run_block(MicrotileBuffer("buffer", a, b, 16, 1 << 16), {"tasks": []}, ["ready"], capacity=3)


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

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

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
    assert stream.counters == {"bytes": 270, "lines": 5}


def test_writes_are_done_when_they_are_sent(kernel_of_stream):
    sent, sink, stream = kernel_of_stream(WRITE, [64, 64, 1])
    assert [token[2] for _cycle, token in sent.received] == [(1 << TENSOR_SHIFT) + 64 * i for i in range(3)]
    assert len(sink.received) == 3
    assert stream.counters == {"bytes": 129, "lines": 3}


def test_a_stream_waits_until_it_has_told_what_is_done(kernel_of_stream):
    _sent, sink, stream = kernel_of_stream(WRITE, [1] * 30, stalls=(9,))
    assert len(sink.received) == 30
    assert stream.output_stall["done"] > 0


@pytest.fixture
def kernel_of_stream():
    from fiberscope.sim import Kernel
    from fiberscope.sim.testing import StreamSink, StreamSource

    def run(operation, jobs, stalls=()):
        kernel = Kernel()
        kernel.clock("core", 10**9)
        stream = kernel.add(MemoryStream("stream", operation, 1, 0, 0, line_bytes=64, lines=4, most_jobs=8))
        source = kernel.add(StreamSource("source", [(0, size, 0, 0.0) for size in jobs]))
        sink = kernel.add(StreamSink("sink", stalls))
        memory = kernel.add(Echo("memory") if operation == READ else StreamSink("memory"))
        kernel.connect(source, "out", stream, "jobs", capacity=2)
        kernel.connect(stream, "done", sink, "in", capacity=2)
        kernel.connect(stream, "requests", memory, "requests" if operation == READ else "in", capacity=2)
        if operation == READ:
            kernel.connect(memory, "replies", stream, "replies", capacity=2)
        assert kernel.run(cycle_limit=10_000).complete
        return memory, sink, kernel.statistics()["stream"]

    return run


def test_a_dispatcher_with_no_room_anywhere_waits_for_any_element_and_not_for_the_first():
    machine = run_extensor(tiny(pe__count=2, llb__intersectors=4), *small_operands())
    stalls = machine.kernel.statistics()["extensor.llb.dispatcher"].output_stall
    assert stalls["tasks"] > 0
    assert not any(stalls[f"tasks[{i}]"] for i in range(2) if f"tasks[{i}]" in stalls)
