"""The parallelizer: what each way gets, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_trees import change, fiber, generator_of, grow, with_gaps

from fiberscope.hw.streams.parallel import Scatter
from fiberscope.hw.streams.testing import run_streams, tokens_of
from fiberscope.sim import SimulationError

seeds = st.integers(0, 2**32)


def way_of(place, crd, ways, block, span):
    return min(crd // span, ways - 1) if span else place // block % ways


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


def test_a_token_takes_a_cycle_each_way():
    streams = {"in_crd": list(enumerate([1, 2, 5, "S0", "D"]))}
    found = run_streams(Scatter("block", 2), streams, ["out_crd0", "out_crd1"])
    assert found == {
        "out_crd0": [(0, 1), (2, 5), (3, "S0"), (4, "D")],
        "out_crd1": [(1, 2), (3, "S0"), (4, "D")],
    }


def test_what_does_not_fit_is_refused():
    with pytest.raises(SimulationError, match="cycle 1, block: 1 on in_crd, S0 on in_ref in the same"):
        run_streams(Scatter("block", 2), {"in_crd": [(0, 1)], "in_ref": [(0, "S0")]}, [])
    for wrong, message in ((0, "ways must be at least 1"), (-1, "a span must be at least 0")):
        with pytest.raises(ValueError, match=message):
            Scatter("block", wrong if wrong == 0 else 1, span=min(wrong, 0))
    with pytest.raises(ValueError, match="a block must be at least 1, not 0"):
        Scatter("block", 2, 0)
