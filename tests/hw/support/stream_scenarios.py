"""Runs of blocks of the stream machine that are the same each time, as JSON, to compare both forms of them.

Prints them when run as a script.
"""

import json

from level_scenarios import LEVEL_SCENARIOS
from nested_lists import flatten
from stream_trees import below, change, fiber, generator_of, grow, numbers

from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce
from fiberscope.hw.streams.alu import Alu, UnaryAlu
from fiberscope.hw.streams.bit_expander import BitExpander
from fiberscope.hw.streams.bit_words import BitVector, Chunker
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper, ValueDropper
from fiberscope.hw.streams.droppers import EmptyFiberDropper, StopDropper
from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.parallel import Scatter
from fiberscope.hw.streams.points import PointToFiber
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.split import Flatten, Split
from fiberscope.hw.streams.testing import run_streams, with_gaps
from fiberscope.hw.streams.word_dropper import WordDropper
from fiberscope.hw.streams.word_intersect import WordIntersect
from fiberscope.sim import import_mode


def _operands(generator, kinds):
    """Two streams of the same shape on the ports of each kind, of which references count the elements."""
    shape = grow(generator, 1, list)
    streams = {}
    for way in range(2):
        tokens = flatten(change(shape, 1, lambda _: fiber(generator)), 1)
        references = [token if isinstance(token, str) else place for place, token in enumerate(tokens)]
        streams |= {f"in_{kinds[0]}[{way}]": tokens, f"in_{kinds[1]}[{way}]": references}
    return streams


def _values(generator, ports):
    tree = grow(generator, 2, lambda: numbers(generator))
    return {port: flatten(tree, 2) for port in ports}


def _through(generator):
    return _coordinates(generator, "in_stream")


def _nested(generator):
    outer = grow(generator, 1, lambda: fiber(generator))
    inner = below(outer, 1, lambda _: fiber(generator, 3, 4))
    return {"in_outer": flatten(outer, 1), "in_inner": flatten(inner, 2)}


def _points(generator):
    outer = sorted(generator.randrange(5) for _ in range(20))
    inner = [generator.randrange(9) for _ in outer]
    values = [float(place) for place in range(20)]
    return {"in_crd_outer": [*outer, "D"], "in_crd_inner": [*inner, "D"], "in_val": [*values, "D"]}


def _sorted_points(generator):
    points = sorted({(generator.randrange(5), generator.randrange(9)) for _ in range(20)})
    return {"in_outer": [*(o for o, _ in points), "D"], "in_inner": [*(i for _, i in points), "D"]}


def _words(_generator):
    return {"in_outer": [11, "S0", "D"], "in_inner": [1, "S0", "S0", 2, "S1", "D"]}


def _streams_of_words():
    return {"in_bv": [0, 1 << 63, "S0", 7, "S1", "D"], "in_ref": [4, 4, "S0", 5, "S1", "D"]}


def _coordinates(generator, port="in_crd"):
    return {port: flatten(grow(generator, 2, lambda: fiber(generator)), 2)}


SCENARIOS = {
    "intersect": (lambda quirks: Intersect("block", 2, quirks), lambda g: _operands(g, ("crd", "ref"))),
    "union": (lambda quirks: Union("block", 2, quirks), lambda g: _operands(g, ("crd", "ref"))),
    "alu": (
        lambda quirks: Alu("block", "sub", quirks=quirks),
        lambda g: _values(g, ("in_val[0]", "in_val[1]")),
    ),
    "unary": (lambda quirks: UnaryAlu("block", "exp", quirks=quirks), lambda g: _values(g, ("in_val",))),
    "reduce": (lambda quirks: ScalarReduce("block", quirks=quirks), lambda g: _values(g, ("in_val",))),
    "vector": (lambda quirks: VectorReduce("block", quirks=quirks), _points),
    "matrix": (lambda quirks: MatrixReduce("block", quirks=quirks), _points),
    "points": (lambda quirks: PointToFiber("block", quirks), _sorted_points),
    "dropper": (lambda quirks: CoordinateDropper("block", quirks=quirks), _nested),
    "values": (
        lambda quirks: ValueDropper("block", quirks),
        lambda _: {"in_outer": [1, 2, "S0", "D"], "in_inner": [0.0, 2.0, "S0", "D"]},
    ),
    "stops": (lambda quirks: StopDropper("block", quirks=quirks), _through),
    "empty": (lambda quirks: EmptyFiberDropper("block", quirks=quirks), _through),
    "hold": (lambda quirks: CoordinateHold("block", quirks), _nested),
    "split": (lambda quirks: Split("block", 4, quirks=quirks), _coordinates),
    "flatten": (lambda quirks: Flatten("block", 4, NO_QUIRKS), _nested),
    "bit vector": (lambda quirks: BitVector("block", quirks), _coordinates),
    "chunker": (
        lambda quirks: Chunker("block", 4, 12, quirks),
        lambda g: {"in_bv": [2310, "S0", 7, "S1", "D"]},
    ),
    "words": (lambda quirks: WordIntersect("block", True, quirks), lambda g: _operands(g, ("bv", "ref"))),
    "expander": (lambda quirks: BitExpander("block", quirks), lambda _: _streams_of_words()),
    "word dropper": (lambda quirks: WordDropper("block", quirks), _words),
    "scatter": (lambda quirks: Scatter("block", 3, quirks=quirks), _coordinates),
}

HELD = ("values", "words", "segments", "coordinates")  # what writers hold in the end


def outcomes():
    """What leaves every block in which cycle, and its counters: each clean and as the public simulator's."""
    found = {}
    for name, (make, streams_of) in (SCENARIOS | LEVEL_SCENARIOS).items():
        for quirks, capacity in ((NO_QUIRKS, 2), (PUBLIC, None)):
            tokens = streams_of(generator_of(name))
            streams = {port: with_gaps(stream, 3) for port, stream in tokens.items()}
            block = make(quirks)
            ports = [port.name for port in block.declared_ports() if port.name.startswith("out_")]
            left = run_streams(block, streams, ports, capacity=capacity, seed=1, checked=False)
            held = {name: list(getattr(block, name)) for name in HELD if not ports and hasattr(block, name)}
            found[f"{name}, {quirks}"] = {"streams": left, "counters": block.counters(), "held": held}
    return found


if __name__ == "__main__":
    print(json.dumps({"compiled": import_mode.compiled(), "outcomes": outcomes()}))
