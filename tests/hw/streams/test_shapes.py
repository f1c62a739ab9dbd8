"""Blocks with several input streams of one shape refuse heads that do not belong together."""

import pytest

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.bit_expander import BitExpander
from fiberscope.hw.streams.coordinate_dropper import ValueDropper
from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.merge_lists import Lists
from fiberscope.hw.streams.parallel import Scatter
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.seek import Projection, Seek
from fiberscope.hw.streams.task_cut import Cut
from fiberscope.hw.streams.task_sum import TaskPoints, TaskSum
from fiberscope.hw.streams.testing import TimedSource, protocol_of
from fiberscope.hw.streams.tokens import CRD, REF
from fiberscope.hw.streams.vector_reducer import VectorReducer
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim import Kernel, Output, SimulationError
from fiberscope.sim.testing import StreamSink

LEVEL = Level([0, 1, 2], [4, 5])
ANY_N = True  # the first stream may have N
BLOCKS = {
    "bit_expander": (lambda: BitExpander("block"), ("in_bv", "in_ref"), {}, ANY_N),
    "cut": (lambda: Cut("block", 1, [REF, CRD]), ("in_stream[0]", "in_stream[1]"), {"ended[0]": []}, ANY_N),
    "fetch": (lambda: Fetch("block", 0, 4), ("in_ref", "in_crd"), {"replies": []}, ANY_N),
    "pairs": (lambda: FiberPairs("block", *[LEVEL] * 4), ("in_ref0", "in_ref1"), {}, ANY_N),
    "locator": (lambda: DenseLocator("block", 9), ("in_crd", "in_ref", "in_base"), {}, ANY_N),
    "projection": (lambda: Projection("block", [(1, 1, 0)] * 2), ("in_crd[0]", "in_crd[1]"), {}, ANY_N),
    "run_sum": (lambda: RunSum("block"), ("in_crd", "in_val"), {}, not ANY_N),
    "scatter": (lambda: Scatter("block", 2), ("in_crd", "in_ref"), {}, ANY_N),
    "seek": (lambda: Seek("block", LEVEL, [CRD]), ("in_crd", "in_base", "in_carried0"), {}, ANY_N),
    "task_points": (lambda: TaskPoints("block", 2, 1), ("in_0", "in_1", "in_val"), {}, ANY_N),
    "task_sum": (
        lambda: TaskSum("block", 2, 1, []),
        ("in_0[1]", "in_val[1]"),
        {"turns": [(0, 1)], "in_0[0]": [], "in_val[0]": []},
        ANY_N,
    ),
    "value_dropper": (lambda: ValueDropper("block"), ("in_outer", "in_inner"), {}, ANY_N),
    "vector_reducer": (lambda: VectorReducer("block"), ("in_crd", "in_val"), {}, not ANY_N),
    "ways": (
        lambda: FiberWays("block", 2, [0, 1, 2], [4, 5], [1.0, 2.0], Lists(1)),
        ("in_crd", "in_ref", "in_carried[0]"),
        {"partials": []},
        not ANY_N,
    ),
}
WRONG = [(1, "S1"), ("S1", 1), ("S2", "S1"), ("D", "S1"), ("D", 1)]
CASES = [
    (block, heads)
    for block, (_make, _ports, _others, any_n) in BLOCKS.items()
    for heads in (WRONG if any_n else [*WRONG, ("N", 1)])
    if block != "value_dropper" or heads[1] != "S1"  # the dropper drops additional stops of values
]


@pytest.mark.parametrize(("block", "heads"), CASES)
def test_heads_of_different_shapes_are_refused_with_both_tokens(block, heads):
    """All streams but the last have the first head."""
    make, ports, others, _any_n = BLOCKS[block]
    tokens = [heads[0]] * (len(ports) - 1) + [heads[1]]
    kernel = Kernel()
    kernel.clock("core", 10**9)
    unit = kernel.add(make())
    for port, stream in (dict(zip(ports, ([(0, token)] for token in tokens), strict=True)) | others).items():
        source = kernel.add(TimedSource(f"source.{port}", protocol_of(unit, port), stream))
        kernel.connect(source, "out", unit, port, capacity=2)
    for port in (port for port in unit.declared_ports() if isinstance(port, Output) and not port.optional):
        for label in [f"{port.name}[0]", f"{port.name}[1]"] if port.array else [port.name]:
            kernel.connect(unit, label, kernel.add(StreamSink(f"sink.{label}")), "in", capacity=2)
    with pytest.raises(SimulationError) as caught:
        kernel.run()
    listed = ", ".join(f"{head} on {port}" for head, port in zip(tokens, ports, strict=True))
    text = str(caught.value).replace(".0 on", " on")  # of values
    assert text == f"cycle 1, block: {listed} in the same place; the streams must have the same shape"
