"""What a FiberCache bank runs out of and when, by hand as in test_fibercache_bank; what it refuses."""

from dataclasses import fields, replace

import pytest
from cache_bench import run_bank
from fibers import check_accounting_of

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.cache_geometry import LIMITS, FiberCacheSpecification
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, WRITE, WRITE_THROUGH
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import run_block

TINY = FiberCacheSpecification(banks=1, sets=1, ways=2, misses=4, targets=4, stages=1)


class TestLimits:
    def test_a_miss_waits_for_a_register(self):
        outcome = run_bank(replace(TINY, misses=1), [(READ, 0), (READ, 1)])
        # The first line comes at 14 and is answered at 15; its register is free at 16.
        assert [cycle for cycle, *_ in outcome.memory] == [3, 17]
        check_accounting_of(outcome, "bank", busy=8, input_stall={"memory_replies": 21})

    def test_a_read_waits_for_a_target(self):
        outcome = run_bank(replace(TINY, targets=1), [(READ, 0), (READ, 0), (READ, 1)])
        # The line comes at 14 and is answered at 15; the second read is then a hit at 16, the third, taken at
        # 17, a miss at 18.
        assert outcome.counters == {"read_misses": 2, "read_hits": 1}
        assert [cycle for cycle, *_ in outcome.replies] == [16, 17, 32]
        assert [cycle for cycle, *_ in outcome.memory] == [3, 19]

    def test_a_fetch_needs_no_target(self):
        outcome = run_bank(replace(TINY, targets=1), [(READ, 0), (FETCH, 1)])
        assert [cycle for cycle, *_ in outcome.memory] == [3, 5]

    @pytest.mark.parametrize("operation", [READ, WRITE, FETCH, CONSUME])
    def test_a_request_waits_when_all_ways_of_its_set_are_under_way(self, operation):
        outcome = run_bank(replace(TINY, ways=1), [(READ, 0), (operation, 1)])
        # The line comes at 14 and is answered at 15; the request is taken at 16.
        second = outcome.replies[1][0] if operation == WRITE else outcome.memory[1][0]
        assert second == 18
        placed = {0: False} if operation == CONSUME else {1: operation == WRITE}
        assert outcome.held == placed
        assert outcome.counters.get("evictions", 0) == int(operation != CONSUME)

    def test_a_miss_with_a_dirty_victim_waits_for_two_slots(self):
        outcome = run_bank(
            TINY, [(WRITE, 0), (WRITE, 1), (READ, 2), (READ, 3)], memory_capacity=2, memory_pauses=(20,)
        )
        # At 6 the write-back of 0 and the read of 2 fill both slots. Memory takes them at 7 and 28; at 29
        # the write-back of 1 and the read of 3 leave together.
        assert outcome.traffic == [(WRITE, 0), (READ, 2), (WRITE, 1), (READ, 3)]
        assert [cycle for cycle, *_ in outcome.memory] == [7, 28, 49, 70]
        check_accounting_of(outcome, "bank", output_stall={"memory_requests": 21})  # 8 to 28

    def test_a_miss_with_a_clean_victim_needs_one_slot(self):
        outcome = run_bank(
            TINY,
            [(READ, 0), (READ, 1), (WRITE_THROUGH, 8), (WRITE_THROUGH, 9), (READ, 2)],
            request_pauses=(40, 40, 0, 0, 0),
            memory_capacity=2,
            memory_pauses=(0, 0, 30, 30, 30),
        )
        # Memory takes the first write through at 85 and the second at 116; the read leaves behind it at 88.
        assert [cycle for cycle, *_ in outcome.memory] == [3, 44, 85, 116, 147]
        check_accounting_of(outcome, "bank", output_stall={})

    def test_a_write_with_a_dirty_victim_waits_for_one_slot(self):
        through = [(WRITE_THROUGH, line) for line in (8, 9, 10)]
        requests = [(WRITE, 0), (WRITE, 1), *through, (WRITE, 2)]
        outcome = run_bank(TINY, requests, memory_capacity=2, memory_pauses=(20,))
        # The writes through leave at 6, 8 and 10; memory takes them at 7, 28 and 49. The slot of the second
        # is free at 29, in which the write-back leaves.
        assert outcome.traffic == [(WRITE, 8), (WRITE, 9), (WRITE, 10), (WRITE, 0)]
        assert outcome.replies[-1][0] == 30
        check_accounting_of(outcome, "bank", output_stall={"memory_requests": 17})  # 12 to 28

    def test_lines_are_taken_while_the_memory_queue_is_full(self):
        requests = [
            (READ, 0),
            (WRITE_THROUGH, 7),
            (WRITE_THROUGH, 8),
            (WRITE_THROUGH, 9),
            (WRITE_THROUGH, 10),
        ]
        outcome = run_bank(TINY, requests, memory_capacity=2, memory_pauses=(50,))
        # The third write waits for memory, which takes the second request at 54; line 0 comes at 14 all the
        # same and is answered.
        assert [cycle for cycle, *_ in outcome.replies] == [16]


class TestRefusals:
    def test_every_number_has_limits(self):
        assert LIMITS.keys() == {field.name for field in fields(FiberCacheSpecification)} - {"index"}
        assert {name for name, (least, _most) in LIMITS.items() if least < 1} == {"priority_limit"}

    @pytest.mark.parametrize("name", LIMITS)
    def test_a_number_beyond_its_limits_is_refused(self, name):
        least, most = LIMITS[name]
        for number in (least, most):
            assert getattr(replace(TINY, **{name: number}), name) == number
        for number in (least - 1, most + 1):
            message = f"FiberCache: {name} must be from {least} to {most}, not {number}"
            with pytest.raises(ValueError, match=message):
                replace(TINY, **{name: number})

    def test_an_index_that_is_none_and_one_that_cannot_be_are_refused(self):
        with pytest.raises(ValueError, match="index must be one of interleaved, hashed, not folded"):
            replace(TINY, index="folded")
        with pytest.raises(ValueError, match="hashed sets must be a power of two, not 3"):
            replace(TINY, sets=3, index="hashed")

    def test_one_slot_towards_memory_is_too_few(self):
        with pytest.raises(SimulationError, match=r"memory.requests: .*a capacity of at least 2 .*, not 1"):
            run_bank(TINY, [], memory_capacity=1)

    @pytest.mark.parametrize("operation", [-1, 6])
    def test_an_unknown_operation_is_refused(self, operation):
        with pytest.raises(SimulationError, match=rf"bank.requests: no operation {operation}"):
            run_bank(TINY, [(operation, 0)])

    @pytest.mark.parametrize("miss", [0, 3, 4, 1000])  # four registers, none in use
    def test_a_line_that_was_not_asked_for_is_refused(self, miss):
        inputs = {"requests": [], "memory_replies": [(READ, miss, 0, 0.0)]}
        with pytest.raises(SimulationError, match=rf"bank.memory_replies: .* not requested \(miss {miss}\)"):
            run_block(FiberCacheBank("bank", TINY, 0), inputs, ["replies", "memory_requests"])
