"""The cache that knows the future against the same in plain Python, and against every other cache."""

import functools

from hypothesis import given
from hypothesis import strategies as st

from fiberscope.models.trace.caches import AccessList, BeladyCache, CacheFeed, Instants

READ, WRITE, PINNED = 0, 1, 2  # as the compiled module numbers them
NEVER = float("inf")
ACCESSES = st.lists(st.tuples(st.integers(0, 12), st.sampled_from((READ, READ, WRITE, PINNED))), max_size=200)


def uses_after(accesses):
    """For each access, when its line is used again."""
    after, latest = [], {}
    for now in range(len(accesses) - 1, -1, -1):
        after.append(latest.get(accesses[now][0], NEVER))
        latest[accesses[now][0]] = now
    return after[::-1]


def traffic(accesses, capacity):
    """Lines read and written."""
    held, dirty, read, written = {}, set(), 0, 0

    def leave(line):
        nonlocal written
        written += line in dirty
        dirty.discard(line)

    for (line, kind), after in zip(accesses, uses_after(accesses), strict=True):
        read += held.pop(line, None) is None and kind == READ
        if kind == WRITE:
            dirty.add(line)
        last = max(held, key=held.get, default=None)
        full = len(held) >= capacity
        if after == NEVER or (full and (last is None or held[last] < after)):
            leave(line)
            continue
        if full:
            del held[last]
            leave(last)
        held[line] = after
    return read, written


def counted(accesses, capacity):
    listed, cache, numbers = AccessList(), BeladyCache(capacity), {}
    for line, kind in accesses:
        if line not in numbers:
            numbers[line] = listed.add_line(7)
        listed.add(numbers[line], kind)
    cache.replay(listed)
    return cache.lines_read[7], cache.lines_written[7]


@given(ACCESSES, st.integers(0, 8))
def test_the_cache_counts_what_the_plain_one_does(accesses, capacity):
    assert counted(accesses, capacity) == traffic(accesses, capacity)


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 3))
def test_no_cache_reads_less(lines, capacity):
    @functools.cache
    def fewest(now, held):
        if now == len(lines):
            return 0
        here = held | {lines[now]}
        kept = [here] if len(here) <= capacity else [here - {line} for line in here]
        return (lines[now] not in held) + min(fewest(now + 1, each) for each in kept)

    assert counted([(line, READ) for line in lines], capacity)[0] == fewest(0, frozenset())


def test_planted_a_cache_that_drops_the_oldest_reads_more():
    lines = [0, 1, 2] * 5  # of which one of two lines holds none until it comes again
    assert counted([(line, READ) for line in lines], 2)[0] < len(lines)


TOUCH = st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 20), st.booleans())


@given(st.lists(TOUCH, max_size=150), st.integers(1, 4), st.integers(0, 20))
def test_bindings_share_the_room_of_a_cache(touches, elements_per_line, capacity):
    listed, shape = AccessList(), 15
    feeds = [CacheFeed(listed, owner, elements_per_line, shape) for owner in range(3)]
    accesses = []
    for owner, fiber, position, write in touches:
        feeds[owner].touch(fiber, position, write, 0)
        kind = READ if not write else WRITE if position < shape else PINNED
        accesses.append(((owner, fiber, position // elements_per_line), kind))
    cache = BeladyCache(capacity)
    cache.replay(listed)
    assert (sum(cache.lines_read), sum(cache.lines_written)) == traffic(accesses, capacity)


def test_many_lines_find_room():
    listed = AccessList()
    feed = CacheFeed(listed, 0, 1, 1)
    for fiber in list(range(5000)) * 2:
        feed.touch(fiber, 0, False, 0)
    cache = BeladyCache(1000)
    cache.replay(listed)
    assert (listed.lines, cache.lines_read[0]) == (5000, 9000)


@given(
    st.sampled_from((1, 31, 32, 33, 1024, 1025, 40000)),
    st.lists(st.tuples(st.booleans(), st.integers(0, 39999))),
)
def test_instants_are_a_set_that_knows_its_latest(size, changes):
    instants, plain = Instants(size), set()
    for add, instant in ((add, instant % size) for add, instant in changes):
        assert add or instants.remove(instant) == (instant in plain)
        if add and instant not in plain:
            instants.add(instant)
        (plain.add if add else plain.discard)(instant)
        assert (instants.count, instants.latest()) == (len(plain), max(plain, default=-1))
