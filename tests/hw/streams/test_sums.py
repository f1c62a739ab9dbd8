"""What accumulators keep their sums and points in, against a dictionary and a deque."""

from collections import Counter, deque

from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.streams.queue import Queue
from fiberscope.hw.streams.sums import Sums
from fiberscope.hw.value_type import DOUBLE

COORDINATES = st.integers(0, 60) | st.integers(0, 2**40)


@given(st.lists(st.tuples(COORDINATES, st.integers(-9, 9)), max_size=200))
def test_sums_leave_in_the_order_of_their_coordinates(points: list[tuple[int, int]]) -> None:
    """They grow, add up and count as a dictionary does, however often a coordinate comes."""
    sums, model, hits = Sums(), dict[int, float](), Counter[int]()
    for coordinate, value in points:
        model[coordinate] = model.get(coordinate, 0.0) + value
        hits[coordinate] += 1
        assert sums.add(coordinate, value, DOUBLE) == hits[coordinate]
    read = [(sums.coordinate(place), sums.sum(place)) for place in range(sums.count)]
    assert read == sorted(model.items())
    for coordinate in [-1, *model]:
        assert sums.position_after(coordinate) == sum(other <= coordinate for other in model)


@given(st.lists(st.none() | st.integers(-9, 9) | st.floats(allow_nan=False), max_size=200))
def test_words_leave_a_queue_in_the_order_in_which_they_came(steps: list[float | None]) -> None:
    """It grows and wraps around as a deque does; None drops the oldest."""
    queue, model = Queue(4), deque[float]()
    for step in steps:
        if step is None and model:
            queue.drop(1)
            model.popleft()
        elif step is not None:
            (queue.put if isinstance(step, int) else queue.put_value)(step)
            model.append(step)
        assert queue.count == len(model)
        for place, word in enumerate(model):
            assert (queue.integer if isinstance(word, int) else queue.value)(place) == word
