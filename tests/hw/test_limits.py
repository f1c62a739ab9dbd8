"""Limits of the numbers with which blocks are made: the last legal one is taken, the next is refused."""

from array import array
from collections.abc import Callable
from fractions import Fraction

import pytest

from fiberscope.hw.dram.simple import SimpleSpecification
from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.hw.fibers.allocator import BumpAllocator, NodeWriter
from fiberscope.hw.fibers.intersect import SkipAheadIntersector
from fiberscope.hw.fibers.intersection import MaskIntersector
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.packing import LinePacker
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.fibers.sorted_head import SortedHeadUnit
from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.comparator_bank import NONZERO, ComparatorBank
from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.lanes.position_multiplier import PositionMultiplier
from fiberscope.hw.lanes.prefix_sum import PrefixSum
from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.touched import TouchedBitmap
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.networks.benes import BenesNetwork
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.networks.crossbar import QueuedCrossbar
from fiberscope.hw.networks.islip import IslipCrossbar
from fiberscope.hw.networks.routes import AddressRoute, PortRoute
from fiberscope.hw.streams.bit_vector import BitVectorScanner
from fiberscope.hw.streams.bit_words import Chunker
from fiberscope.hw.streams.counter import Counter
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.joiner import Joiner
from fiberscope.hw.streams.lanes import Lanes
from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.parallel import Scatter
from fiberscope.hw.streams.seek import Projection
from fiberscope.hw.streams.serializer import Serializer
from fiberscope.hw.streams.split import Flatten, Split
from fiberscope.hw.streams.task_cut import Cut
from fiberscope.hw.streams.tensor_reduce import TensorReduce

LANES = 256
EMPTY = Level([0], [])


def update(**latencies: int) -> AtomicUpdate:
    return AtomicUpdate("block", array("d", [0.0]), neutral=0.0, **latencies)


# For a number: how a block is made with it, the smallest legal number, and the largest if there is one.
LIMITS: dict[str, tuple[Callable[[int], object], int, int | None]] = {
    "benes stages": (lambda n: BenesNetwork("block", "minimal", 8, n), 0, 5),
    "router steps": (lambda n: MulticastRouter(8, n), 8, None),
    "queued crossbar": (lambda n: QueuedCrossbar("block", PortRoute(), n), 1, None),
    "islip crossbar": (lambda n: IslipCrossbar("block", PortRoute(), n), 1, None),
    "address route": (AddressRoute, 1, None),
    "port route": (PortRoute, 1, None),
    "allocator end": (lambda n: BumpAllocator("block", n, 3), 3, (1 << 62) - 1),
    "allocator begin": (lambda n: BumpAllocator("block", 3, n), 0, 3),
    "node writer": (lambda n: NodeWriter("block", n), 1, None),
    "sorted head": (lambda n: SortedHeadUnit("block", n), 1, 1 << 20),
    "merger radix": (lambda n: HighRadixMerger("block", n), 2, 256),
    "merger stages": (lambda n: HighRadixMerger("block", 4, n), 1, None),
    "packed element": (lambda n: LinePacker(64, n), 1, 64),
    "skip-ahead window": (lambda n: SkipAheadIntersector("block", n), 1, None),
    "scanner window": (lambda n: LevelScanner("block", EMPTY, n), 1, None),
    "mask words": (lambda n: MaskIntersector("block", n), 1, LANES),
    "packer inputs": (lambda n: Packer("block", n, 1), 1, LANES),
    "packer outputs": (lambda n: Packer("block", 1, n), 1, LANES),
    "prefix sum lanes": (lambda n: PrefixSum("block", "serial", n), 1, LANES),
    "prefix sum width": (lambda n: PrefixSum("block", "serial", 4, n), 1, 62),
    "divider lanes": (lambda n: Divider("block", n), 1, LANES),
    "divider bits": (lambda n: Divider("block", 1, 7, n), 1, 7),
    "counters": (lambda n: CounterBanks("block", n), 1, None),
    "counter lanes": (lambda n: CounterBanks("block", 4, n), 1, LANES),
    "counter sweep lanes": (lambda n: CounterBanks("block", 4, 4, n), 1, LANES),
    "counter fetch lanes": (lambda n: CounterBanks("block", 4, 4, 4, n), 0, LANES),
    "counter banks": (lambda n: CounterBanks("block", 4, 4, 4, 4, n), 0, LANES),
    "comparators": (lambda n: ComparatorBank("block", n, NONZERO), 1, LANES),
    "cluster counter": (lambda n: ClusterCounter("block", n), 1, LANES),
    "position multiplier": (lambda n: PositionMultiplier("block", n), 1, LANES),
    "regor words": (lambda n: Regor("block", 1, n), 1, LANES),
    "regor vectors": (lambda n: Regor("block", n, 1), 1, LANES),
    "counter step": (lambda n: Counter("block", 4, n), 1, None),
    "projection divisor": (lambda n: Projection("block", [(1, 1, 0), (1, n, 0)]), 1, None),
    "dense locator": (lambda n: DenseLocator("block", n), 0, None),
    "dense scanner": (lambda n: DenseScanner("block", n), 0, None),
    "cut instances": (lambda n: Cut("block", n, ()), 1, None),
    "cut tasks": (lambda n: Cut("block", 1, (), tasks=n), 1, None),
    "sorted coordinates": (lambda n: TensorReduce("block", 2, n), 0, 1),
    "split": (lambda n: Split("block", n), 1, None),
    "flatten": (lambda n: Flatten("block", n), 1, None),
    "lanes": (lambda n: Lanes("block", n), 1, None),
    "chunk": (lambda n: Chunker("block", n, 8), 1, 64),
    "word": (lambda n: Chunker("block", 4, n), 1, None),
    "serializer depth": (lambda n: Serializer("block", 2, n), 0, None),
    "joiner": (lambda n: Joiner("block", n), 2, None),
    "bit vector": (lambda n: BitVectorScanner("block", [1, 1], per_fiber=n), 1, 2),
    "fetched entry": (lambda n: Fetch("block", 0, n), 1, None),
    "fetched line": (lambda n: Fetch("block", 0, 4, line_bytes=n), 1, None),
    "fetched entries": (lambda n: Fetch("block", 0, 4, entries=n), 1, None),
    "fetch window": (lambda n: Fetch("block", 0, 4, window=n), 1, None),
    "fetches in flight": (lambda n: Fetch("block", 0, 4, outstanding=n), 1, None),
    "scatter ways": (lambda n: Scatter("block", n), 1, None),
    "scatter block": (lambda n: Scatter("block", 2, n), 1, None),
    "scatter span": (lambda n: Scatter("block", 2, 1, n), 0, None),
    "touched bits": (lambda n: TouchedBitmap("block", n), 1, None),
    "touched block": (lambda n: TouchedBitmap("block", 8, block=n), 1, None),
    "reorder window": (ReorderWindow, 1, None),
    "update read": (lambda n: update(read_latency=n), 1, None),
    "update reduce": (lambda n: update(reduce_latency=n), 1, None),
    "update write": (lambda n: update(write_latency=n), 1, None),
    "prefetched element": (lambda n: StreamPrefetcher("block", 0, n), 1, 64),
    "prefetched lines": (lambda n: StreamPrefetcher("block", 0, 8, lines=n), 1, None),
    "memory bandwidth": (SimpleSpecification, 1, None),
    "memory clock": (lambda n: SimpleSpecification(Fraction(1), n), 1, None),
    "memory latency": (lambda n: SimpleSpecification(1, latency=n), 1, None),
    "memory request": (lambda n: SimpleSpecification(1, request_bytes=n), 1, None),
    "memory queue": (lambda n: SimpleSpecification(1, queue=n), 1, None),
    "memory burst": (lambda n: SimpleSpecification(1, request_bytes=64, burst_bytes=n), 0, 64),
    "dram width": (lambda n: DramSpecification(width=n), 4, None),
    "dram channels": (lambda n: DramSpecification(channels=n), 1, None),
    "dram read queue": (lambda n: DramSpecification(request_bytes=64, read_queue=n), 2, None),
    "dram write queue": (lambda n: DramSpecification(request_bytes=64, write_queue=n), 2, None),
}


@pytest.mark.parametrize(("make", "smallest", "largest"), LIMITS.values(), ids=LIMITS)
def test_the_last_legal_number_is_taken_and_the_next_is_refused(make, smallest, largest):
    make(smallest)
    check_refused(make, smallest - 1)
    if largest is not None:
        make(largest)
        check_refused(make, largest + 1)


def check_refused(make: Callable[[int], object], number: int) -> None:
    with pytest.raises(ValueError, match=rf"(?<!\d){number}(?!\d)"):
        make(number)
