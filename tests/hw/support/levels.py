"""Random levels of a fibertree, their fibers as tokens, and what a scanner does with them in each cycle."""

from itertools import accumulate

from fibers import fiber_tokens, values
from hypothesis import strategies as st

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.stream import DATA, STOP


@st.composite
def fibers_of_a_level(draw, span=24):
    """At least one fiber, each a list of (coordinate, value)."""
    fiber = st.dictionaries(st.integers(0, span), values(), max_size=14)
    return [sorted(elements.items()) for elements in draw(st.lists(fiber, min_size=1, max_size=5))]


def level_of(fibers):
    """The level of these fibers."""
    elements = [element for fiber in fibers for element in fiber]
    segments = list(accumulate(map(len, fibers), initial=0))
    return Level(segments, [c for c, _ in elements], [v for _, v in elements])


def scanned(fibers, number):
    """Elements of a fiber as a scanner gives them: coordinate, position, value."""
    first = sum(map(len, fibers[:number]))
    return [(coordinate, first + index, value) for index, (coordinate, value) in enumerate(fibers[number])]


def scanned_tokens(fibers, numbers):
    """The tokens of fibers one after the other."""
    return [token for number in numbers for token in fiber_tokens(scanned(fibers, number))]


def scan(fibers, coming, skips, window):
    """(cycle, control, coordinate) of each token, for references and skips as (cycle seen, what)."""
    coming, skips, left = list(coming), list(skips), []
    rest = target = None  # of the fiber under way: coordinates to come; what is below the target is skipped
    now = number = 0
    while coming or rest is not None:
        if skips and skips[0][0] <= now:
            _, (control, coordinate, fiber, _) = skips.pop(0)
            if rest is not None and fiber == number:
                rest, target = ([], target) if control == STOP else (rest, coordinate)
        if rest is None and coming and coming[0][0] <= now:
            rest, target = [coordinate for coordinate, _ in fibers[coming.pop(0)[1]]], -1
        if rest is not None:
            seen = rest[:window]
            wanted = [coordinate for coordinate in seen if coordinate >= target]
            rest = wanted + rest[window:]
            if wanted:
                left.append((now, DATA, rest.pop(0)))
            elif len(seen) < window:
                left.append((now, STOP, 0))
                rest, number = None, number + 1
        now += 1
    return left
