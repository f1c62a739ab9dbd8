"""Arrays as rows of tokens, one token for each of several lanes."""

from fibers import STOP_TOKEN

from fiberscope.hw.stream import DATA


def rows_of(lanes, arrays):
    """The rows of arrays of elements, each with its stops."""
    rows = []
    for array in arrays:
        tokens = [(DATA, *element) for element in array]
        tokens += [STOP_TOKEN] * (lanes - len(tokens) % lanes)
        rows += [tokens[i : i + lanes] for i in range(0, len(tokens), lanes)]
    return rows


def by_lane(port, lanes, rows):
    """The tokens at each port of an array of ports."""
    return {f"{port}[{lane}]": [row[lane] for row in rows] for lane in range(lanes)}
