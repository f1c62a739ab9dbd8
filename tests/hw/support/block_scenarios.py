"""Runs of every block that are the same each time, as JSON, to compare the compiled and the uncompiled form.

Prints them when run as a script.
"""

import json
import random
import sys
from array import array
from itertools import accumulate

from cache_bench import run_bank
from cache_network import run_cache
from merge_rows import inputs_of as merge_inputs
from rows import by_lane, rows_of

from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier, PairMultiplier
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.fibers.sorted_head import SEQUENTIAL, SortedHeadUnit
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.comparator_bank import TESTS, ComparatorBank
from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.counter_protocol import COUNT, FETCH
from fiberscope.hw.lanes.counter_protocol import READ as READ_COUNTERS
from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.lanes.position_multiplier import PositionMultiplier
from fiberscope.hw.lanes.prefix_sum import FORMS, PrefixPopcount, PrefixSum
from fiberscope.hw.lanes.sorting_network import SortingNetwork
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT
from fiberscope.hw.networks.benes import DOUBLE, BenesNetwork
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.networks.crossbar import Concentrator, Crossbar
from fiberscope.hw.networks.routes import PortRoute
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import mode
from fiberscope.sim.testing import run_block

SPECIFICATION = FiberCacheSpecification(banks=1, sets=2, ways=2, misses=3, targets=4, priority_limit=3)


def stream(generator, fibers):
    """Fibers of random elements with non-decreasing coordinates, references to 4 registers or none."""
    tokens = []
    for _ in range(fibers):
        coordinates = sorted(generator.choices(range(30), k=generator.randrange(12)))
        tokens += [(DATA, c, generator.randint(-1, 3), generator.uniform(-9, 9)) for c in coordinates]
        tokens.append((STOP, 0, 0, 0.0))
    return tokens


def requests(generator, count, lines):
    """Random operations on a few lines."""
    return [(generator.randrange(len(OPERATIONS)), generator.randrange(lines)) for _ in range(count)]


def _multiplier(generator):
    block = Multiplier("block", array("d", [2.0, -1.0, 0.1, 1e9]))
    return run_block(block, {"operands": stream(generator, 20)}, ["products"], seed=1)


def _pair_multiplier(generator):
    tokens = stream(generator, 20)
    inputs = {"a": tokens, "b": [(control, 0, 0, 3.0) for control, *_ in tokens]}
    return run_block(PairMultiplier("block"), inputs, ["products"], seed=4)


def _accumulator(generator):
    return run_block(Accumulator("block"), {"products": stream(generator, 20)}, ["sums"], seed=2)


def _merger(generator):
    inputs = {"tasks": [(0, 9, 0, 0.0)] * 10} | {f"ways[{way}]": stream(generator, 10) for way in range(9)}
    return run_block(HighRadixMerger("block", 9), inputs, ["merged"], seed=3)


def _fibers(generator):
    """Fibers of random elements with increasing coordinates."""
    tokens = []
    for _ in range(20):
        coordinates = sorted(generator.sample(range(40), k=generator.randrange(30)))
        tokens += [(DATA, c, generator.getrandbits(40), generator.random()) for c in coordinates]
        tokens.append((STOP, 0, 0, 0.0))
    return tokens


def _two_finger(generator):
    inputs = {"a": _fibers(generator), "b": _fibers(generator)}
    return run_block(TwoFingerIntersector("block"), inputs, ["matches_a", "matches_b"], seed=5)


def _skip_ahead(generator):
    inputs = {"a": _fibers(generator), "b": _fibers(generator)}
    outputs = ["matches_a", "matches_b", "skips_a", "skips_b"]
    return run_block(SkipAheadIntersector("block", 5), inputs, outputs, seed=6)


def _level(generator):
    fibers = [sorted(generator.sample(range(40), k=generator.randrange(30))) for _ in range(5)]
    segments = list(accumulate(map(len, fibers), initial=0))
    coordinates = [coordinate for fiber in fibers for coordinate in fiber]
    return Level(segments, coordinates, [generator.random() for _ in coordinates])


def _references(generator):
    return [(DATA, 0, generator.randrange(5), 0.0) for _ in range(20)]


def _scanner(generator):
    """With skips of fibers here and there."""
    inputs = {"references": _references(generator)}
    inputs["skips"] = [(generator.randrange(2), generator.randrange(40), n // 4, 0.0) for n in range(80)]
    return run_block(LevelScanner("block", _level(generator), 3), inputs, ["elements"], seed=7)


def _crossbar(generator):
    inputs = {
        f"inputs[{i}]": [(0, generator.randrange(3) << PORT_SHIFT | n, n, 0.5) for n in range(50)]
        for i in range(5)
    }
    return run_block(Crossbar("block", PortRoute()), inputs, [f"outputs[{i}]" for i in range(3)], seed=4)


def _concentrator(generator):
    inputs = {f"inputs[{i}]": [(0, n, 64 * n, 0.0) for n in range(30)] for i in range(3)}
    inputs["replies"] = [(0, 7 + generator.randrange(2) << PORT_SHIFT | n, 0, 0.0) for n in range(40)]
    return run_block(Concentrator("block", 7), inputs, ["requests", "outputs[0]", "outputs[1]"], seed=14)


def _bank(generator):
    return run_bank(
        SPECIFICATION, requests(generator, 400, 12), memory_latencies=(3, 20, 11), reply_pauses=(0, 2)
    )


def _cache(generator):
    return run_cache(3, [requests(generator, 80, 40) for _ in range(4)], sets=2, ways=2)


def _prefix_sum(generator):
    lanes = by_lane("lanes", 3, rows_of(3, _arrays(generator)))
    return run_block(PrefixSum("block", FORMS[1], 3, 20), lanes, [f"sums[{i}]" for i in range(3)], seed=7)


def _prefix_popcount(generator):
    lanes = by_lane("words", 3, rows_of(3, _arrays(generator)))
    return run_block(
        PrefixPopcount("block", FORMS[0], 3, 20), lanes, [f"counts[{i}]" for i in range(3)], seed=9
    )


def _adder_network(generator):
    rows = [
        [(int(generator.random() < 0.1), i // 3, 0, generator.random()) for i in range(8)] for _ in range(40)
    ]
    outputs = [f"sums[{i}]" for i in range(8)]
    return run_block(AdderNetwork("block", 8), by_lane("leaves", 8, rows), outputs, seed=10)


def _benes(generator):
    patterns = [generator.choices(range(8), k=8) for _ in range(6)]
    settings = [[(0, bits, 0, 0.0) for bits in MulticastRouter(8).route(pattern)] for pattern in patterns]
    vectors = [
        [(0, generator.getrandbits(9), lane, generator.random()) for lane in range(8)] for _ in range(30)
    ]
    inputs = (
        {"tasks": [(0, 5, 0, 0.0)] * 6} | by_lane("settings", 8, settings) | by_lane("inputs", 8, vectors)
    )
    return run_block(
        BenesNetwork("block", DOUBLE, 8, 2), inputs, [f"outputs[{i}]" for i in range(8)], seed=11
    )


def _sorted_head(generator):
    rows = [
        [
            [
                (column, generator.random())
                for column in sorted(generator.sample(range(30), k=generator.randint(1, 9)))
            ]
            for _ in range(generator.randrange(9))
        ]
        for _ in range(12)
    ]
    block = SortedHeadUnit("block", 8, SEQUENTIAL)
    return run_block(block, merge_inputs(rows), ["merged", "successors"], seed=12)


def _divider(generator):
    inputs = {"divisors": [(0, generator.randrange(6), 0, 0.0) for _ in range(20)]}
    inputs |= by_lane("dividends", 3, rows_of(3, _arrays(generator)))
    return run_block(Divider("block", 3, 32, 5), inputs, [f"results[{i}]" for i in range(3)], seed=8)


def _sorting_network(generator):
    lanes = by_lane("lanes", 4, rows_of(4, _arrays(generator)))
    return run_block(SortingNetwork("block", 4), lanes, _ports("sorted", 4), seed=13)


def _cluster_counter(generator):
    keys = [[(key % 3, key, value) for key, _, value in elements] for elements in _arrays(generator)]
    lanes = by_lane("sorted", 4, rows_of(4, keys))
    return run_block(ClusterCounter("block", 4), lanes, _ports("clusters", 4), seed=14)


def _comparator_bank(generator):
    keys = [[(key % 3, key, key % 2) for key, _, _ in elements] for elements in _arrays(generator)]
    lanes = by_lane("lanes", 3, rows_of(3, keys))
    outputs = [*_ports("flags", 3), *_ports("kept", 3)]
    return run_block(ComparatorBank("block", 3, TESTS[generator.randrange(2)]), lanes, outputs, seed=15)


def _position_multiplier(generator):
    inputs = {"factors": [(0, generator.getrandbits(20), 0, 0.0) for _ in range(20)]}
    arrays = [[(row, row >> 9, value) for row, _, value in elements] for elements in _arrays(generator)]
    inputs |= by_lane("lanes", 3, rows_of(3, arrays))
    return run_block(PositionMultiplier("block", 3, 20), inputs, _ports("products", 3), seed=16)


def _packer(generator):
    lanes = by_lane("lanes", 3, rows_of(3, _arrays(generator)))
    return run_block(Packer("block", 3, 5), lanes, _ports("packed", 5), seed=17)


def _counter_banks(generator):
    kinds = [FETCH, COUNT, COUNT, READ_COUNTERS] * 5
    arrays = [[(key % 20, 0, value) for key, _, value in elements] for elements in _arrays(generator)]
    inputs = {"commands": [(kind, generator.randrange(20), 0, 0.0) for kind in kinds]}
    inputs |= by_lane("updates", 4, rows_of(4, arrays[:15]))
    outputs = [*_ports("slots", 4), *_ports("stored", 3)]
    return run_block(CounterBanks("block", 20, 4, 3), inputs, outputs, seed=18)


def _ports(name, lanes):
    return [f"{name}[{lane}]" for lane in range(lanes)]


def _arrays(generator):
    """Arrays of elements of 20 bits."""
    return [
        [(generator.getrandbits(20), generator.getrandbits(40), generator.random()) for _ in range(length)]
        for length in generator.choices(range(30), k=20)
    ]


def _plain(outcome):
    """An outcome as lists and dictionaries of numbers and strings, as JSON gives them back."""
    return json.loads(json.dumps(vars(outcome), default=vars))


def outcomes():
    """Every scenario's outcome by its name."""
    scenarios = (_multiplier, _pair_multiplier, _accumulator, _merger, _crossbar, _bank, _cache)
    scenarios += (_two_finger, _skip_ahead, _scanner, _prefix_sum, _divider)
    scenarios += (_prefix_popcount, _adder_network, _benes, _sorted_head, _concentrator)
    scenarios += (_sorting_network, _cluster_counter, _comparator_bank, _position_multiplier, _packer)
    scenarios += (_counter_banks,)
    return {scenario.__name__[1:]: _plain(scenario(random.Random(5))) for scenario in scenarios}


if __name__ == "__main__":
    json.dump({"compiled": mode.compiled(), "outcomes": outcomes()}, sys.stdout)
