"""The waveform signals of the blocks: as many values as signals, within their widths, at every cycle."""

from array import array

import pytest
from fibers import fiber_tokens
from memory_stub import MemoryStub

from fiberscope.hw.fibers.allocator import BumpAllocator, NodeWriter
from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier, PairMultiplier
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.intersection import MaskIntersector
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.fibers.list_writer import ListWriter
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.fibers.sorted_head import SortedHeadUnit
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.comparator_bank import ComparatorBank
from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.lanes.position_multiplier import PositionMultiplier
from fiberscope.hw.lanes.prefix_sum import PrefixPopcount, PrefixSum
from fiberscope.hw.lanes.sorting_network import SortingNetwork
from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.memory.touched import TouchedBitmap
from fiberscope.hw.networks.benes import DOUBLE, BenesNetwork
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.crossbar import Crossbar, QueuedCrossbar
from fiberscope.hw.networks.islip import IslipCrossbar
from fiberscope.hw.networks.routes import PortRoute
from fiberscope.hw.stream import COLUMN, ROW
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource

ELEMENTS = fiber_tokens([(1, 0, 1.0), (2, 0, 1.0)])
REQUESTS = [(WRITE, 0, 0, 0.0), (WRITE, 1, 64, 0.0), (READ, 2, 0, 0.0), (READ, 3, 640, 0.0)]
SPECIFICATION = FiberCacheSpecification(banks=1, sets=2, ways=1)

# Block, tokens by input, outputs, and what its last sample shows.
CASES = {
    "multiplier": (
        lambda: Multiplier("block", array("d", [2.0])),
        {"operands": ELEMENTS},
        ["products"],
        (2,),
    ),
    "pair_multiplier": (lambda: PairMultiplier("block"), {"a": ELEMENTS, "b": ELEMENTS}, ["products"], (2,)),
    "accumulator": (lambda: Accumulator("block"), {"products": ELEMENTS}, ["sums"], (-1,)),
    "merger": (
        lambda: HighRadixMerger("block", 2),
        {"tasks": [(0, 1, 0, 0.0)], "ways[0]": ELEMENTS, "ways[1]": []},
        ["merged"],
        (0, -1, 0, 0, -1, -1, -1, -1),
    ),
    "two_finger": (
        lambda: TwoFingerIntersector("block"),
        {"a": ELEMENTS, "b": ELEMENTS},
        ["matches_a", "matches_b"],
        (0, 2, 2),
    ),
    "skip_ahead": (
        lambda: SkipAheadIntersector("block", 4),
        {"a": ELEMENTS, "b": fiber_tokens([(2, 0, 1.0)])},
        ["matches_a", "matches_b", "skips_a"],
        (0, 0, 0, -1, -1, 2),
    ),
    "scanner": (
        lambda: LevelScanner("block", Level([0, 2], [4, 7])),
        {"references": [(0, 0, 0, 0.0)]},
        ["elements"],
        (-1, 2, -1),
    ),
    "prefix_sum": (
        lambda: PrefixSum("block", "serial", 1),
        {"lanes[0]": ELEMENTS[:2] * 3},
        ["sums[0]"],
        (0, 9, 6),
    ),
    "divider": (
        lambda: Divider("block"),
        {"divisors": [(0, 5, 0, 0.0)], "dividends[0]": ELEMENTS},
        ["results[0]"],
        (0, 5, 2),
    ),
    "sorting_network": (
        lambda: SortingNetwork("block", 2),
        {"lanes[0]": ELEMENTS[:1] * 3, "lanes[1]": ELEMENTS[:1] * 3},
        ["sorted[0]", "sorted[1]"],
        (0, 3, 6),
    ),
    "cluster_counter": (lambda: ClusterCounter("block", 1), {"sorted[0]": ELEMENTS}, ["clusters[0]"], (2, 2)),
    "comparator_bank": (
        lambda: ComparatorBank("block", 1, "nonzero"),
        {"lanes[0]": ELEMENTS},
        ["flags[0]"],
        (2, 2),
    ),
    "position_multiplier": (
        lambda: PositionMultiplier("block", 1),
        {"factors": [(0, 5, 0, 0.0)], "lanes[0]": ELEMENTS},
        ["products[0]"],
        (0, 5, 2),
    ),
    "packer": (
        lambda: Packer("block", 1, 4),
        {"lanes[0]": ELEMENTS[:2] * 3},
        [f"packed[{lane}]" for lane in range(4)],
        (2, 4),
    ),
    "counter_banks": (
        lambda: CounterBanks("block", 4, 1, 1),
        {"commands": [(0, 0, 0, 0.0)], "updates[0]": ELEMENTS[:2]},
        [],
        (0, 2, 0),
    ),
    "prefix_popcount": (
        lambda: PrefixPopcount("block", "serial", 1),
        {"words[0]": ELEMENTS[:2] * 3},
        ["counts[0]"],
        (0, 6, 6),
    ),
    "adder_network": (
        lambda: AdderNetwork("block", 2),
        {"leaves[0]": ELEMENTS[:1] * 3, "leaves[1]": ELEMENTS[:1] * 3},
        ["sums[0]", "sums[1]"],
        (0, 3, 3),
    ),
    "benes": (
        lambda: BenesNetwork("block", DOUBLE, 2),
        {"tasks": [(0, 4, 0, 0.0)]}
        | {f"settings[{row}]": [(0, 0, 0, 0.0)] for row in range(2)}
        | {f"inputs[{lane}]": ELEMENTS[:2] for lane in range(2)},
        ["outputs[0]", "outputs[1]"],
        (0, 2, 2),
    ),
    "intersector": (
        lambda: MaskIntersector("block", 1, 4),
        {"masks_a[0]": [(0, 6, 0, 0.0)], "masks_b[0]": [(0, 5, 0, 0.0)]},
        ["results"],
        (0, 3, 1),
    ),
    "regor": (
        lambda: Regor("block", 1, 1, 4),
        {"bitmaps[0]": [(COLUMN, 6, 0, 0.0), (ROW, 7, 0, 0.0)]},
        ["kept[0]"],
        (2, 3, 2),
    ),
    "sorted_head": (
        lambda: SortedHeadUnit("block", 4),
        {"tasks": [(0, 2, 8, 0.0)], "elements": [(0, 5, 0, 1.0), (0, 3, 1, 1.0), (1, 0, 1, 0.0)]},
        ["merged", "successors"],
        (1, 8, 1, 2),
    ),
    "allocator": (
        lambda: BumpAllocator("block", 9),
        {"requests": [(0, 5, 0, 0.0), (0, 5, 0, 0.0)]},
        ["grants"],
        (5, 1),
    ),
    "atomic_update": (
        lambda: AtomicUpdate("block", array("d", [9.0]), neutral=9.0),
        {"updates": [(0, 0, 0, 3.0), (0, 0, 0, 1.0)]},
        ["touched"],
        (0, 2, 3),
    ),
    "touched": (
        lambda: TouchedBitmap("block", 40),
        {"sets[0]": [(0, 33, 0, 0.0), (1, 0, 0, 0.0)], "scans": [(0, 0, 0, 0.0)]},
        ["ready", "found[0]"],
        (0, 2, 1),
    ),
    "prefetcher": (
        lambda: StreamPrefetcher("block", 0, 4),
        {"jobs": [(0, 3, 3, 0.0)], "replies": []},
        ["requests", "elements"],
        (-1, 0, 0),
    ),
    "list_writer": (
        lambda: ListWriter("block", 0, 64),
        {"entries": [(0, 7, 0, 0.0), (1, 0, 0, 0.0)]},
        ["requests", "ends"],
        (1, 1),
    ),
    "node_writer": (lambda: NodeWriter("block", 4), {"nodes": [(1, 3, 64, 0.0)]}, ["headers"], (3, 1)),
    "crossbar": (
        lambda: Crossbar("block", PortRoute()),
        {"inputs[0]": [(0, 0, 0, 0.0)] * 3},
        ["outputs[0]"],
        (3, 0),
    ),
    "concentrator": (
        lambda: Concentrator("block", 0),
        {"inputs[0]": [(0, 0, 0, 0.0)] * 3, "replies": [(0, 0, 0, 0.0)]},
        ["requests", "outputs[0]"],
        (3, 1),
    ),
    "queued crossbar": (
        lambda: QueuedCrossbar("block", PortRoute(), 2),
        {"inputs[0]": [(0, 0, 0, 0.0)] * 3},
        ["outputs[0]"],
        (3, 0, 0),
    ),
    "islip": (
        lambda: IslipCrossbar("block", PortRoute(), 2),
        {"inputs[0]": [(0, 0, 0, 0.0)] * 3},
        ["outputs[0]"],
        (3, 0, 0),
    ),
    "bank": (
        lambda: FiberCacheBank("block", SPECIFICATION, 0),
        {"requests": REQUESTS},
        ["replies"],
        (1, 0, 3, 0, 0, 2, 1),  # a read hit, two writes and a read that missed, two lines, one evicted
    ),
}


def check_samples(block, kernel):
    """Step to the end, looking at every sample."""
    while kernel.step():
        values = block.sample()
        assert len(values) == len(block.signals())
        for signal, value in zip(block.signals(), values, strict=True):
            low, high = (-1 << (signal.width - 1), 1 << (signal.width - 1))
            assert (
                (low if signal.kind == "integer" else 0)
                <= value
                < (high if signal.kind == "integer" else 2 * high)
            ), signal


def build(block, inputs, outputs):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(block)
    for port, tokens in inputs.items():
        kernel.connect(kernel.add(StreamSource(port, tokens)), "out", block, port, capacity=4)
    for port in outputs:
        kernel.connect(block, port, kernel.add(StreamSink(f"sink.{port}")), "in", capacity=4)
    if isinstance(block, FiberCacheBank):
        memory = kernel.add(MemoryStub("memory", (5,)))
        kernel.connect(block, "memory_requests", memory, "requests", capacity=4)
        kernel.connect(memory, "replies", block, "memory_replies", capacity=4)
    return kernel


@pytest.mark.parametrize("name", CASES)
def test_samples_match_their_signals(name):
    make, inputs, outputs, last = CASES[name]
    block = make()
    check_samples(block, build(block, inputs, outputs))
    assert tuple(block.sample()) == last


def test_planted_a_sample_that_is_too_wide():
    class TooWide(Accumulator):
        def signals(self):
            return Crossbar("other", PortRoute()).signals()[:1]

        def sample(self):
            return (1 << 48,)

    block = TooWide("block")
    with pytest.raises(AssertionError, match="transfers"):
        check_samples(block, build(block, {"products": ELEMENTS}, ["sums"]))
