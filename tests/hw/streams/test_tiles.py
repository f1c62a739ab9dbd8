"""Vectors and tiles as values: against numpy, cycle by cycle, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_lists import flatten
from stream_trees import change, generator_of, grow, numbers, with_gaps

from hw.streams.testing import GIGAHERTZ, TimedSource, run_streams
from hw.streams.tiles import OPERATIONS, Pack, TileAlu, TileLoad, TileReduce, Unpack
from hw.streams.tokens import REF, VAL, text
from sim import Kernel, SimulationError
from sim.testing import StreamSink, check_accounting, random_stalls

seeds = st.integers(0, 2**32)
SHAPE = (2, 2)


def tiles_of(generator, count=5):
    return [
        np.array([[generator.choice([0.5, -1.0, 3.0]) for _ in range(2)] for _ in range(2)])
        for _ in range(count)
    ]


def run_chain(sources, blocks, wires, last, *, capacity=None, seed=None, order_seed=None):
    """Blocks wired to one another, and what the last one sends as (cycle, token)."""
    kernel = Kernel(order_seed=order_seed)
    kernel.clock("core", GIGAHERTZ)
    for block in blocks:
        kernel.add(block)
    for number, (carries, stream, block, port) in enumerate(sources):
        source = kernel.add(TimedSource(f"source{number}", carries, stream))
        kernel.connect(source, "out", block, port, capacity=capacity)
    for producer, output, consumer, port in wires:
        kernel.connect(producer, output, consumer, port, capacity=capacity)
    sink = kernel.add(StreamSink("sink", () if seed is None else random_stalls(seed)))
    block, port, carries = last
    kernel.connect(block, f"{port}[0]", sink, "in", capacity=capacity)
    kernel.run()
    check_accounting(kernel.statistics())
    return [
        (cycle, text(kind, payload, value, carries)) for cycle, (kind, payload, _, value) in sink.received
    ]


def bench(generator):
    return {
        "capacity": generator.choice([None, 1, 2]),
        "seed": generator.choice([None, 1, 2]),
        "order_seed": generator.choice([None, 1, 2]),
    }


@settings(deadline=None, max_examples=60)
@given(seeds, st.sampled_from(sorted(OPERATIONS)), st.integers(0, 3))
def test_tiles_are_combined_and_reduced_as_numpy_does(seed, operation, delay):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    stored = [tiles_of(generator), tiles_of(generator)]
    shape = grow(generator, depth, lambda: [0] * generator.randint(0, 3))
    trees = [change(shape, depth, lambda fiber: [generator.randrange(5) for _ in fiber]) for _ in range(2)]
    loads = [TileLoad(f"load{way}", tiles) for way, tiles in enumerate(stored)]
    alu = TileAlu("alu", *loads, operation, delay)
    total = TileReduce("reduce", alu, SHAPE, delay)
    values = Unpack("unpack", total)
    sources = [
        (REF, with_gaps(generator, flatten(tree, depth)), load, "in_ref")
        for tree, load in zip(trees, loads, strict=True)
    ]
    wires = [(load, "out_tile[0]", alu, f"in_tile[{way}]") for way, load in enumerate(loads)]
    wires += [(alu, "out_tile[0]", total, "in_tile"), (total, "out_tile[0]", values, "in_tile")]
    found = run_chain(
        sources, [*loads, alu, total, values], wires, (values, "out_val", VAL), **bench(generator)
    )

    def reduced(left, right):
        products = [
            OPERATIONS[operation](stored[0][a], stored[1][b]) for a, b in zip(left, right, strict=True)
        ]
        return sum(products, np.zeros(SHAPE)).ravel().tolist()

    expected = joined(trees, depth, reduced)
    assert [token for _, token in found] == expected


def joined(trees, depth, reduced):
    """The tokens behind a reducer of two trees of the same shape: of each fiber the values of its sum."""
    left, right = (flatten(tree, depth) for tree in trees)
    tokens, fibers = [], ([], [])
    for pair in zip(left, right, strict=True):
        if isinstance(pair[0], int):
            for fiber, reference in zip(fibers, pair, strict=True):
                fiber.append(reference)
        elif pair[0] == "D":
            tokens.append("D")
        else:
            tokens += reduced(*fibers)
            tokens += [f"S{int(pair[0][1:]) - 1}"] * (pair[0] != "S0")
            fibers = ([], [])
    return tokens


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 5))
def test_values_are_packed_and_unpacked(seed, lanes):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    stream = flatten(grow(generator, depth, lambda: numbers(generator)), depth)
    pack = Pack("pack", lanes)
    unpack = Unpack("unpack", pack)
    sources = [(VAL, with_gaps(generator, stream), pack, "in_val")]
    wires = [(pack, "out_tile[0]", unpack, "in_tile")]
    found = run_chain(sources, [pack, unpack], wires, (unpack, "out_val", VAL), **bench(generator))
    assert [token for _, token in found] == stream
    assert all(len(vector) <= lanes for vector in pack.tiles)


def test_the_cycles_of_each_block():
    tiles = [np.full(SHAPE, 2.0)]
    load = run_streams(
        TileLoad("block", tiles), {"in_ref": list(enumerate([0, "N", "S0", "D"]))}, ["out_tile"]
    )
    assert load["out_tile"] == [(0, 0), (1, 1), (2, "S0"), (3, "D")]
    pack = Pack("block", 2)
    packed = run_streams(pack, {"in_val": list(enumerate([1.0, 2.0, 3.0, "S0", "D"]))}, ["out_tile"])
    assert packed["out_tile"] == [(1, 0), (3, 1), (4, "S0"), (5, "D")]
    assert [vector.tolist() for vector in pack.tiles] == [[1.0, 2.0], [3.0]]
    source = TileLoad("source", tiles)
    alu = TileAlu("block", source, source, "add", delay=2)
    streams = {f"in_tile[{way}]": list(enumerate([0, 0, "S0", "D"])) for way in range(2)}
    assert run_streams(alu, streams, ["out_tile"])["out_tile"] == [(2, 0), (5, 1), (6, "S0"), (7, "D")]
    total = TileReduce("block", source, SHAPE, delay=1)
    reduced = run_streams(total, {"in_tile": list(enumerate([0, 0, "S1", "D"]))}, ["out_tile"], checked=False)
    assert reduced["out_tile"] == [(4, 0), (5, "S0"), (6, "D")]
    assert total.tiles[0].tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_what_does_not_fit_is_refused():
    source = TileLoad("source", [np.zeros(SHAPE)])
    with pytest.raises(SimulationError, match="source: reference 3 names no tile; there are 1"):
        run_streams(source, {"in_ref": [(0, 3)]}, [])
    streams = {"in_tile[0]": [(0, 0)], "in_tile[1]": [(0, "S0")]}
    with pytest.raises(SimulationError, match="cycle 1, block: the operands must have the same shape"):
        run_streams(TileAlu("block", source, source), streams, [])
    with pytest.raises(ValueError, match=r"block has no operation matmull; did you mean matmul or"):
        TileAlu("block", source, source, "matmull")
    with pytest.raises(ValueError, match="block: a delay must be at least 0, not -1"):
        TileAlu("block", source, source, delay=-1)
    with pytest.raises(ValueError, match="block: a vector has at least one lane, not 0"):
        Pack("block", 0)
