"""Leader-follower intersection: short fibers cycle by cycle, any others against sets and a plain search."""

import pytest
from fibers import ROOM, STOP_TOKEN, check_accounting_of, fiber_tokens, pushed_at, stalls_of
from hypothesis import given, settings
from hypothesis import strategies as st
from levels import fibers_of_a_level, level_of, scanned
from scanning import references

from hw.leader_follower import LeaderFollowerIntersector
from hw.stream import DATA
from sim import Kernel, SimulationError
from sim.testing import StreamSink, StreamSource, check_laws, run_block

OUTPUTS = ["matches_leader", "matches_follower"]
stall_seeds = st.none() | st.integers(0, 1000)
sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})


@st.composite
def cases(draw):
    """The leader's fibers, the follower's, and which of these is looked up in for each of those."""
    leader, follower = draw(fibers_of_a_level()), draw(fibers_of_a_level())
    numbers = st.lists(st.integers(0, len(follower) - 1), min_size=len(leader), max_size=len(leader))
    return leader, follower, draw(numbers)


def inputs_of(leader, numbers):
    tokens = [token for number in range(len(leader)) for token in fiber_tokens(scanned(leader, number))]
    return {"leader": tokens, "references": references(numbers)}


def matches_of(leader, follower, numbers):
    """What comes of it: the reference."""
    tokens = {port: [] for port in OUTPUTS}
    for own, other in enumerate(numbers):
        in_leader, in_follower = ({c for c, _ in fiber} for fiber in (leader[own], follower[other]))
        tokens["matches_leader"] += fiber_tokens(e for e in scanned(leader, own) if e[0] in in_follower)
        tokens["matches_follower"] += fiber_tokens(e for e in scanned(follower, other) if e[0] in in_leader)
    return tokens


def probes_of(leader, follower):
    """For each coordinate of the leader, the probes of its search, and whether it is found."""
    probes, low = [], 0
    for coordinate in leader:
        high, count, found = len(follower), 0, False
        while low < high and not found:
            count += 1
            middle = (low + high) // 2
            found = follower[middle] == coordinate
            if follower[middle] <= coordinate:
                low = middle + 1
            else:
                high = middle
        probes.append((count, found))
    return probes


def all_probes(leader, follower, numbers):
    return [
        probes_of([c for c, _ in leader[own]], [c for c, _ in follower[other]])
        for own, other in enumerate(numbers)
    ]


def block_of(follower, indexed):
    return lambda: LeaderFollowerIntersector("block", level_of(follower), indexed=indexed)


def check_block(leader, follower, numbers, indexed, **bench):
    outcome = run_block(block_of(follower, indexed)(), inputs_of(leader, numbers), OUTPUTS, **bench)
    assert {port: outcome.tokens(port) for port in OUTPUTS} == matches_of(leader, follower, numbers)
    probes = [probe for fiber in all_probes(leader, follower, numbers) for probe in fiber]
    assert outcome.statistics["block"].counters == {
        "intersect": len(probes),
        "probes": 0 if indexed else sum(count for count, _ in probes),
        "matches": sum(found for _, found in probes),
        "fibers": len(numbers),
    }
    return outcome


def fiber(*coordinates):
    return [(coordinate, float(coordinate)) for coordinate in coordinates]


def test_an_indexed_follower_answers_in_a_cycle():
    outcome = check_block([fiber(2, 5, 90)], [fiber(*range(0, 100, 5))], [0], True)
    # Seen at 1: 2 is not there; 5 leaves at 2, 90 at 3, the stops at 4.
    assert outcome.received["matches_follower"] == [
        (3, (DATA, 5, 1, 5.0)),
        (4, (DATA, 90, 18, 90.0)),
        (5, STOP_TOKEN),
    ]
    check_accounting_of(outcome, "block", busy=4, idle=2, input_stall={}, output_stall={})


def test_a_follower_without_index_is_searched_a_probe_a_cycle():
    outcome = check_block([fiber(1, 6)], [fiber(0, 2, 4, 6)], [0], False)
    # 1: probes 4, 2, 0 at 1 to 3 and is not there. 6: probes 4 and 6, of 2, 4, 6, at 4 and 5. Stops at 6.
    assert [cycle for cycle, _ in outcome.received["matches_leader"]] == [6, 7]
    assert outcome.statistics["block"].counters["probes"] == 5


def test_it_waits_for_the_reference_and_for_the_leader():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block = kernel.add(block_of([fiber(1)], True)())
    inputs = inputs_of([fiber(1), fiber(1)], [0, 0])
    for port, latency, pauses in (("leader", 1, (0, 0, 20)), ("references", 10, ())):
        source = kernel.add(StreamSource(port, inputs[port], pauses))
        kernel.connect(source, "out", block, port, capacity=4, latency=latency)
    for port in OUTPUTS:
        kernel.connect(block, port, kernel.add(StreamSink(port)), "in", capacity=4)
    kernel.run()
    # The leader shows from 1 on, its first reference at 10; two tokens leave until 11, and the third at 12.
    # The fourth is seen at 24.
    assert kernel.statistics()["block"].input_stall == {"references": 9, "leader": 11}


@settings(max_examples=100, deadline=None)
@given(case=cases(), size=sizes, seed=stall_seeds, indexed=st.booleans())
def test_intersects_anything_under_any_stalls(case, size, seed, indexed):
    check_block(*case, indexed, seed=seed, **size)
    leader, follower, numbers = case
    inputs = inputs_of(leader, numbers)
    check_laws(block_of(follower, indexed), inputs, OUTPUTS, seeds=[seed], **size)


@settings(max_examples=100, deadline=None)
@given(case=cases(), seed=stall_seeds, indexed=st.booleans())
def test_each_token_leaves_in_the_first_cycle_that_it_can(case, seed, indexed):
    check_timing(block_of(case[1], indexed), *case, seed, indexed)


def check_timing(make, leader, follower, numbers, seed, indexed):
    """Every match and stop in the cycle that a recurrence says, where no channel ever fills."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    block, sink, seen = kernel.add(make()), kernel.add(StreamSink("sink")), []
    for number, (port, tokens) in enumerate(inputs_of(leader, numbers).items()):
        source = kernel.add(StreamSource(port, tokens, stalls_of(seed, number)))
        kernel.connect(source, "out", block, port, capacity=ROOM)
        seen.append(iter([cycle + 1 for cycle in pushed_at(len(tokens), seed, number)]))
    kernel.connect(block, "matches_leader", sink, "in", capacity=ROOM)
    kernel.connect(block, "matches_follower", kernel.add(StreamSink("other")), "in", capacity=ROOM)
    kernel.run()
    expected, now = [], -1
    for probes in all_probes(leader, follower, numbers):
        begun = next(seen[1])
        for count, found in probes:
            cycles = 1 if indexed else max(count, 1)
            now = max(now + 1, begun, next(seen[0])) + cycles - 1
            expected += [now] * found
        now = max(now + 1, begun, next(seen[0]))
        expected.append(now)
    assert [cycle - 1 for cycle, _ in sink.received] == expected


def test_planted_a_search_that_is_taken_for_an_index():
    case = [fiber(1, 6)], [fiber(0, 2, 4, 6)], [0]
    check_timing(block_of(case[1], False), *case, None, False)
    with pytest.raises(AssertionError):
        check_timing(block_of(case[1], True), *case, None, False)


def test_planted_an_intersector_that_drops_the_first_of_every_fiber(monkeypatch):
    case = [fiber(1, 2, 3)], [fiber(1, 2, 3)], [0]
    check_block(*case, True)
    monkeypatch.setitem(globals(), "level_of", lambda fibers, level=level_of: level([f[1:] for f in fibers]))
    with pytest.raises(AssertionError):
        check_block(*case, True)


def test_a_reference_to_no_fiber_is_refused():
    with pytest.raises(SimulationError, match="block: reference 1 names no fiber; the level has 1, from 0"):
        run_block(block_of([[]], True)(), {"leader": [], "references": references([1])}, OUTPUTS)
