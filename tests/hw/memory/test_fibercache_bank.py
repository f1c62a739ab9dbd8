"""One FiberCache bank, every hit, victim and cycle predicted by hand.

In the runs cycle by cycle: request n is pushed at n and seen at n + 1. One taken at t is decided about at t +
1 in a bank of one stage, as most here are, and the next to its set taken at t + 2. A reply pushed at t is
seen by the sink at t + 1. A line asked for at t is taken by the memory at t + 1 and, with its latency of 10,
comes at t + 12; it is answered from t + 13 on.
"""

from dataclasses import replace

import pytest
from cache_bench import run_bank
from fibers import check_accounting_of

from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD

TINY = FiberCacheSpecification(banks=1, sets=1, ways=2, misses=4, targets=4, stages=1)
STAGED = FiberCacheSpecification(banks=1, sets=8, ways=2, misses=16)  # of three stages
APART = (40,)  # pause that lets each request finish


def one_at_a_time(requests, specification=TINY):
    return run_bank(specification, requests, request_pauses=APART)


class TestContents:
    def test_a_read_misses_then_hits(self):
        outcome = one_at_a_time([(READ, 6), (READ, 6)])
        assert outcome.counters == {"read_misses": 1, "read_hits": 1}
        assert outcome.traffic == [(READ, 6)]
        assert outcome.answered == [(READ, 6), (READ, 6)]
        assert outcome.held == {6: False}

    def test_a_fetch_brings_the_line_without_an_answer(self):
        outcome = one_at_a_time([(FETCH, 6), (READ, 6)])
        assert outcome.counters == {"fetch_misses": 1, "read_hits": 1}
        assert outcome.traffic == [(READ, 6)]
        assert outcome.answered == [(READ, 6)]

    def test_a_write_fetches_nothing_and_a_consume_drops_it_without_writing_back(self):
        outcome = one_at_a_time([(WRITE, 6), (CONSUME, 6)])
        assert outcome.counters == {"write_misses": 1, "consume_hits": 1}
        assert outcome.traffic == []
        assert outcome.answered == [(WRITE, 6), (CONSUME, 6)]
        assert outcome.held == {}

    def test_a_write_to_a_line_that_is_here_makes_it_dirty(self):
        outcome = one_at_a_time([(READ, 6), (WRITE, 6)])
        assert outcome.counters == {"read_misses": 1, "write_hits": 1}
        assert outcome.held == {6: True}

    def test_a_dirty_victim_is_written_back_before_the_line_that_takes_its_place_is_read(self):
        outcome = one_at_a_time([(WRITE, 0), (WRITE, 1), (READ, 2)])
        # Equal priorities and predictions: the first way goes.
        assert outcome.traffic == [(WRITE, 0), (READ, 2)]
        assert outcome.counters == {"write_misses": 2, "read_misses": 1, "evictions": 1, "write_backs": 1}
        assert outcome.held == {1: True, 2: False}

    def test_a_clean_victim_is_not_written_back(self):
        outcome = one_at_a_time([(READ, 0), (READ, 1), (WRITE, 2)])
        assert outcome.traffic == [(READ, 0), (READ, 1)]
        assert outcome.counters == {"read_misses": 2, "write_misses": 1, "evictions": 1}
        assert outcome.held == {1: False, 2: True}

    def test_a_consume_of_an_evicted_line_reads_memory_and_takes_no_place(self):
        outcome = one_at_a_time([(WRITE, 0), (WRITE, 1), (WRITE, 2), (CONSUME, 0)])
        assert outcome.traffic == [(WRITE, 0), (READ, 0)]
        assert outcome.counters == {
            "write_misses": 3, "evictions": 1, "write_backs": 1, "consume_misses": 1
        }  # fmt: skip
        assert outcome.held == {1: True, 2: True}
        assert outcome.answered[-1] == (CONSUME, 0)

    def test_a_consumed_line_makes_room_before_any_other_goes(self):
        outcome = one_at_a_time([(WRITE, 0), (WRITE, 1), (CONSUME, 1), (WRITE, 2)])
        assert outcome.held == {0: True, 2: True}
        assert "evictions" not in outcome.counters

    def test_an_evicted_line_can_be_fetched_again(self):
        outcome = one_at_a_time([(FETCH, 0), (READ, 0), (READ, 1), (READ, 2), (READ, 3), (FETCH, 0)])
        # 0: read once, so priority 0 and prediction 0; 1 and 2 stay at 2. Reading 2 evicts 1 (0 ages to 1),
        # reading 3 evicts 2 (0 ages to 2), fetching 0 is a hit.
        assert outcome.traffic == [(READ, 0), (READ, 1), (READ, 2), (READ, 3)]
        again = one_at_a_time([(FETCH, 0), (READ, 0), (READ, 1), (READ, 2), (READ, 3), (READ, 4), (FETCH, 0)])
        # Reading 4: 0 in the first way and 3 in the second both stand at 2; the first way goes.
        assert again.traffic == [(READ, line) for line in (0, 1, 2, 3, 4, 0)]

    def test_a_write_through_passes_the_cache_by(self):
        outcome = one_at_a_time([(WRITE, 0), (WRITE_THROUGH, 0), (WRITE_THROUGH, 7)])
        assert outcome.traffic == [(WRITE, 0), (WRITE, 7)]
        assert outcome.counters == {"write_misses": 1, "writes_through": 2}
        assert outcome.answered == [(WRITE, 0)]
        assert outcome.held == {0: True}

    def test_lines_go_to_the_set_that_their_number_names(self):
        # The second of three banks sees lines 1, 4, 7 and 10: its sets 0, 1, 0 and 1.
        specification = FiberCacheSpecification(banks=3, sets=2, ways=1)
        outcome = one_at_a_time([(READ, 1), (READ, 4), (READ, 7)], specification)
        assert outcome.held == {7: False, 4: False}

    def test_tensors_are_told_apart(self):
        tensor = (3 << 40) // 64
        outcome = one_at_a_time([(READ, 0), (READ, tensor), (READ, tensor)])
        assert outcome.counters == {"read_misses": 2, "read_hits": 1}
        assert outcome.traffic == [(READ, 0), (READ, tensor)]


class TestReplacement:
    def test_a_line_with_reads_to_come_is_kept(self):
        outcome = one_at_a_time([(FETCH, 0), (READ, 1), (READ, 2), (READ, 3)])
        assert outcome.held == {0: False, 3: False}
        assert outcome.priorities == {0: 1, 3: 0}

    def test_a_written_line_is_kept_for_its_one_read(self):
        outcome = one_at_a_time([(WRITE, 0), (READ, 1), (READ, 2), (READ, 3)])
        assert outcome.held == {0: True, 3: False}
        assert outcome.priorities == {0: 1, 3: 0}
        again = one_at_a_time([(WRITE, 0), (READ, 0), (FETCH, 1), (READ, 2)])
        assert again.priorities == {1: 1, 2: 0}

    def test_a_written_line_that_awaits_no_read_goes_first(self):
        outcome = one_at_a_time([(WRITE_UNREAD, 0), (WRITE, 1), (READ, 2), (WRITE_UNREAD, 2)])
        assert outcome.traffic == [(WRITE, 0), (READ, 2)]
        assert outcome.priorities == {1: 1, 2: 0}
        assert outcome.held == {1: True, 2: True}
        assert outcome.answered == [(WRITE_UNREAD, 0), (WRITE, 1), (READ, 2), (WRITE_UNREAD, 2)]

    def test_of_lines_that_await_no_read_the_dirty_one_goes(self):
        outcome = one_at_a_time([(WRITE_UNREAD, 0), (FETCH, 1), (READ, 1), (FETCH, 2)])
        assert outcome.held == {1: False, 2: False}
        assert outcome.traffic == [(READ, 1), (WRITE, 0), (READ, 2)]

    def test_of_equal_priority_the_clean_line_goes(self):
        outcome = one_at_a_time([(WRITE, 0), (FETCH, 1), (FETCH, 2)])
        assert outcome.held == {0: True, 2: False}
        assert outcome.counters == {"write_misses": 1, "fetch_misses": 2, "evictions": 1}

    def test_a_fetch_counts_up_and_a_read_down(self):
        outcome = one_at_a_time([(FETCH, 0), (FETCH, 0), (FETCH, 0), (READ, 0)])
        assert outcome.priorities == {0: 2}
        assert outcome.counters == {"fetch_misses": 1, "fetch_hits": 2, "read_hits": 1}

    def test_the_lowest_of_several_priorities_goes(self):
        outcome = one_at_a_time([(FETCH, 0), (FETCH, 0), (FETCH, 1), (READ, 2)])
        assert outcome.held == {0: False, 2: False}

    def test_priorities_saturate_at_both_ends(self):
        specification = replace(TINY, priority_limit=2)
        up = one_at_a_time([(FETCH, 0)] * 5, specification)
        assert up.priorities == {0: 2}
        down = one_at_a_time([(FETCH, 0)] * 5 + [(READ, 0)] * 4, specification)
        assert down.priorities == {0: 0}
        again = one_at_a_time([(FETCH, 0)] + [(READ, 0)] * 4 + [(FETCH, 0)], specification)
        assert again.priorities == {0: 1}

    def test_a_limit_of_zero_leaves_srrip_alone(self):
        specification = replace(TINY, priority_limit=0)
        outcome = one_at_a_time([(FETCH, 0), (READ, 1), (READ, 2)], specification)
        assert outcome.held == {2: False, 1: False}

    def test_srrip_among_equals(self):
        specification = replace(TINY, ways=3)
        reads = [0, 1, 2, 0, 3]
        # Predictions: 0, 1 and 2 come in at 2; the hit takes 0 to 0. Reading 3: 1 is the first of the
        # largest, all age by 1: 0 to 1, 2 to 3; 3 comes in at 2.
        assert one_at_a_time([(READ, line) for line in reads], specification).held.keys() == {0, 2, 3}
        # Reading 4: 2 stands at 3 and goes, nobody ages. Ways: 0 (1), 3 (2), 4 (2).
        reads += [4]
        assert one_at_a_time([(READ, line) for line in reads], specification).held.keys() == {0, 3, 4}
        # Reading 5: 3 goes, 0 ages to 2 and 4 to 3. Reading 6: 4 goes, nobody ages. Reading 7: all stand at
        # 2, and 0 is the first.
        reads += [5]
        assert one_at_a_time([(READ, line) for line in reads], specification).held.keys() == {0, 4, 5}
        reads += [6]
        assert one_at_a_time([(READ, line) for line in reads], specification).held.keys() == {0, 5, 6}
        reads += [7]
        assert one_at_a_time([(READ, line) for line in reads], specification).held.keys() == {5, 6, 7}

    def test_only_lines_of_the_victims_priority_age(self):
        specification = replace(TINY, ways=3)
        # 0 and 1 at priority 1 and prediction 2; 2 at priority 0. Reading 3 ages 2 alone, which goes; then
        # 3 goes for 4. The two fetched lines are read (priority 0, prediction 0), and 4 goes again for 5.
        requests = [(FETCH, 0), (FETCH, 1), (READ, 2), (READ, 3), (READ, 4), (READ, 0), (READ, 1), (READ, 5)]
        assert one_at_a_time(requests, specification).held.keys() == {0, 1, 5}


class TestTiming:
    def test_a_miss_and_a_hit(self):
        outcome = run_bank(TINY, [(READ, 0), (READ, 0)], request_pauses=(20,))
        assert [cycle for cycle, *_ in outcome.memory] == [3]
        assert [cycle for cycle, *_ in outcome.replies] == [16, 24]  # the second is pushed at 21
        # Busy at 1 (taken), 2 (miss), 14 (the line comes), 15 (and is answered), 22 (taken), 23 (hit).
        check_accounting_of(outcome, "bank", busy=6, input_stall={"memory_replies": 11}, output_stall={})
        assert outcome.run.cycles == 25

    @pytest.mark.parametrize("stages", [1, 2, 3, 7])
    def test_a_request_is_decided_about_behind_the_stages(self, stages):
        outcome = run_bank(replace(TINY, stages=stages), [(WRITE, 0)])
        assert [cycle for cycle, *_ in outcome.replies] == [2 + stages]
        check_accounting_of(outcome, "bank", busy=1 + stages, input_stall={}, output_stall={})

    def test_the_latency_of_the_channels_comes_on_top(self):
        outcome = run_bank(TINY, [(WRITE, 0)], latency=5)
        assert [cycle for cycle, *_ in outcome.replies] == [11]

    def test_hits_are_served_one_a_cycle(self):
        outcome = run_bank(STAGED, [(WRITE, number % 4) for number in range(300)])
        assert [cycle for cycle, *_ in outcome.replies] == list(range(5, 305))
        check_accounting_of(outcome, "bank", busy=303, input_stall={}, output_stall={})

    def test_a_request_waits_for_one_before_it_to_its_set(self):
        # Lines 0 and 8 share a set. The second is taken when the first has been decided about, at 4.
        outcome = run_bank(STAGED, [(WRITE, 0), (WRITE, 8), (WRITE, 1), (WRITE, 0)])
        assert [cycle for cycle, *_ in outcome.replies] == [5, 9, 10, 13]

    def test_lines_share_a_set_if_their_numbers_in_their_bank_do_modulo_the_sets(self):
        # Of 6 banks, bank 1 has the lines 1, 7, 13, 19 and 25: the last is in the set of the first.
        specification = FiberCacheSpecification(banks=6, sets=4, ways=1)
        outcome = run_bank(specification, [(WRITE, line) for line in (1, 7, 13, 19, 25)])
        assert [cycle for cycle, *_ in outcome.replies] == [5, 6, 7, 8, 9]
        assert outcome.held.keys() == {7, 13, 19, 25}

    def test_writes_through_leave_one_a_cycle(self):
        outcome = run_bank(STAGED, [(WRITE_THROUGH, number) for number in range(300)])
        assert [cycle for cycle, *_ in outcome.memory] == list(range(5, 305))

    def test_misses_leave_one_a_cycle(self):
        outcome = run_bank(STAGED, [(FETCH, line) for line in range(10)])
        assert [cycle for cycle, *_ in outcome.memory] == list(range(5, 15))

    def test_a_line_that_comes_has_a_turn_before_any_request(self):
        outcome = run_bank(STAGED, [(FETCH, 0)] + [(WRITE, 1 + number % 7) for number in range(20)])
        # Asked for at 4, the line comes at 16 and has the turn at 17, when no write is decided about.
        assert [cycle for cycle, *_ in outcome.replies] == [*range(6, 18), *range(19, 27)]

    def test_lines_that_come_have_a_turn_a_cycle(self):
        outcome = run_bank(STAGED, [(READ, line) for line in range(8)])
        # The first is asked for at 4 and comes at 16.
        assert [cycle for cycle, *_ in outcome.replies] == list(range(18, 26))

    def test_a_full_reply_channel_is_an_output_stall(self):
        outcome = run_bank(TINY, [(WRITE, 0)] * 3, capacity=1, reply_pauses=(3,))
        # The sink takes a reply every fourth cycle, from 3 on; the slot is free a cycle later: taken at 1, 3
        # and 5, decided about at 2, 4 (the sink's 7) and 8 (its 11): 6 and 7 are stalls.
        assert [cycle for cycle, *_ in outcome.replies] == [3, 7, 11]
        check_accounting_of(outcome, "bank", busy=6, output_stall={"replies": 2})


class TestLinesUnderWay:
    def test_requests_join_and_are_answered_in_order_one_a_cycle(self):
        outcome = run_bank(TINY, [(READ, 0), (READ, 0), (FETCH, 0), (READ, 0)])
        assert outcome.traffic == [(READ, 0)]
        assert [(cycle, number) for cycle, _, number, _ in outcome.replies] == [(16, 0), (17, 1), (18, 3)]
        assert outcome.counters == {"read_misses": 1, "read_joins": 2, "fetch_hits": 1}
        assert outcome.priorities == {0: 0}  # the miss 0, the join 0, the fetch +1, the join -1

    def test_a_read_joins_the_fetch_that_runs_ahead_of_it(self):
        outcome = run_bank(TINY, [(FETCH, 0), (READ, 0)])
        assert outcome.counters == {"fetch_misses": 1, "read_joins": 1}
        assert [cycle for cycle, *_ in outcome.replies] == [16]
        assert outcome.priorities == {0: 0}

    def test_a_fetch_that_joins_counts_as_a_hit_and_as_a_read_to_come(self):
        outcome = run_bank(TINY, [(READ, 0), (FETCH, 0), (FETCH, 0)])
        assert outcome.counters == {"read_misses": 1, "fetch_hits": 2}
        assert outcome.priorities == {0: 2}

    def test_a_consume_that_joins_drops_the_line_so_that_a_read_behind_it_asks_again(self):
        assert run_bank(TINY, [(READ, 0), (CONSUME, 0)]).held == {}
        outcome = run_bank(TINY, [(READ, 0), (CONSUME, 0), (READ, 0)])
        assert outcome.counters == {"read_misses": 2, "consume_joins": 1}
        assert outcome.answered == [(READ, 0), (CONSUME, 0), (READ, 0)]
        assert outcome.held == {0: False}

    def test_a_line_that_is_taken_is_joined_no_more(self):
        # Asked for at 2, the line comes at 14, when the second read is to be decided about: it waits for the
        # fetch's turn at 15 and hits at 16.
        outcome = run_bank(TINY, [(FETCH, 0), (READ, 0)], request_pauses=(12,))
        assert outcome.counters == {"fetch_misses": 1, "read_hits": 1}
        assert [cycle for cycle, *_ in outcome.replies] == [17]

    def test_a_consume_that_misses_holds_no_place_so_that_a_read_behind_it_asks_again(self):
        outcome = run_bank(TINY, [(CONSUME, 0), (READ, 0)])
        assert outcome.traffic == [(READ, 0), (READ, 0)]
        assert outcome.counters == {"consume_misses": 1, "read_misses": 1}
        assert outcome.held == {0: False}

    def test_a_write_behind_a_consume_that_misses_stays(self):
        outcome = run_bank(TINY, [(CONSUME, 0), (WRITE, 0)])
        assert outcome.held == {0: True}
        assert outcome.answered == [(WRITE, 0), (CONSUME, 0)]

    def test_a_write_waits_for_the_line(self):
        outcome = run_bank(TINY, [(READ, 0), (WRITE, 0)])
        assert outcome.counters == {"read_misses": 1, "write_hits": 1}
        # The line comes at 14 and is answered at 15, the write, taken at 3, decided about at 16.
        assert [(cycle, operation) for cycle, operation, *_ in outcome.replies] == [(16, READ), (17, WRITE)]
        assert outcome.held == {0: True}
        check_accounting_of(outcome, "bank", busy=6, input_stall={"memory_replies": 10})

    def test_a_hit_passes_a_miss(self):
        outcome = run_bank(TINY, [(WRITE, 1), (READ, 0), (READ, 1)])
        assert outcome.answered == [(WRITE, 1), (READ, 1), (READ, 0)]

    def test_answers_come_in_the_order_of_memory(self):
        outcome = run_bank(TINY, [(READ, 0), (READ, 1)], memory_latencies=(30, 5))
        assert outcome.answered == [(READ, 1), (READ, 0)]
