"""A channel that puts off commands that nobody notices yet does in all as one that ticks for each command."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_sink import SlowSink

from fiberscope.hw.dram import DramChannel, DramSpecification
from fiberscope.hw.dram.trace import Request, TraceSource
from fiberscope.hw.memory.protocol import READ, READ_BURST, WRITE, WRITE_BURST
from fiberscope.sim import Kernel

Outcome = list[Any]


def spells(seed: int) -> list[Request]:
    """Spells of many requests at once, of few banks and rows, and pauses."""
    draw = random.Random(seed)
    cycle, trace = 0, []
    for _ in range(draw.randrange(8)):
        cycle += draw.randrange(300)
        operations = draw.choices([READ, READ_BURST, WRITE, WRITE_BURST], k=draw.randrange(1, 4))
        for _ in range(draw.randrange(80)):
            trace.append((cycle, draw.choice(operations), draw.randrange(60) * 7919 % 1024 * 64))
    return trace


def outcome(
    kernel: Kernel,
    trace: list[Request],
    specification: DramSpecification,
    joints: Sequence[int],
    limits: Sequence[int] = (),
    *,
    watched: bool = False,
) -> Outcome:
    """What the channel has done at each limit and at the end, and when its reader got what."""
    ratio, latency, capacity, pause = joints
    core = kernel.clock("core", specification.clock_hertz * Fraction(ratio, 2))
    memory = kernel.clock("memory", specification.clock_hertz)
    source = kernel.add(TraceSource("source", trace, 1), core)
    dram = kernel.add(DramChannel("dram", specification, log=True), memory)
    sink = kernel.add(SlowSink(pause), core)
    kernel.connect(source, "requests", dram, "requests", capacity=2, latency=latency)
    kernel.connect(dram, "replies", sink, "replies", capacity=capacity, latency=latency)
    kernel.build()
    if watched:
        dram.defers = False
    found: Outcome = []
    for limit in [*sorted(limits), None]:
        run = kernel.run(cycle_limit=limit)
        found.append((run.cycles, asdict(kernel.statistics()["dram"]), len(dram.commands)))
    return [*found, dram.commands, sink.taken]


@settings(max_examples=400)
@given(
    seed=st.integers(0, 1 << 20),
    policy=st.fixed_dictionaries(
        {
            "scheduler": st.sampled_from(["frfcfs", "fcfs", "row_hit_first"]),
            "page_policy": st.sampled_from(["open", "closed"]),
            "refresh": st.sampled_from(["all_bank", "per_bank", "off"]),
            "read_queue": st.sampled_from([2, 4, 32]),
            "write_queue": st.sampled_from([4, 32]),
        }
    ),
    joints=st.tuples(
        st.sampled_from([1, 2, 3, 6]), st.integers(1, 16), st.sampled_from([1, 4, 64]), st.integers(1, 100)
    ),
    limits=st.lists(st.integers(1, 4000), max_size=3),
)
def test_a_channel_that_defers_does_as_one_that_ticks_for_each_command(
    seed: int, policy: dict[str, object], joints: tuple[int, ...], limits: list[int]
) -> None:
    trace = spells(seed)
    specification = DramSpecification(**policy)  # type: ignore[arg-type]
    deferring = outcome(Kernel(), trace, specification, joints, limits)
    assert deferring == outcome(Kernel(), trace, specification, joints, limits, watched=True)
    assert deferring == outcome(Kernel(order_seed=1), trace, specification, joints, limits)
    assert deferring == outcome(Kernel(sleep=False), trace, specification, joints, limits)


@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_all_that_was_put_off_is_done_at_any_limit(ratio: int) -> None:
    """Cycles of a clock with half, all and three halves of the memory's frequency."""
    trace: list[Request] = [(0, READ_BURST, place << 15) for place in range(20)]
    plain, joints, limits = DramSpecification(refresh="off"), (ratio, 1, 4, 1), range(1, 500)
    deferring = outcome(Kernel(), trace, plain, joints, limits)
    assert deferring == outcome(Kernel(sleep=False), trace, plain, joints, limits)


def test_a_command_that_nobody_notices_is_no_tick() -> None:
    """Of conflicts in one bank every third command is a RD, which is noticed when its burst is back."""
    trace: list[Request] = [(400 * place, READ_BURST, place << 15) for place in range(100)]
    deferring, watched = Kernel(), Kernel()
    plain, joints = DramSpecification(refresh="off"), (2, 1, 4, 1)
    found = outcome(deferring, trace, plain, joints)
    assert found == outcome(watched, trace, plain, joints, watched=True)
    commands = len(found[-2])
    assert watched.ticks - deferring.ticks >= commands > 250
