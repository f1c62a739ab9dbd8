"""A small machine from blocks: it merges two fibers, scales their elements, and adds those of equal columns.

    python examples/compose.py

This is one row of a sparse product: a row of A with the nonzeros 2.0 and 10.0 combines two rows of B,
2.0 x b0 + 10.0 x b1.
"""

from array import array

from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource


def fiber(scale, elements):
    """One token for each element, with the index of the register that holds its scale, and a stop."""
    return [(DATA, column, scale, value) for column, value in elements.items()] + [(STOP, 0, 0, 0.0)]


kernel = Kernel()
kernel.clock("core", 10**9)
task = kernel.add(StreamSource("row.task", [(0, 2, 0, 0.0)]))  # one merge of two ways
b0 = kernel.add(StreamSource("row.b0", fiber(0, {1: 1.0, 4: 2.0, 7: 3.0})))
b1 = kernel.add(StreamSource("row.b1", fiber(1, {4: 0.5, 5: 0.1})))
merger = kernel.add(HighRadixMerger("row.merger", 2))
multiplier = kernel.add(Multiplier("row.multiplier", array("d", [2.0, 10.0])))
accumulator = kernel.add(Accumulator("row.accumulator"))
row = kernel.add(StreamSink("row.out"))

kernel.connect(task, "out", merger, "tasks", capacity=2)
kernel.connect(b0, "out", merger, "ways[0]", capacity=2)
kernel.connect(b1, "out", merger, "ways[1]", capacity=2)
kernel.connect(merger, "merged", multiplier, "operands", capacity=2)
kernel.connect(multiplier, "products", accumulator, "products", capacity=5, latency=4)
kernel.connect(accumulator, "sums", row, "in", capacity=4, latency=2)

run = kernel.run()
for cycle, (kind, column, _, value) in row.received:
    if kind == DATA:
        print(f"cycle {cycle:2}: column {column} is {value:g}")
print(f"done after {run.cycles} cycles")
for name, part in kernel.statistics().items():
    waits = {**part.input_stall, **part.output_stall}
    print(f"{name:15}  busy {part.busy:2}  idle {part.idle:2}  waits {waits}")
