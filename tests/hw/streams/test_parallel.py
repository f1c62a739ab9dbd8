"""Parallelizer and serializer: what each way gets, that the order comes back, and what they refuse."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_lists import flatten
from stream_trees import change, fiber, generator_of, grow, numbers, with_gaps

from hw.streams.parallel import Gather, Scatter
from hw.streams.testing import GIGAHERTZ, TimedSource, run_streams, tokens_of
from hw.streams.tokens import CRD, VAL, text
from sim import Kernel, SimulationError
from sim.testing import StreamSink, random_stalls

seeds = st.integers(0, 2**32)


def way_of(place, crd, ways, block, span):
    return min(crd // span, ways - 1) if span else place // block % ways


@settings(deadline=None, max_examples=100)
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.sampled_from([0, 0, 1, 5]))
def test_each_way_gets_what_is_dealt_to_it(seed, ways, block, span):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    tree = grow(generator, depth, lambda: fiber(generator))
    crd = flatten(tree, depth)
    timed = with_gaps(generator, crd)
    streams = {"in_crd": timed, "in_ref": [(c, t if isinstance(t, str) else 100 - t) for c, t in timed]}
    ports = [f"out_{kind}{way}" for way in range(ways) for kind in ("crd", "ref")]
    bench = {"capacity": generator.choice([None, 1, 3]), "order_seed": generator.choice([None, 1])}
    shapes = [[f"out_crd{way}", f"out_ref{way}"] for way in range(ways)]
    scatter = Scatter("block", ways, block, span)
    found = run_streams(scatter, streams, ports, seed=seed % 5, same_shape=shapes, **bench)
    for way in range(ways):

        def own(fiber, way=way):
            return [crd for place, crd in enumerate(fiber) if way_of(place, crd, ways, block, span) == way]

        expected = flatten(change(tree, depth, own), depth)
        assert tokens_of(found[f"out_crd{way}"]) == expected
        references = [token if isinstance(token, str) else 100 - token for token in expected]
        assert tokens_of(found[f"out_ref{way}"]) == references


@settings(deadline=None, max_examples=100)
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.sampled_from([0, 0, 1, 5]))
def test_gather_restores_the_order(seed, ways, block, span):
    generator = generator_of(seed)
    depth = generator.randint(0, 2)
    carries, leaf = generator.choice([(CRD, fiber), (VAL, numbers)] if not span else [(CRD, fiber)])
    stream = flatten(grow(generator, depth, lambda: leaf(generator)), depth)
    kernel = Kernel(order_seed=generator.choice([None, 1, 2]))
    kernel.clock("core", GIGAHERTZ)
    source = kernel.add(TimedSource("source", carries, with_gaps(generator, stream)))
    scatter = kernel.add(Scatter("scatter", ways, block, span, carries))
    gather = kernel.add(Gather("gather", ways, block, bool(span), carries))
    sink = kernel.add(StreamSink("sink", generator.choice([(), random_stalls(seed % 7)])))
    capacity = generator.choice([None, 1, 4])
    kernel.connect(source, "out", scatter, "in_crd", capacity=capacity)
    for way in range(ways):
        # Dealt by coordinate, a way waits for all of the ways before it.
        depth_of_way = None if span else capacity
        kernel.connect(scatter, f"out_crd{way}[0]", gather, f"in_stream[{way}]", capacity=depth_of_way)
    kernel.connect(gather, "out_stream[0]", sink, "in", capacity=capacity)
    kernel.run()
    found = [text(kind, payload, value, carries) for _, (kind, payload, _, value) in sink.received]
    assert found == stream


def test_a_token_takes_a_cycle_each_way():
    streams = {"in_crd": list(enumerate([1, 2, 5, "S0", "D"]))}
    found = run_streams(Scatter("block", 2), streams, ["out_crd0", "out_crd1"])
    assert found == {
        "out_crd0": [(0, 1), (2, 5), (3, "S0"), (4, "D")],
        "out_crd1": [(1, 2), (3, "S0"), (4, "D")],
    }
    gathered = {f"in_stream[{way}]": found[f"out_crd{way}"] for way in range(2)}
    assert run_streams(Gather("block", 2), gathered, ["out_stream"]) == {"out_stream": streams["in_crd"]}


def test_what_does_not_fit_is_refused():
    with pytest.raises(SimulationError, match="cycle 1, block: 1 on in_crd and S0 on in_ref in the same"):
        run_streams(Scatter("block", 2), {"in_crd": [(0, 1)], "in_ref": [(0, "S0")]}, [])
    streams = {"in_stream[0]": list(enumerate([1, "S0", "D"])), "in_stream[1]": list(enumerate(["S1", "D"]))}
    with pytest.raises(SimulationError, match=r"S1 on in_stream\[1\] meets S0 on in_stream\[0\]: the ways"):
        run_streams(Gather("block", 2), streams, [])
    with pytest.raises(SimulationError, match="block has 3 ways, but 2 in_stream"):
        run_streams(Gather("block", 3), streams, [])
    for wrong, message in ((0, "ways must be at least 1"), (-1, "a span must be at least 0")):
        with pytest.raises(ValueError, match=message):
            Scatter("block", wrong if wrong == 0 else 1, span=min(wrong, 0))
    with pytest.raises(ValueError, match="a block must be at least 1, not 0"):
        Gather("block", 2, 0)
