"""Several banks behind crossbars: conflicts, back-pressure, and every answer at its requester."""

import random

import pytest
from cache_network import run_cache
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.memory.protocol import CONSUME, FETCH, OPERATIONS, READ, WRITE, WRITE_UNREAD
from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.sim.testing import check_accounting

ANSWERED = (READ, WRITE, WRITE_UNREAD, CONSUME)


def check_answers(outcome, requests):
    """Each requester got the answers to its own requests, once each."""
    for replies, sequence in zip(outcome.replies, requests, strict=True):
        expected = [(op, n, line) for n, (op, line) in enumerate(sequence) if op in ANSWERED]
        assert sorted(reply[1:] for reply in replies) == sorted(expected)
    check_accounting(outcome.statistics)


def last_cycle(outcome):
    return max(replies[-1][0] for replies in outcome.replies)


def test_requesters_at_different_banks_do_not_disturb_each_other():
    requests = [[(WRITE, bank + 4 * (number % 4)) for number in range(100)] for bank in range(4)]
    outcome = run_cache(4, requests)
    # Four channels, four blocks and three stages: the first answer is seen at 7, then one a cycle at each
    # requester.
    assert [[cycle for cycle, *_ in replies] for replies in outcome.replies] == [list(range(7, 107))] * 4
    assert outcome.statistics["requests"].counters["conflicts"] == 0


def test_requesters_at_one_bank_share_its_one_request_a_cycle():
    requests = [[(WRITE, 4 * number)] * 50 for number in range(4)]
    outcome = run_cache(4, requests)
    assert last_cycle(outcome) == 206
    # They take turns: after each round all have got as many answers.
    assert [replies[-1][0] for replies in outcome.replies] == [203, 204, 205, 206]
    assert outcome.statistics["bank0"].busy == 203
    assert [outcome.statistics[f"bank{bank}"].idle for bank in (1, 2, 3)] == [outcome.run.cycles] * 3


def test_a_slow_bank_holds_up_its_requester_and_nobody_else():
    # The write to line 0 waits for the line. Two writes behind it are in the bank's stages, two fill its
    # queue, the next heads its input of the crossbar, where the write to the free bank 1 waits in its turn.
    slow = [(READ, 0), *((WRITE, line) for line in (0, 2, 4, 6, 8, 10, 1))]
    outcome = run_cache(2, [slow, [(WRITE, line) for line in (3, 5, 7, 9, 11)]])
    first, second = ({number: cycle for cycle, _, number, _ in replies} for replies in outcome.replies)
    assert list(second.values()) == [7, 8, 9, 10, 11]
    assert first[0] > 12  # the latency of memory
    assert [first[number] - first[0] for number in range(1, 7)] == [1, 2, 3, 4, 5, 6]
    assert first[7] > first[1]
    assert outcome.statistics["requests"].output_stall.keys() == {"outputs[0]"}


@given(
    banks=st.integers(1, 5), requesters=st.integers(1, 5), queue=st.integers(2, 4), seed=st.integers(0, 10**6)
)
def test_every_answer_finds_its_requester(banks, requesters, queue, seed):
    generator = random.Random(seed)
    requests = [
        [
            (generator.randrange(len(OPERATIONS)), generator.randrange(60))
            for _ in range(generator.randrange(50))
        ]
        for _ in range(requesters)
    ]
    size = {"sets": generator.randint(1, 3), "ways": generator.randint(1, 3), "queue": queue}
    outcome = run_cache(banks, requests, **size)
    check_answers(outcome, requests)
    for sleep, order_seed in ((False, None), (True, 1)):
        assert run_cache(banks, requests, sleep=sleep, order_seed=order_seed, **size) == outcome


def test_planted_replies_to_the_wrong_requester():
    class MixesUpReplies(Crossbar):
        def elaborate(self):
            if self.name == "replies":
                self.connected["outputs"].reverse()
            super().elaborate()

    requests = [[(WRITE, 0)], [(FETCH, 1), (READ, 1)]]
    check_answers(run_cache(2, requests), requests)
    with pytest.raises(AssertionError):
        check_answers(run_cache(2, requests, crossbar=MixesUpReplies), requests)
