"""Planted faults: each is found, by the check or the message that is there to find it."""

from dataclasses import replace
from functools import partial

import pytest
from extensor_bench import TINY, random_matrix, run_extensor, small_operands, tiny
from extensor_checks import check_all

import fiberscope
from fiberscope.accelerators.extensor import ACCELERATOR, ExTensor
from fiberscope.accelerators.extensor.dispatcher import Dispatcher
from fiberscope.accelerators.extensor.loader import Loader
from fiberscope.accelerators.extensor.output import OutputBuffer
from fiberscope.accelerators.testing import CYCLE_LIMIT
from fiberscope.hw.dram.simple import SimpleMemory
from fiberscope.results.errors import DeadlockedRunError, VerificationError
from fiberscope.sim import DeadlockError


class Losing:
    """Loses the first token of a port."""

    port = ""
    lost = False

    def tick(self, now):
        channel = self.channels(self.port)[0]
        if not self.lost and channel.can_pop():
            channel.pop()
            self.lost = True
        return super().tick(now)


def losing(base, lost_port):
    return type(f"Losing{base.__name__}", (Losing, base), {"port": lost_port})


@pytest.mark.parametrize(
    ("part", "base", "port", "message"),
    [
        ("loader", Loader, "a_done", "extensor.llb.loader waits for a token at a_done"),
        ("outputs", OutputBuffer, "partials", "extensor.llb.drain waits for a token at finished"),
        ("dispatcher", Dispatcher, "drained", "extensor.llb.dispatcher waits for a token at drained"),
    ],
)
def test_a_lost_token_is_a_deadlock_that_names_who_waits(part, base, port, message):
    machine = ExTensor(tiny(llb__halves=1), *small_operands(), parts={part: losing(base, port)})
    with pytest.raises(DeadlockError) as raised:
        machine.kernel.run(cycle_limit=CYCLE_LIMIT)
    assert any(line.startswith(message) for line in raised.value.blocked)


def test_a_lost_request_leaves_a_report(monkeypatch):
    monkeypatch.setattr("fiberscope.accelerators.memory.SimpleMemory", losing(SimpleMemory, "requests"))
    with pytest.raises(DeadlockedRunError, match="waits for a token at replies") as raised:
        fiberscope.simulate("extensor", *small_operands(), settings=TINY)
    report = raised.value.report
    assert (report.complete, report.ending, report.verification.passed) == (False, "deadlock", None)


class Blind(Loader):
    """Brings all of A's tile."""

    def _bytes(self, tile_a, tile_b):
        return int(self.a.tile_bytes[tile_a]), super()._bytes(tile_a, tile_b)[1]


def test_a_microtile_that_meets_nothing_and_is_brought_is_found():
    operands = random_matrix(30, 26, 120), random_matrix(26, 34, 12)
    check_all(run_extensor(tiny(), *operands), *operands)
    with pytest.raises(AssertionError):
        check_all(run_extensor(tiny(), *operands, parts={"loader": Blind}), *operands)


def test_a_wrong_value_is_found():
    def wrong(build, parameters, a, b):
        machine = build(parameters, a, b)
        machine.a.values[0] += 1.0
        return machine

    broken = replace(ACCELERATOR, models={"event": partial(wrong, ExTensor)})
    with pytest.raises(VerificationError, match="the machine's product is wrong"):
        fiberscope.simulate(broken, *small_operands(), settings=TINY)
