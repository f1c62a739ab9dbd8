"""Nested lists of coordinates and the streams that they flatten to, for tests of the stream machine."""

from hypothesis import strategies as st


def flatten(nested, depth):
    """The tokens of a list nested ``depth + 1`` deep, done behind them."""
    return [*_tokens(nested, depth), "D"]


def _tokens(nested, depth):
    if depth == 0:
        return [*nested, "S0"]
    tokens = []
    for part in nested:
        tokens += _tokens(part, depth - 1)
    # The stop of the last part closes this list too; a list of none has a stop of its own.
    level = int(tokens.pop()[1:]) + 1 if tokens else depth
    return [*tokens, f"S{level}"]


def fibers(span=12, longest=6):
    """Increasing coordinates."""
    return st.sets(st.integers(0, span), max_size=longest).map(sorted)


@st.composite
def nested_lists(draw, deepest=3):
    """A depth, and a list of fibers nested so deep."""
    depth = draw(st.integers(0, deepest))
    parts = fibers()
    for _ in range(depth):
        parts = st.lists(parts, max_size=4)
    return depth, draw(parts)


def nested_streams(deepest=3):
    """A depth, and the tokens of a stream of that depth."""
    return nested_lists(deepest).map(lambda drawn: (drawn[0], flatten(drawn[1], drawn[0])))
