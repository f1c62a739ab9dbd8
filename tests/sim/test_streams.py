"""The shared bench: its sources, sinks and law checks, tried on blocks that keep and break the laws."""

import pytest

from fiberscope.sim import ANY, Component, Input, Output
from fiberscope.sim.testing import check_accounting, check_laws, data_tokens, random_stalls, run_block

TOKENS = data_tokens(range(40))


class Repeater(Component):
    """Passes tokens on, one a cycle."""

    PORTS = (Input("in", ANY), Output("out", ANY))

    def elaborate(self):
        self.source, self.out = self.channel("in"), self.channel("out")

    def tick(self, now):
        if not self.source.can_pop():
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(*self.forwarded(now))
        self.source.pop()
        return self.busy(now + 1)

    def forwarded(self, _now):
        channel = self.source
        return channel.control(), channel.coordinate(), channel.reference(), channel.value()


class TickCounter(Repeater):
    """Breaks the law of sleep: sends the number of its ticks."""

    ticks = 0

    def tick(self, now):
        self.ticks += 1
        return super().tick(now)

    def forwarded(self, _now):
        return (0, self.ticks, 0, 0.0)


def test_a_repeater_passes_on_all_tokens_in_order():
    outcome = run_block(Repeater("repeater"), {"in": TOKENS}, ["out"])
    assert outcome.tokens("out") == TOKENS
    # The first is pushed at 0, seen by the repeater at 1 and by the sink at 2.
    assert [cycle for cycle, _ in outcome.received["out"]] == list(range(2, 42))
    assert outcome.run.cycles == 42


def test_stalls_slow_it_down_and_lose_nothing():
    outcome = run_block(Repeater("repeater"), {"in": TOKENS}, ["out"], seed=7)
    assert outcome.tokens("out") == TOKENS
    assert outcome.run.cycles > 42
    check_accounting(outcome.statistics)


def test_stall_patterns_are_reproducible_and_differ_by_seed():
    assert random_stalls(3) == random_stalls(3) != random_stalls(4)
    assert set(random_stalls(3)) <= set(range(6))


def test_a_repeater_keeps_the_laws():
    check_laws(lambda: Repeater("repeater"), {"in": TOKENS}, ["out"])


def test_planted_a_block_that_counts_its_ticks_breaks_the_law_of_sleep():
    with pytest.raises(AssertionError, match=r"sleep=False.*out\[3\] is .* must change nothing"):
        check_laws(lambda: TickCounter("counter"), {"in": TOKENS}, ["out"])


def test_planted_a_run_that_comes_to_the_limit_fails():
    with pytest.raises(AssertionError, match="not done after 10 cycles"):
        run_block(Repeater("repeater"), {"in": TOKENS}, ["out"], cycle_limit=10)
