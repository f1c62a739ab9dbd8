"""The checker: what is well-formed passes; each breach of a rule is named with cycle, edge and tokens."""

import pytest
from hypothesis import given
from nested_lists import nested_streams

from fiberscope.hw.streams.checker import StreamChecker
from fiberscope.hw.streams.testing import TimedSource, with_gaps
from fiberscope.hw.streams.tokens import CRD, REF, REPSIG, VAL, token
from fiberscope.sim import Kernel, SimulationError


def check(streams, depth=None, empties=None):
    """Run a checker on (what it carries, tokens) pairs, which come a token a cycle."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    checker = kernel.add(StreamChecker("scanner.out_crd", depth, empties))
    for number, (carries, tokens) in enumerate(streams):
        source = kernel.add(TimedSource(f"source{number}", carries, with_gaps(tokens)))
        kernel.connect(source, "out", checker, f"in_stream[{number}]", capacity=None)
    return kernel.run()


@given(nested_streams())
def test_a_flattened_list_passes(stream):
    depth, tokens = stream
    assert check([(CRD, tokens)], depth).complete
    assert check([(CRD, tokens), (REF, tokens)]).complete


@pytest.mark.parametrize(
    ("carries", "depth", "tokens", "message"),
    [
        (CRD, 0, [1, "S0", "D", "D"], "cycle 3, scanner.out_crd: D behind D: nothing may follow done"),
        (CRD, 0, [5, 3, "S0", "D"], "cycle 1, .*: 3 behind 5: the coordinates of a fiber must increase"),
        (CRD, 0, [1, "S1", "D"], "cycle 1, .*: S1 behind 1: a stream of depth 0 has no stop of that level"),
        (CRD, 1, [1, "S0", "D"], "cycle 2, .*: D behind S0: a stop of the highest level must stand before"),
        (CRD, None, [1, "S1", 1, "S0", "D"], "D behind S0: a stop of the highest level must stand before"),
        (CRD, 1, [1, "S1", 2, "S1", "D"], "cycle 2, .*: 2 behind S1: S1 ends a stream of depth 1"),
        (CRD, 0, [1, 2, "D"], "D behind 2: a stop must stand before done"),
        (CRD, 0, ["D"], "D at the start: done must not be the first token"),
        (CRD, 0, ["N", "S0", "D"], "N at the start: a crd stream has no N"),
        (VAL, 0, [1.5, "N", "S0", "D"], "N behind 1.5: a val stream has no N"),
        (REPSIG, None, ["R", "D"], None),
        (REF, -1, [0, "D"], None),
        (REF, 0, [7, 7, 3, "N", "S0", "D"], None),
    ],
)
def test_each_rule(carries, depth, tokens, message):
    if message is None:
        assert check([(carries, tokens)], depth).complete
    else:
        with pytest.raises(SimulationError, match=message):
            check([(carries, tokens)], depth)


def test_streams_of_one_block_have_the_same_shape():
    with pytest.raises(
        SimulationError, match="2, S0 in the same place: the streams must have the same shape"
    ):
        check([(CRD, [1, 2, "S0", "D"]), (REF, [0, "S0", "D"])])
    with pytest.raises(SimulationError, match="S1, S0 in the same place"):
        check([(CRD, [1, "S1", "D"]), (REF, [0, "S0", "D"])])


@pytest.mark.parametrize(
    "written", ["S", "S-1", "S1_0", "S+1", "S 1", "s1", "S\u0663", "S" + "9" * 19, "S" + "9" * 5000]
)
def test_a_stop_whose_level_is_no_number_of_a_channel_is_refused(written):
    with pytest.raises(SimulationError, match="a crd stream has no token"):
        token(written, CRD)
    assert token("S" + "9" * 18, CRD)[1] == 10**18 - 1
