"""Runs a block between arrays on its lanes, and holds it to a plain model and the laws."""

from hypothesis import strategies as st
from rows import by_lane, rows_of

from fiberscope.sim.testing import check_laws, run_block

sizes = st.fixed_dictionaries({"capacity": st.integers(1, 5), "latency": st.integers(1, 4)})
stall_seeds = st.none() | st.integers(0, 1000)


@st.composite
def arrays_of(draw, lanes, coordinates, references=None, values=None):
    """Arrays of elements, their lengths around multiples of the lanes, one long now and then."""
    element = st.tuples(
        coordinates,
        references if references is not None else st.integers(-(1 << 62), 1 << 62),
        values if values is not None else st.integers(0, (1 << 32) - 1).map(float),
    )
    lengths = st.sampled_from([0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes, 5 * lanes + 1])
    return draw(
        st.lists(
            lengths.flatmap(lambda length: st.lists(element, min_size=length, max_size=length)), max_size=4
        )
    )


def ports(name, lanes):
    """The names of the ports of an array of ports."""
    return [f"{name}[{lane}]" for lane in range(lanes)]


def check_block(make, inputs, expected, *, seed=None, laws=True, **size):
    """Run a fresh block: the tokens at each output port must be these, and the laws hold."""
    outcome = run_block(make(), inputs, list(expected), seed=seed, **size)
    assert {port: outcome.tokens(port) for port in expected} == expected
    if laws:
        check_laws(make, inputs, list(expected), seeds=[seed], **size)
    return outcome


def lanes_of(port, lanes, arrays):
    """The tokens at each lane of a port for these arrays."""
    return by_lane(port, lanes, rows_of(lanes, arrays))
