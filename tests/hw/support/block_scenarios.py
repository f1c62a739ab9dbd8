"""Runs of blocks that are the same each time, as JSON, to compare the compiled and the uncompiled form.

Of the others the machines and conversions that are made of them do the same in both.

Prints them when run as a script.
"""

import json
import random
import sys

from merge_rows import inputs_of as merge_inputs
from rows import by_lane, rows_of

from fiberscope.hw.fibers.arithmetic import PairMultiplier
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.sorted_head import SEQUENTIAL, SortedHeadUnit
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.lanes.prefix_sum import FORMS, PrefixPopcount
from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.benes import DOUBLE, BenesNetwork
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import import_mode
from fiberscope.sim.testing import run_block


def stream(generator, fibers):
    """Fibers of random elements with non-decreasing coordinates, references to 4 registers or none."""
    tokens = []
    for _ in range(fibers):
        coordinates = sorted(generator.choices(range(30), k=generator.randrange(12)))
        tokens += [(DATA, c, generator.randint(-1, 3), generator.uniform(-9, 9)) for c in coordinates]
        tokens.append((STOP, 0, 0, 0.0))
    return tokens


def _pair_multiplier(generator):
    tokens = stream(generator, 20)
    inputs = {"a": tokens, "b": [(control, 0, 0, 3.0) for control, *_ in tokens]}
    return run_block(PairMultiplier("block"), inputs, ["products"], seed=4)


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


def _concentrator(generator):
    inputs = {f"inputs[{i}]": [(0, n, 64 * n, 0.0) for n in range(30)] for i in range(3)}
    inputs["replies"] = [(0, 7 + generator.randrange(2) << PORT_SHIFT | n, 0, 0.0) for n in range(40)]
    return run_block(Concentrator("block", 7), inputs, ["requests", "outputs[0]", "outputs[1]"], seed=14)


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
    scenarios = (_pair_multiplier, _two_finger, _skip_ahead, _prefix_popcount)
    scenarios += (_adder_network, _benes, _sorted_head, _concentrator)
    return {scenario.__name__[1:]: _plain(scenario(random.Random(5))) for scenario in scenarios}


if __name__ == "__main__":
    json.dump({"compiled": import_mode.compiled(), "outcomes": outcomes()}, sys.stdout)
