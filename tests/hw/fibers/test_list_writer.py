"""The writer of lists: full lines and the rest behind a stop, under any stalls."""

import pytest
from fibers import STOP_TOKEN
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.fibers.list_writer import ListWriter
from fiberscope.hw.memory.protocol import PORT_SHIFT, WRITE
from fiberscope.hw.stream import DATA
from fiberscope.sim.testing import check_laws, run_block


def inputs_of(lengths):
    return {"entries": [t for n in lengths for t in [*[(DATA, i, 0, 0.0) for i in range(n)], STOP_TOKEN]]}


@settings(max_examples=25)
@given(
    lengths=st.lists(st.sampled_from([0, 1, 7, 8, 9, 30]), max_size=5), size=st.sampled_from([4, 8, 12, 64]),
    capacity=st.integers(1, 3), seed=st.none() | st.integers(0, 99),
)  # fmt: skip
def test_a_list_is_written_line_by_line(lengths, size, capacity, seed):
    def make():
        return ListWriter("writer", 1 << 40, size, port=2)

    outcome = run_block(make(), inputs_of(lengths), ["requests", "ends"], seed=seed, capacity=capacity)
    lines = [(1 << 40) + 64 * line for n in lengths for line in range(-(-n * size // 64))]
    assert outcome.tokens("requests") == [(WRITE, 2 << PORT_SHIFT, line, 0.0) for line in lines]
    assert outcome.tokens("ends") == [(0, 0, n, 0.0) for n in lengths]
    counters = {"entries_taken": sum(lengths), "lines": len(lines)}
    assert outcome.statistics["writer"].counters == counters
    check_laws(make, inputs_of(lengths), ["requests", "ends"], seeds=[seed], capacity=capacity)


def test_a_line_leaves_with_the_entry_that_fills_it():
    outcome = run_block(ListWriter("writer", 0, 8), inputs_of([10]), ["requests", "ends"])
    assert [cycle for cycle, _ in outcome.received["requests"]] == [9, 12]  # of the eighth, of the stop


def test_an_entry_beyond_a_line_is_refused():
    with pytest.raises(ValueError, match="an element of 65 bytes should fit a line of 64 bytes"):
        ListWriter("writer", 0, 65)


def test_planted_a_writer_that_forgets_its_rest_is_found():
    class Forgets(ListWriter):
        def tick(self, now):
            if self.entries.can_pop() and self.entries.control() and self.entry_count % 8:
                self.entries.pop()
                return self.busy(now + 1)
            return super().tick(now)

    outcome = run_block(Forgets("writer", 0, 8), inputs_of([10]), ["requests", "ends"])
    assert len(outcome.tokens("requests")) != 2
