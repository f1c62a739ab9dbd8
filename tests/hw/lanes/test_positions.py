"""Prefix sum and divider together: runs of zeros become rows and columns, as MINT turns RLC into COO."""

import random

import pytest
from rows import by_lane, rows_of

from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.divider import depth as divider_depth
from fiberscope.hw.lanes.prefix_sum import FORMS, PrefixSum, depth
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource

LANES, COLUMNS = 4, 13


def run_lengths(cells):
    """Elements whose running sums are the positions: runs of zeros, and one (but the first; MINT, V-B)."""
    positions = [row * COLUMNS + column for row, column, _ in cells]
    steps = [after - before for before, after in zip([0, *positions], positions, strict=False)]
    return [(step, 0, value) for step, (_, _, value) in zip(steps, cells, strict=True)]


def converter(form, arrays):
    """A kernel with run lengths, prefix sum, divider and sinks, and the sinks."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    prefix_sum = kernel.add(PrefixSum("prefix_sum", form, LANES))
    divider = kernel.add(Divider("divider", LANES, bits_per_stage=4))
    columns = kernel.add(StreamSource("columns", [(0, COLUMNS, 0, 0.0)] * len(arrays)))
    kernel.connect(columns, "out", divider, "divisors", capacity=2)
    for lane, (port, tokens) in enumerate(by_lane("lanes", LANES, rows_of(LANES, arrays)).items()):
        kernel.connect(kernel.add(StreamSource(port, tokens)), "out", prefix_sum, port, capacity=2)
        kernel.connect(prefix_sum, f"sums[{lane}]", divider, f"dividends[{lane}]", capacity=2)
    sinks = [kernel.add(StreamSink(f"sink{lane}")) for lane in range(LANES)]
    for lane, sink in enumerate(sinks):
        kernel.connect(divider, f"results[{lane}]", sink, "in", capacity=2)
    return kernel, sinks


@pytest.mark.parametrize("form", FORMS)
def test_runs_become_rows_and_columns(form):
    generator = random.Random(form)
    everywhere = [(row, column) for row in range(9) for column in range(COLUMNS)]
    matrices = [
        [(*place, generator.random()) for place in sorted(generator.sample(everywhere, nonzeros))]
        for nonzeros in (50, 0, 8, 33)
    ]
    kernel, sinks = converter(form, [run_lengths(cells) for cells in matrices])
    assert kernel.run().complete
    rows = rows_of(LANES, matrices)
    assert [[token for _, token in sink.received] for sink in sinks] == [
        [row[lane] for row in rows] for lane in range(LANES)
    ]
    # Seen at 1, summed, seen by the divider a cycle after that, divided, seen by the sinks: one row a cycle.
    first = 1 + depth(form, LANES) + 1 + divider_depth(32, 4) + 1
    for sink in sinks:
        assert [cycle for cycle, _ in sink.received] == list(range(first, first + len(rows)))
