"""What ``semantics: machine`` adds to the public tool's counts, one effect at a time."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.models.trace.caches import AccessList, BeladyCache, SetAssociativeCache
from fiberscope.models.trace.evaluate import Attachment, run
from fiberscope.models.trace.instances import BodyCounter, Instances, Multicast
from fiberscope.models.trace.load import load
from fiberscope.models.trace.model import Model, _build_merger_input
from fiberscope.models.trace.options import Effects, Options
from fiberscope.models.trace.recorder import Buffet, Capacity, EagerBuffet
from fiberscope.models.trace.spacetime import find_outermost_in_space
from fiberscope.workloads.fibertree import FiberTree

READ, WRITE = 0, 1
ACCESSES = st.lists(st.tuples(st.integers(0, 12), st.sampled_from((READ, READ, WRITE))), max_size=200)


def listed(accesses):
    made, numbers = AccessList(), {}
    for line, kind in accesses:
        if line not in numbers:
            numbers[line] = made.add_line(0)
        made.add(numbers[line], kind)
    return made


def replayed(cache, accesses):
    cache.replay(listed(accesses))
    return cache.lines_read[0], cache.lines_written[0]


@given(ACCESSES, st.integers(1, 8))
def test_a_cache_of_one_way_holds_a_line_a_set(accesses, lines):
    order = list(dict.fromkeys(line for line, _ in accesses))
    held, dirty, read, written = {}, set(), 0, 0
    for line, kind in accesses:
        place = order.index(line) % lines
        if held.get(place) != line:
            read += kind == READ
            written += held.get(place) in dirty
            dirty.discard(held.get(place))
            held[place] = line
        if kind == WRITE:
            dirty.add(line)
    assert replayed(SetAssociativeCache(lines, 1), accesses) == (read, written + len(dirty))


@given(ACCESSES, st.integers(1, 4))
def test_a_cache_with_room_for_all_reads_and_writes_each_line_once(accesses, ways):
    first = dict(reversed(accesses))
    written = {line for line, kind in accesses if kind == WRITE}
    cache = SetAssociativeCache(ways * -(-13 // ways), ways)
    assert replayed(cache, accesses) == (list(first.values()).count(READ), len(written))


@given(st.lists(st.integers(0, 12), max_size=200), st.integers(1, 8), st.integers(1, 4))
def test_no_cache_that_is_built_reads_less_than_one_that_knows_the_future(lines, sets, ways):
    accesses = [(line, READ) for line in lines]
    built, _ = replayed(SetAssociativeCache(sets * ways, ways), accesses)
    ideal, _ = replayed(BeladyCache(sets * ways), accesses)
    assert len(set(lines)) <= ideal <= built


TOUCHES = st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 1)), max_size=100)


def moved(touches, lines):
    """Lines read and written; each that came while there was room is kept until the group ends."""
    kept, written, last, read, back = {}, set(), None, 0, 0
    for line, write, step in touches:
        if step:
            kept, written, last = {}, set(), None
        if line not in kept:
            kept[line] = sum(kept.values()) < lines
            read += not write
        elif not kept[line] and line != last:
            written.discard(line)
            read += not write
        if write and line not in written:
            written.add(line)
            back += 1
        last = line
    return read, back


@given(TOUCHES, st.integers(0, 12))
def test_a_line_that_finds_no_room_is_moved_whenever_it_is_come_back_to(touches, lines):
    buffet, group = Buffet(1, 10, 0, Capacity(lines)), 0
    for line, write, step in touches:
        group += step
        buffet.touch(line, 0, write, group)
    assert (buffet.lines_read, buffet.lines_written) == moved(touches, lines)


def test_subtrees_share_the_room():
    room = Capacity(5)
    buffet = EagerBuffet(np.array([3, 2, 4]), 0, room)
    for fiber in (0, 1, 2, 0, 1, 2):
        buffet.touch(fiber, 0, False, 0)
    assert (room.used_lines, buffet.lines_read) == (5, 3 + 2 + 4 + 4)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), max_size=100), st.integers(2, 4))
def test_every_instance_holds_what_it_asks_for_and_one_read_may_serve_several(touches, number):
    serials, serial = np.zeros(2, np.int64), 0
    alone = Instances([Buffet(1, 9) for _ in range(number)], serials, 1)
    buffets = [Buffet(1, 9) for _ in range(number)]
    together = Multicast(buffets, serials, 1)
    misses, rounds = Counter(), set()
    held = set()
    for line, step in touches:
        serial += step
        serials[1] = serial
        alone.touch(line, 0, False, 0)
        together.touch(line, 0, False, 0)
        if (line, serial % number) not in held:
            held.add((line, serial % number))
            misses[serial % number] += 1
            rounds.add((line, serial // number))
    assert [buffet.lines_read for buffet in buffets] == [misses[each] for each in range(number)]
    assert sum(misses.values()) - together.lines_shared == len(rounds)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=60),
    st.integers(2, 3),
    st.integers(0, 2),
)
def test_a_read_is_shared_with_reads_of_other_instances_alone(touches, number, lines):
    """In a round, a line is read as often as the instance that reads it most reads it."""
    serials, serial = np.zeros(2, np.int64), 0
    buffets = [Buffet(1, 9, 0, Capacity(lines)) for _ in range(number)]
    together = Multicast(buffets, serials, 1)
    own: Counter[tuple[int, int, int]] = Counter()
    for line, step in touches:
        serial += step
        serials[1] = serial
        before = buffets[serial % number].lines_read
        together.touch(line, 0, False, serial)
        own[serial // number, line, serial % number] += buffets[serial % number].lines_read - before
    most = Counter()
    for (at, line, _instance), reads in own.items():
        most[at, line] = max(most[at, line], reads)
    assert sum(own.values()) - together.lines_shared == sum(most.values())


@pytest.mark.parametrize(("rank", "lines"), [("M", 3), ("K", 3 * 5)])
def test_a_round_is_an_iteration_of_each_instance(tmp_path: Path, rank: str, lines: int) -> None:
    """Twelve rows on four instances are three rounds; each reads four elements of A, or all of B, once."""
    path = tmp_path / "rows.yaml"
    path.write_text(
        "einsum:\n  declaration: {A: [M], B: [K], Z: [M, K]}\n"
        '  expressions: ["Z[m, k] = A[m] * B[k]"]\nmapping:\n  loop-order: {Z: [M, K]}\n'
    )
    a, b = (
        FiberTree.from_coo({name: size}, [np.arange(size)], np.ones(size))
        for name, size in (("M", 12), ("K", 5))
    )
    made = []

    def observe(prepared):
        buffets = [Buffet(4 if rank == "M" else 1, 12, 1) for _ in range(4)]
        made.append((buffets, Multicast(buffets, prepared.serials, 1)))
        return [Attachment("A" if rank == "M" else "B", rank, "payload", made[-1][1])]

    run(load(str(path)), {"A": a, "B": b}, observe)
    ((buffets, together),) = made
    assert sum(buffet.lines_read for buffet in buffets) - together.lines_shared == lines


@pytest.mark.parametrize(
    ("in_space", "outermost"), [("MN", "M"), ("NM", "M"), ("N", "N"), ("K", "K"), ("", None)]
)
def test_instances_are_of_the_outermost_loop_in_space(in_space, outermost):
    spacetime = SimpleNamespace(space=[SimpleNamespace(rank=rank) for rank in in_space])
    prepared = SimpleNamespace(einsum=SimpleNamespace(loop_order=("K", "M", "N"), spacetime=spacetime))
    assert find_outermost_in_space(prepared) == outermost
    prepared.einsum.spacetime = None
    assert find_outermost_in_space(prepared) is None


def test_bodies_are_counted_by_instance():
    work = BodyCounter(np.zeros(3, np.int64), 1)
    for serial in (0, 1, 1, 4, 5):
        work.touch(0, 0, False, serial)
    assert list(work.bodies) == [1, 3, 1]


POINTS = [(0, m) for m in range(8)] + [(k, (3 * k) % 8) for k in range(1, 8)]


def measured(effects, specification=None):
    """Gamma on eight rows: each takes row 0 of B, and one another."""
    specification = specification or load("gamma")
    columns = np.array(POINTS).T
    a = FiberTree.from_coo({"K": 8, "M": 8}, columns, np.ones(len(POINTS)))
    b = FiberTree.from_coo({"K": 8, "N": 8}, columns, np.ones(len(POINTS)))
    model = Model(specification, effects)
    return model.metrics(run(specification, {"A": a, "B": b}, model.observe))


def test_what_the_last_buffers_serve_is_counted():
    plain, served = measured(Effects()), measured(Effects(on_chip=True))
    products = plain["Z"]["FPMul"]["mul"]
    assert "FiberCache" not in plain["T"]
    assert served["T"]["FiberCache"]["B"]["read"] == 32 * len(POINTS) + (32 + 64) * products
    assert served["T"]["RegFile"]["A"]["read"] == 32 * 8 + (32 + 64) * len(POINTS)
    assert served["T"]["MainMemory"] == plain["T"]["MainMemory"]


def test_headers_are_moved_with_their_fibers():
    specification = load("gamma")
    a = specification.tensors["A"]
    ranks = dict(a.formats["default"].ranks)
    ranks["K"] = replace(ranks["K"], fhbits=48)
    formats = {"default": replace(a.formats["default"], ranks=ranks)}
    headed = replace(specification, tensors=dict(specification.tensors) | {"A": replace(a, formats=formats)})
    without = measured(Effects(), headed)["T"]["MainMemory"]["A"]["read"]
    rows = len({m for _, m in POINTS})
    assert measured(Effects(headers=True), headed)["T"]["MainMemory"]["A"]["read"] == without + 48 * rows


def test_the_busiest_instance_counts():
    plain, uneven = measured(Effects()), measured(Effects(imbalance=True))
    assert uneven["Z"]["FPMul"]["time"] > plain["Z"]["FPMul"]["time"]
    assert uneven["Z"]["FPMul"]["mul"] == plain["Z"]["FPMul"]["mul"]


@pytest.mark.parametrize("effect", ["replacement", "capacity", "multicast"])
def test_with_room_for_all_buffers_that_are_built_move_as_much(effect):
    assert measured(Effects(**{effect: True})) == measured(Effects())


def test_instances_share_no_line():
    plain, apart = measured(Effects()), measured(Effects(instances=True))
    rows = 8  # whose pointers lie two to a line, and go to eight processing elements
    more = 64 * (rows - rows // 2)
    a, z = ("T", "A", "read"), ("Z", "Z", "write")
    for einsum, tensor, action in (a, z):
        of_all = plain[einsum]["MainMemory"][tensor][action]
        assert apart[einsum]["MainMemory"][tensor][action] == of_all + more
    assert apart["T"]["MainMemory"]["B"] == plain["T"]["MainMemory"]["B"]  # one cache serves all


def test_a_line_that_several_instances_ask_for_at_once_is_read_once():
    """The eight rows go to as many processing elements in one round, two pointers to a line of A."""
    plain, apart, together = (
        measured(Effects(**dict.fromkeys(on, True)))
        for on in ((), ("instances",), ("instances", "multicast"))
    )
    reads = [found["T"]["MainMemory"]["A"]["read"] for found in (plain, apart, together)]
    assert reads == [reads[0], reads[0] + 4 * 64, reads[0]]
    assert together["T"]["MainMemory"]["B"] == plain["T"]["MainMemory"]["B"]
    assert together["Z"]["MainMemory"]["Z"] == apart["Z"]["MainMemory"]["Z"]  # what is written is no other's


@pytest.mark.parametrize("effect", Effects.__dataclass_fields__)
def test_an_effect_is_on_with_the_machine_and_off_with_the_tool(effect):
    assert not getattr(Options().effects, effect)
    assert getattr(Options(semantics="machine").effects, effect)
    assert getattr(Options(**{effect: True}).effects, effect)
    assert not getattr(Options(semantics="machine", **{effect: False}).effects, effect)


def test_a_merger_reads_the_latest_tensor_of_an_iteration_even_if_all_rounds_are_equal() -> None:
    """Rounds whose Einsums are equal are different runs: the arrays of their tensors are never compared."""
    specification = load("outerspace")
    entries = (np.array([0, 1, 2]), np.array([1, 2, 0]))
    tensors = {
        name: FiberTree.from_coo(dict.fromkeys(specification.tensors[name].ranks, 3), entries, np.ones(3))
        for name in specification.inputs
    }
    outcome = run(specification, tensors)
    rounds = (*(replace(done) for done in outcome.runs), *outcome.runs)
    merged = [(done, binding) for done in outcome.runs for binding in done.prepared.einsum.bindings.mergers]
    assert merged
    for done, binding in merged:
        read = _build_merger_input(done, binding, replace(outcome, runs=rounds))
        assert read is _build_merger_input(done, binding, outcome)
        assert rounds.index(done) == len(outcome.runs) + outcome.runs.index(done)
