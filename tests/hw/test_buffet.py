"""The buffet: cycle by cycle by hand, any use of it against a plain list, and what it refuses."""

from __future__ import annotations

import pytest
from buffet_bench import entry, modelled, run_buffet
from fibers import check_accounting_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.buffet import Buffet
from hw.buffet_protocol import READ, READ_TO_UPDATE, SHRINK
from sim import DeadlockError, SimulationError
from sim.testing import check_laws, run_block


def read(index, freed=0):
    return (READ, index, freed, 0.0)


def read_to_update(index):
    return (READ_TO_UPDATE, index, 0, 0.0)


def shrink(count):
    return (SHRINK, 0, count, 0.0)


def fills(count):
    return [entry(number) for number in range(count)]


def buffet(capacity=4):
    return lambda: Buffet("buffet", capacity)


def check_buffet(make, reads, count, **bench):
    """Values, credits and what is left are those of the plain list."""
    outcome = run_buffet(make, reads, count, **bench)
    values, granted, left = modelled(make().capacity, reads, count)
    assert outcome.tokens() == values
    assert outcome.filled == left
    if bench.get("credit", True):
        assert outcome.granted == granted
    return outcome


@st.composite
def uses(draw, updating=True):
    """A capacity, reads, and as many fills as those need and the buffet then takes."""
    capacity = draw(st.integers(1, 6))
    kinds = [READ, SHRINK, READ_TO_UPDATE] if updating else [READ, SHRINK]
    reads, head, filled = [], 0, 0
    for _ in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(kinds))
        index = draw(st.integers(0, capacity - 1)) if kind != SHRINK else -1
        freed = draw(st.integers(0, capacity)) if kind != READ_TO_UPDATE else 0
        filled = max(filled, head + index + 1, head + freed)
        head += freed
        reads.append((kind, max(index, 0), freed, 0.0))
    return capacity, reads, filled + draw(st.integers(0, head + capacity - filled))


class TestValues:
    @settings(max_examples=200, deadline=None)
    @given(
        use=uses(),
        credit=st.booleans(),
        size=st.fixed_dictionaries({"capacity": st.integers(1, 4), "latency": st.integers(1, 3)}),
        seed=st.none() | st.integers(0, 1000),
    )
    def test_any_use_under_any_stalls(self, use, credit, size, seed):
        capacity, reads, count = use
        make = buffet(capacity)
        expected = check_buffet(make, reads, count, credit=credit, seed=seed, **size)
        for options in ({"sleep": False}, {"order_seed": 1}, {"sleep": False, "order_seed": 2}):
            found = run_buffet(make, reads, count, credit=credit, seed=seed, **size, **options)
            assert found == expected, options

    @settings(max_examples=50, deadline=None)
    @given(use=uses(updating=False))
    def test_the_laws_with_nothing_but_fills_and_reads(self, use):
        capacity, reads, count = use
        check_laws(buffet(capacity), {"fills": fills(count), "reads": reads}, ["values"])

    def test_a_fiber_is_read_twice_with_its_stop(self):
        reads = [read(0), read(1), read(2), read(0, 1), read(0, 1), read(0, 1)]
        outcome = run_block(buffet()(), {"fills": fills(3), "reads": reads}, ["values"])
        assert outcome.tokens("values") == fills(3) * 2
        assert outcome.statistics["buffet"].counters == {"fills": 3, "reads": 6, "updates": 0, "freed": 3}

    def test_an_accumulator_reads_what_it_wrote(self):
        outcome = check_buffet(buffet(), [read_to_update(0)] * 5 + [read(0)], 1)
        assert outcome.tokens()[-1] == (0, 100, 1000 + 5 * 10_000, 0.5 * 2**5)
        assert outcome.statistics["buffet"].counters["updates"] == 5


class TestTiming:
    """A source pushes its first token at 0; it is seen at 1."""

    def test_an_entry_is_read_in_the_cycle_after_its_fill(self):
        outcome = run_block(buffet()(), {"fills": fills(1), "reads": [read(0)]}, ["values"])
        # Filled at 1, in which the read finds nothing; read at 2, seen by the sink at 3.
        assert outcome.received["values"] == [(3, entry(0))]
        check_accounting_of(outcome, "buffet", busy=2, idle=2, input_stall={})

    def test_a_read_waits_for_its_fill(self):
        inputs = {"fills": fills(4), "reads": [read(3)]}
        outcome = run_block(buffet()(), inputs, ["values"])
        assert [cycle for cycle, _token in outcome.received["values"]] == [6]  # filled at 1, 2, 3 and 4
        late = run_block(buffet()(), {"fills": [], "reads": [shrink(0)]}, ["values"])
        check_accounting_of(late, "buffet", busy=1)

    @pytest.mark.parametrize("capacity", [1, 2, 5])
    def test_without_credits_it_moves_an_entry_a_cycle_from_a_capacity_of_one(self, capacity):
        inputs = {"fills": fills(50), "reads": [read(0, 1)] * 50}
        outcome = run_block(buffet(capacity)(), inputs, ["values"])
        assert [cycle for cycle, _token in outcome.received["values"]] == list(range(3, 53))

    @pytest.mark.parametrize(("capacity", "cycles"), [(1, 3), (2, 1.5), (3, 1), (9, 1)])
    def test_with_credits_a_round_takes_three_cycles(self, capacity, cycles):
        """A credit is sent at t, spent at t + 1, its entry filled at t + 2 and freed at t + 3."""
        outcome = check_buffet(buffet(capacity), [read(0, 1)] * 60, 60)
        times = [cycle for cycle, _token in outcome.received]
        assert (times[-1] - times[29]) / 30 == pytest.approx(cycles)

    def test_all_credits_come_first_and_then_what_is_freed(self):
        inputs = {"fills": [], "reads": [shrink(0)]}
        outcome = run_block(buffet(7)(), inputs, ["values", "credits"])
        assert outcome.received["credits"] == [(1, (0, 7, 0, 0.0))]
        inputs = {"fills": fills(4), "reads": [read(0, 1), shrink(3)]}
        outcome = run_block(buffet(7)(), inputs, ["values", "credits"])
        # Freed at 2; the other three are filled at 4.
        assert outcome.received["credits"][1:] == [(3, (0, 1, 0, 0.0)), (6, (0, 3, 0, 0.0))]

    def test_credits_that_find_no_space_are_added_up(self):
        inputs = {"fills": fills(60), "reads": [read(0, 1)] * 60}
        outcome = run_block(buffet(99)(), inputs, ["values", "credits"], seed=1)
        credits = [token[1] for token in outcome.tokens("credits")]
        assert sum(credits) == 99 + 60
        assert len(credits) < 1 + 60
        assert max(credits[1:]) > 1

    def test_a_read_of_an_announced_entry_waits_for_its_update(self):
        near = check_buffet(buffet(), [read_to_update(0), read(1)], 2, credit=False)
        same = check_buffet(buffet(), [read_to_update(0), read(0)], 2, credit=False)
        # Read at 2; the value is seen at 3, its update at 4, so that the entry can be read at 5.
        assert [cycle for cycle, _token in near.received] == [3, 4]
        assert [cycle for cycle, _token in same.received] == [3, 6]
        check_accounting_of(same, "buffet", input_stall={"updates": 1})

    def test_freeing_waits_for_announced_updates(self):
        outcome = check_buffet(buffet(), [read_to_update(3), read(0, 1), read(2)], 4, credit=False)
        times = [cycle for cycle, _token in outcome.received]
        # Entry 3 is read at 5; its update comes at 7, so that entry 0 is read and freed at 8.
        assert times == [6, 9, 10]

    def test_a_value_that_nobody_takes_is_an_output_stall(self):
        inputs = {"fills": fills(2), "reads": [read(0)] * 20}
        outcome = run_block(buffet()(), inputs, ["values"], seed=3)
        assert outcome.statistics["buffet"].output_stall["values"] > 0


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"reads": [read(4)]}, "reads index 4; its capacity is 4"),
        ({"reads": [read(-1)]}, "reads index -1; its capacity is 4"),
        ({"reads": [shrink(5)]}, "frees 5 entries; its capacity is 4"),
        ({"reads": [shrink(-1)]}, "frees -1 entries; its capacity is 4"),
        ({"updates": [(0, 0, 1, 1.0)]}, "updates index 0; 0 entries are filled"),
        ({"fills": fills(1), "updates": [(0, 9, 0, 0.0), (0, -1, 0, 0.0)]}, "updates index 9; 0 entries"),
        ({"reads": [read_to_update(0)]}, "a read announces an update, and updates is not connected"),
        (
            {"reads": [(READ_TO_UPDATE, 0, 1, 0.0)], "updates": []},
            "a read that announces an update frees 1 entries; it should free none, since it would wait for "
            "its own update",
        ),
    ],
)
def test_what_it_refuses(inputs, message):
    with pytest.raises(SimulationError, match=f"^buffet: {message}"):
        run_block(buffet()(), {"fills": [], "reads": []} | inputs, ["values"])


def test_a_fill_without_a_credit_is_refused():
    with pytest.raises(SimulationError, match=r"^buffet: a fill without a credit; all 2 entries are filled"):
        run_block(buffet(2)(), {"fills": fills(3), "reads": []}, ["values", "credits"])


def test_no_capacity_is_refused():
    with pytest.raises(
        SimulationError, match=r"^buffet: a buffet's capacity should be at least 1 entry, not 0"
    ):
        Buffet("buffet", 0)


@pytest.mark.parametrize(
    ("reads", "port"), [([read(0)], "fills"), ([shrink(1)], "fills"), ([read_to_update(0)], "updates")]
)
def test_what_never_comes_is_a_deadlock_that_names_it(reads, port):
    count = 1 if port == "updates" else 0
    with pytest.raises(DeadlockError) as raised:
        run_block(buffet()(), {"fills": fills(count), "reads": reads, "updates": []}, ["values"])
    assert any(line.startswith(f"buffet waits for a token at {port}") for line in raised.value.blocked)


def test_fills_that_nobody_frees_are_a_deadlock():
    with pytest.raises(DeadlockError) as raised:
        run_block(buffet(2)(), {"fills": fills(4), "reads": []}, ["values"])
    assert any(line.startswith("buffet waits for a token at reads") for line in raised.value.blocked)


class TestPlanted:
    """Buffets broken on purpose."""

    USE = ([read_to_update(0), read(1), read(0)], 2)

    def test_a_buffet_that_loses_an_update_is_found(self):
        class Losing(Buffet):
            def elaborate(self):
                super().elaborate()
                self.arriving = self.channel("updates")

            def tick(self, now):
                if self.arriving.can_pop():
                    self.arriving.pop()
                    return self.busy(now + 1)
                return super().tick(now)

        check_buffet(buffet(), *self.USE)
        with pytest.raises(DeadlockError):
            check_buffet(lambda: Losing("buffet", 4), *self.USE)

    def test_a_buffet_that_answers_with_another_entry_is_found(self):
        class Astray(Buffet):
            def elaborate(self):
                super().elaborate()
                self.asked, self.answers = self.channel("reads"), self.channel("values")

            def tick(self, now):
                if self.asked.can_pop() and self.asked.coordinate() == 1 and self.answers.can_push():
                    self.asked.pop()
                    self.answers.push(*entry(0))
                    return self.busy(now + 1)
                return super().tick(now)

        with pytest.raises(AssertionError):
            check_buffet(lambda: Astray("buffet", 4), *self.USE)
