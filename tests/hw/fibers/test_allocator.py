"""The bump allocator and the writer of nodes: against a running sum and a dictionary, under stalls."""

import pytest
from fibers import check_accounting_of
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.fibers.allocator import GRANTED, NO_NODE, OVERFLOW, BumpAllocator, NodeWriter
from fiberscope.hw.fibers.allocator_rtl import BumpAllocatorParameters
from fiberscope.sim import SimulationError
from fiberscope.sim.testing import check_laws, run_block

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)
requests = st.lists(st.tuples(st.integers(0, 40), st.integers(-5, 99)), max_size=30)
nodes = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 1 << 40)), max_size=30)


def granted(asked, begin, end):
    """The grants by plain arithmetic, and where the pointer ends."""
    grants = []
    for size, who in asked:
        fits = begin + size <= end
        grants.append((GRANTED if fits else OVERFLOW, begin, who, 0.0))
        begin += size if fits else 0
    return grants, begin


def check_grants(asked, begin, end, **bench):
    inputs = {"requests": [(0, size, who, 0.0) for size, who in asked]}
    block = BumpAllocator("allocator", end, begin)
    outcome = run_block(block, inputs, ["grants"], **bench)
    grants, pointer = granted(asked, begin, end)
    assert outcome.tokens("grants") == grants
    assert block.pointer == pointer
    overflows = sum(kind == OVERFLOW for kind, *_ in grants)
    counters = {"granted": len(grants) - overflows, "overflows": overflows, "units": pointer - begin}
    assert outcome.statistics["allocator"].counters == counters
    return outcome


@given(asked=requests, begin=st.integers(0, 9), room=st.integers(0, 300), size=sizes, seed=stall_seeds)
def test_gives_out_the_old_pointer(asked, begin, room, size, seed):
    check_grants(asked, begin, begin + room, seed=seed, **size)
    inputs = {"requests": [(0, size, who, 0.0) for size, who in asked]}
    check_laws(lambda: BumpAllocator("allocator", room), inputs, ["grants"], seeds=[seed], **size)


def test_a_request_a_cycle_in_the_cycle_in_which_it_is_seen():
    outcome = check_grants([(3, 7), (0, 8), (5, 9), (3, 1), (2, 2)], 10, 20)
    assert [cycle for cycle, _ in outcome.received["grants"]] == [2, 3, 4, 5, 6]
    assert outcome.tokens("grants") == [
        (GRANTED, 10, 7, 0.0), (GRANTED, 13, 8, 0.0), (GRANTED, 13, 9, 0.0), (OVERFLOW, 18, 1, 0.0),
        (GRANTED, 18, 2, 0.0),
    ]  # fmt: skip
    check_accounting_of(outcome, "allocator", busy=5, idle=2, input_stall={}, output_stall={})


def linked(given_nodes):
    """The headers by a dictionary of heads."""
    heads, headers = {}, []
    for count, row, address in given_nodes:
        headers.append((count, address, heads.get(row, NO_NODE), 0.0))
        heads[row] = address
    return headers, heads


@given(given_nodes=nodes, size=sizes, seed=stall_seeds)
def test_links_every_node_before_the_head_of_its_row(given_nodes, size, seed):
    inputs = {"nodes": [(*node, 0.0) for node in given_nodes]}
    block = NodeWriter("writer", 5)
    outcome = run_block(block, inputs, ["headers"], seed=seed, **size)
    headers, heads = linked(given_nodes)
    assert outcome.tokens("headers") == headers
    assert list(block.heads) == [heads.get(row, NO_NODE) for row in range(5)]
    assert outcome.statistics["writer"].counters == {
        "linked": len(headers), "elements": sum(count for count, *_ in headers),
    }  # fmt: skip
    check_laws(lambda: NodeWriter("writer", 5), inputs, ["headers"], seeds=[seed], **size)


def test_a_node_a_cycle_of_one_row_too_and_its_header_in_the_next():
    given_nodes = [(3, 1, 100), (2, 1, 200), (5, 0, 300), (1, 1, 400)]
    outcome = run_block(
        NodeWriter("writer", 2), {"nodes": [(*node, 0.0) for node in given_nodes]}, ["headers"]
    )
    assert outcome.received["headers"] == [
        (3, (3, 100, -1, 0.0)), (4, (2, 200, 100, 0.0)), (5, (5, 300, -1, 0.0)), (6, (1, 400, 200, 0.0)),
    ]  # fmt: skip
    check_accounting_of(outcome, "writer", busy=5, idle=2, input_stall={}, output_stall={})


def test_planted_a_writer_that_exchanges_in_two_steps_loses_a_node():
    class TwoSteps(NodeWriter):
        """Writes the head a node later than it reads."""

        late = None

        def _link(self, now):
            before = list(self.heads)
            super()._link(now)
            newest, self.late = (self.row, self.heads[self.row]), self.late
            self.heads[:] = type(self.heads)("q", before)
            if self.late:
                self.heads[self.late[0]] = self.late[1]
            self.late = newest

    inputs = {"nodes": [(1, 0, address, 0.0) for address in (8, 16, 24)]}
    outcome = run_block(TwoSteps("writer", 1), inputs, ["headers"])
    assert [token[2] for token in outcome.tokens("headers")] == [-1, -1, 8]
    outcome = run_block(NodeWriter("writer", 1), inputs, ["headers"])
    assert [token[2] for token in outcome.tokens("headers")] == [-1, 8, 16]


def test_what_cannot_be_built_or_asked_is_refused():
    with pytest.raises(ValueError, match=r"allocator: there is no space from 5 to 4 below 2\*\*62"):
        BumpAllocator("allocator", 4, 5)
    for make in (BumpAllocator, lambda _name, end: BumpAllocatorParameters(end=end)):
        make("allocator", (1 << 62) - 1)
        with pytest.raises(ValueError, match=r"end|space"):
            make("allocator", 1 << 62)
    with pytest.raises(ValueError, match="writer: rows must be at least 1, not 0"):
        NodeWriter("writer", 0)
    with pytest.raises(SimulationError, match="allocator: a size of -1 was requested"):
        run_block(BumpAllocator("allocator", 9), {"requests": [(0, -1, 0, 0.0)]}, ["grants"])
    for node in ((1, 2, 0, 0.0), (1, 0, -8, 0.0)):
        with pytest.raises(SimulationError, match=r"writer: there is no node at .* rows are from 0 to 1, "):
            run_block(NodeWriter("writer", 2), {"nodes": [node]}, ["headers"])
