"""How the tests of the stream machine hold a block to its plain model, and to its laws as hardware."""

from collections import Counter

from hypothesis import strategies as st
from nested_lists import flatten
from streams.plain import drive

from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.testing import SEEN, run_streams, tokens_of

FIBERS = 5  # that drawn references name

gaps = st.none() | st.integers(0, 1000)
seeds = st.integers(0, 1000)
capacities = st.integers(1, 4)
quirk_masks = st.sampled_from([NO_QUIRKS, PUBLIC]) | st.integers(0, 1 << 26)
references = st.integers(0, FIBERS - 1) | st.just("N")


@st.composite
def reference_streams(draw, deepest=2, elements=references):
    """A stream of references, N among them."""
    depth = draw(st.integers(0, deepest))
    parts = st.lists(elements, max_size=draw(st.sampled_from([3, 12])))
    for _ in range(depth):
        parts = st.lists(parts, max_size=4)
    return flatten(draw(parts), depth)


def check_every_cycle(make, model, inputs, quirks):
    """A block in the bench of the public simulator against its model, which has the quirks by number."""
    block, plain = make(quirks), model(frozenset(n for n in range(quirks.bit_length()) if quirks >> n & 1))
    found = drive(plain, {port.removeprefix("in_"): stream for port, stream in inputs.items()})
    expected = {f"out_{port}": found.get(port, []) for port in plain.outputs}
    assert run_streams(block, inputs, expected, checked=False) == expected
    assert block.done_cycle - SEEN == plain.done_cycle
    check_counted(block, expected)
    return block, plain


def kind_of(token):
    """What a token, as text, counts as: an R is the one thing that a signal has."""
    return {"S": "stops", "N": "empties", "D": "dones"}.get(str(token)[0], "data")


def check_counted(block, streams):
    """What a block says that it has sent, by kind, is what came."""
    found = block.counters()
    for port, stream in streams.items():
        kinds = Counter(map(kind_of, tokens_of(stream)))
        for kind in ("data", "stops", "empties", "dones"):
            assert found[f"{port}_{kind}"] == kinds[kind], (port, kind)


def check_as_hardware(make, inputs, outputs, *, seed, capacity):
    """A clean block with bounded channels makes the same tokens, and neither order nor sleep shows."""
    bench = {"capacity": capacity, "seed": seed}
    free, bounded = (run_streams(make(NO_QUIRKS), inputs, outputs, **options) for options in ({}, bench))
    for port in outputs:
        assert tokens_of(bounded[port]) == tokens_of(free[port])
    for order_seed, sleep in ((1, True), (2, False)):
        law = {"order_seed": order_seed, "sleep": sleep}
        assert run_streams(make(NO_QUIRKS), inputs, outputs, **law, **bench) == bounded
