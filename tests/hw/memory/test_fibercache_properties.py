"""A FiberCache bank under any requests: against a plain model one at a time, by its laws all at once."""

import random
from collections import Counter

import pytest
from cache_bench import run_bank
from cache_model import served
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import CONSUME, FETCH, OPERATIONS, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD
from fiberscope.sim.testing import check_accounting

ANSWERED = (READ, WRITE, WRITE_UNREAD, CONSUME)
APART = (80,)  # longer than any memory latency drawn here, so that each request finishes

specifications = st.builds(
    FiberCacheSpecification,
    banks=st.integers(1, 3),
    sets=st.integers(1, 3),
    ways=st.integers(1, 4),
    misses=st.integers(1, 4),
    targets=st.integers(1, 5),
    priority_limit=st.integers(0, 3),
    reuse_limit=st.integers(1, 3),
    stages=st.integers(1, 4),
)
operations = st.sampled_from(
    [READ, READ, READ, FETCH, FETCH, WRITE, WRITE, WRITE_UNREAD, CONSUME, WRITE_THROUGH]
)
request_lists = st.integers(0, 80).flatmap(
    lambda count: st.lists(st.tuples(operations, st.integers(0, 8)), min_size=count, max_size=count)
)
pauses = st.lists(st.sampled_from([0, 0, 0, 1, 2, 7]), min_size=1, max_size=5)
surroundings = st.fixed_dictionaries(
    {
        "request_pauses": pauses,
        "reply_pauses": pauses,
        "memory_pauses": pauses,
        "memory_latencies": st.lists(st.integers(1, 40), min_size=1, max_size=7),
        "capacity": st.integers(1, 4),
        "memory_capacity": st.integers(2, 4),
        "latency": st.integers(1, 3),
    }
)


class Watched(FiberCacheBank):
    """Notes why a line stops being dirty: written back, consumed, or lost."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.transitions = []

    def dirty_lines(self):
        return {line for line, dirty in zip(self.tags.lines, self.tags.dirty, strict=True) if dirty}

    def tick(self, now):
        before, written, consumed = self.dirty_lines(), self.write_backs, self.consume_hits
        wake = super().tick(now)
        for line in before - self.dirty_lines():
            cause = "written back" if self.write_backs > written else "lost"
            self.transitions.append(("consumed" if self.consume_hits > consumed else cause, line))
        return wake


def check_contents(make, specification, requests, latencies=(10,)):
    """One request at a time, the bank does what the model does; lines count within the bank."""
    requests = [(operation, line * specification.banks) for operation, line in requests]
    outcome = run_bank(specification, requests, make, request_pauses=APART, memory_latencies=latencies)
    model = served(specification, requests)
    assert outcome.counters == {name: count for name, count in model.counters.items() if count}
    assert outcome.traffic == model.traffic
    assert outcome.answered == model.answered
    assert outcome.held == model.held
    assert outcome.priorities == model.priorities


def check_conservation(make, specification, requests, **given):
    """Nothing is lost or doubled, however requests overlap."""
    outcome = run_bank(specification, requests, make, **given)
    check_replies(outcome, requests)
    check_counts(outcome, requests)
    check_dirty_lines(outcome, requests)
    check_accounting(outcome.statistics)
    assert outcome.in_flight == 0
    assert len(outcome.held) <= specification.sets * specification.ways
    return outcome


def check_replies(outcome, requests):
    """Every request that has an answer gets one, the requests to a line that is not consumed in order."""
    expected = [(op, n, line) for n, (op, line) in enumerate(requests) if op in ANSWERED]
    assert sorted(reply[1:] for reply in outcome.replies) == sorted(expected)
    consumed = {line for operation, line in requests if operation == CONSUME}
    for line in {line for _, line in requests} - consumed:
        numbers = [number for _, _, number, answered in outcome.replies if answered == line]
        assert numbers == sorted(numbers)


def check_counts(outcome, requests):
    """Each request counts once, and each miss reads memory once."""
    counts = Counter(outcome.counters)
    asked = Counter(OPERATIONS[operation] for operation, _ in requests)
    asked["write"] += asked["write_unread"]
    for operation in ("read", "fetch", "write", "consume"):
        kinds = [counts[f"{operation}_{kind}"] for kind in ("hits", "joins", "misses")]
        assert sum(kinds) == asked[operation]
    assert counts["writes_through"] == asked["write_through"]
    traffic = Counter(operation for operation, _ in outcome.traffic)
    assert traffic[READ] == counts["read_misses"] + counts["fetch_misses"] + counts["consume_misses"]
    assert traffic[WRITE] == counts["write_backs"] + counts["writes_through"]


def check_dirty_lines(outcome, requests):
    """Every line written stays dirty until it is written back, to memory indeed, or consumed."""
    assert {cause for cause, _ in outcome.transitions} <= {"written back", "consumed"}
    written = Counter(line for cause, line in outcome.transitions if cause == "written back")
    through = Counter(line for operation, line in requests if operation == WRITE_THROUGH)
    assert Counter(line for operation, line in outcome.traffic if operation == WRITE) == written + through
    ended = Counter(line for _, line in outcome.transitions)
    writes = Counter(line for operation, line in requests if operation in (WRITE, WRITE_UNREAD))
    for line, count in writes.items():
        assert 1 <= ended[line] + outcome.held.get(line, False) <= count


@given(
    specification=specifications,
    requests=request_lists,
    latencies=st.lists(st.integers(1, 40), min_size=1, max_size=5),
)
def test_one_at_a_time_it_holds_and_sends_what_the_model_does(specification, requests, latencies):
    check_contents(FiberCacheBank, specification, requests, latencies)


@given(specification=specifications, requests=request_lists, given=surroundings)
def test_nothing_is_lost_however_requests_overlap(specification, requests, given):
    check_conservation(Watched, specification, requests, **given)


@given(specification=specifications, requests=request_lists, given=surroundings)
def test_neither_sleep_nor_order_changes_anything(specification, requests, given):
    expected = run_bank(specification, requests, **given)
    for sleep, order_seed in ((False, None), (True, 1), (True, 2), (False, 3)):
        found = run_bank(specification, requests, sleep=sleep, order_seed=order_seed, **given)
        assert found == expected, f"sleep={sleep}, order_seed={order_seed}"


@pytest.mark.parametrize("seed", range(12))
def test_long_random_traffic_keeps_the_laws(seed):
    generator = random.Random(seed)
    specification = FiberCacheSpecification(
        banks=1,
        sets=generator.choice([1, 2, 4]),
        ways=generator.randint(1, 4),
        misses=generator.randint(1, 6),
    )
    weights = [generator.randint(1, 6) for _ in OPERATIONS]
    kinds = generator.choices(range(len(OPERATIONS)), weights, k=1500)
    requests = [(kind, generator.randrange(20)) for kind in kinds]
    latencies = [generator.randint(1, 60) for _ in range(37)]
    check_conservation(Watched, specification, requests, memory_latencies=latencies)
    check_contents(FiberCacheBank, specification, requests, latencies)


SMALL = FiberCacheSpecification(banks=1, sets=2, ways=2, misses=2, targets=3)
MIXED = [
    *((WRITE, line) for line in range(6)),
    *((FETCH, line) for line in range(4, 9)),
    *((READ, line) for line in range(4, 9)),
    *((CONSUME, line) for line in range(6)),
    *((READ, line) for line in (0, 2, 2, 0, 4, 2)),
    (FETCH, 10),
    *((READ, line) for line in (12, 14, 10)),
]


class ForgetsToWriteBack(Watched):
    def tick(self, now):
        wake = super().tick(now)
        for place in range(len(self.tags.dirty)):
            self.tags.dirty[place] = 0
        return wake


class ForgetsFetches(FiberCacheBank):
    def tick(self, now):
        wake = super().tick(now)
        for place in range(len(self.tags.priorities)):
            self.tags.priorities[place] = 0
        return wake


class ForgetsUses(FiberCacheBank):
    """Takes every line for one used just now."""

    def tick(self, now):
        wake = super().tick(now)
        for place in range(len(self.tags.reuse)):
            self.tags.reuse[place] = 0
        return wake


class KeepsConsumedLines(Watched):
    """Does not drop a line in flight that is consumed."""

    def tick(self, now):
        lines, joins = list(self.tags.lines), self.consume_joins
        wake = super().tick(now)
        if self.consume_joins > joins:
            for place, line in enumerate(lines):
                self.tags.lines[place] = line
        return wake


class AnswersTwice(Watched):
    def elaborate(self):
        super().elaborate()
        self.answers = self.channel("replies")

    def tick(self, now):
        before = self.answers.pushes
        wake = super().tick(now)
        if self.answers.pushes > before == 2 and self.answers.can_push():
            self.answers.push(READ, (5 << 32) | 6, 4 * 64, 0.0)
        return wake


def test_the_planted_faults_are_tried_on_requests_that_a_good_bank_serves():
    check_contents(FiberCacheBank, SMALL, MIXED)
    check_conservation(Watched, SMALL, MIXED)


@pytest.mark.parametrize("faulty", [ForgetsToWriteBack, ForgetsFetches, ForgetsUses])
def test_planted_wrong_contents(faulty):
    with pytest.raises(AssertionError):
        check_contents(faulty, SMALL, MIXED)


@pytest.mark.parametrize("faulty", [ForgetsToWriteBack, AnswersTwice])
def test_planted_broken_laws(faulty):
    with pytest.raises(AssertionError):
        check_conservation(faulty, SMALL, MIXED)


def test_planted_a_bank_that_keeps_a_line_consumed_under_way():
    assert check_conservation(Watched, SMALL, [(READ, 0), (CONSUME, 0)]).held == {}
    with pytest.raises(AssertionError, match="a line is held"):
        check_conservation(KeepsConsumedLines, SMALL, [(READ, 0), (CONSUME, 0)])
