"""Planted faults: each is found, by the check or the message that is there to find it."""

from array import array
from dataclasses import replace
from functools import partial

import pytest
from gamma_bench import SETTINGS, run_gamma, small_operands, tiny
from gamma_checks import check_operations, check_partial_fibers, check_product, check_traffic

import fiberscope
from fiberscope.accelerators.gamma import ACCELERATOR, Gamma, element
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.writer import FiberWriter
from fiberscope.accelerators.testing import CYCLE_LIMIT
from fiberscope.hw.fibers.arithmetic import Multiplier
from fiberscope.hw.fibers.reader import FiberReader
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.results.errors import DeadlockedRunError, VerificationError
from fiberscope.sim import DeadlockError


@pytest.fixture
def plant(monkeypatch):
    """Puts a faulty unit in the place of one: of a part for all machines, else where elements are made."""

    def put(name, unit):
        parts = {key: unit for key, one in Gamma.PARTS.items() if getattr(one, "__name__", "") == name}
        if parts:
            monkeypatch.setattr(Gamma, "PARTS", {**Gamma.PARTS, **parts})
        else:
            monkeypatch.setattr(element, name, unit)

    return put


class Amnesic(Scheduler):
    """Loses the first completion."""

    lost = False

    def tick(self, now):
        completions = self.channels("completions")[0]
        if not self.lost and completions.can_pop():
            completions.pop()
            self.lost = True
        return super().tick(now)


class Forgetful(FiberReader):
    """Takes every partial fiber for empty."""

    def __init__(self, name, table, *args, **options):
        super().__init__(name, table, *args, **options)
        self.known = table

    def tick(self, now):
        tasks = self.channel("tasks")
        if tasks.can_pop() and tasks.reference() >= 0:
            first, last = (
                self.known.first_inputs[tasks.reference()],
                self.known.first_inputs[tasks.reference() + 1],
            )
            for i in range(first, last):
                if self.known.inputs[i] < 0:
                    self.known.ends[i] = self.known.starts[i]
        return super().tick(now)


class Deaf(FiberCacheBank):
    """Loses its first request."""

    lost = False

    def tick(self, now):
        requests = self.channel("requests")
        if not self.lost and requests.can_pop():
            requests.pop()
            self.lost = True
        return super().tick(now)


class Swallowing(FiberWriter):
    """Loses its first element."""

    lost = False

    def tick(self, now):
        elements = self.channel("elements")
        if not self.lost and elements.can_pop() and elements.control() == 0:
            elements.pop()
            self.lost = True
        return super().tick(now)


def test_a_lost_completion_is_a_deadlock_that_names_the_scheduler(plant):
    plant("Scheduler", Amnesic)
    machine = Gamma(tiny(), *small_operands())
    with pytest.raises(DeadlockError) as raised:
        machine.kernel.run(cycle_limit=CYCLE_LIMIT)
    assert raised.value.blocked == (
        "gamma.scheduler waits for a token at any of completions: "
        "channel gamma.scheduler.completions[0] holds 0 of 4 tokens; "
        "channel gamma.scheduler.completions[1] holds 0 of 4 tokens",
    )


def test_a_lost_request_is_a_deadlock_that_names_who_waits():
    machine = Gamma(tiny(pe__prefetch=False), *small_operands(), parts={"bank": Deaf})
    with pytest.raises(DeadlockError) as raised:
        machine.kernel.run(cycle_limit=CYCLE_LIMIT)
    assert any(
        line.startswith("gamma.pe00.prefetcher waits for a token at replies") for line in raised.value.blocked
    )


def test_a_deadlock_leaves_a_report(plant):
    plant("Scheduler", Amnesic)
    with pytest.raises(DeadlockedRunError, match=r"gamma\.scheduler waits") as raised:
        fiberscope.simulate("gamma", *small_operands(), settings=SETTINGS)
    report = raised.value.report
    assert (report.complete, report.ending, report.verification.passed) == (False, "deadlock", None)


def test_a_partial_fiber_that_is_not_consumed_is_found(plant):
    plant("FiberReader", Forgetful)
    operands = small_operands()
    machine = run_gamma(tiny(), *operands)
    for check in (check_product, check_operations, check_partial_fibers):
        with pytest.raises(AssertionError):
            check(machine, *operands)


def test_an_element_that_is_lost_is_found(plant):
    plant("FiberWriter", Swallowing)
    operands = small_operands()
    machine = run_gamma(tiny(pe__radix=8, scheduler__stream_lines=4), *operands)
    with pytest.raises(AssertionError):
        check_product(machine, *operands)


def test_a_wrong_scale_is_found():
    def wrong(name, scales):
        changed = array("d", scales)
        changed[0] += 1.0
        return Multiplier(name, changed)

    broken = replace(ACCELERATOR, models={"event": partial(Gamma, parts={"multiplier": wrong})})
    with pytest.raises(VerificationError, match="the machine's product is wrong") as raised:
        fiberscope.simulate(broken, *small_operands(), settings=SETTINGS)
    assert raised.value.report.verification.passed is False


@pytest.mark.astray
def test_a_line_that_is_read_twice_is_found(plant):
    class Greedy(Scheduler):
        """Reads A's first line once more."""

        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.again = True

        def tick(self, now):
            requests = self.channel("memory_requests")
            if self.again and requests.can_push():
                requests.push(1, 0, 0, 0.0)  # a write, which nobody answers
                self.again = False
            return super().tick(now)

    plant("Scheduler", Greedy)
    operands = small_operands()
    machine = run_gamma(tiny(), *operands)
    with pytest.raises(AssertionError):
        check_traffic(machine, *operands)
