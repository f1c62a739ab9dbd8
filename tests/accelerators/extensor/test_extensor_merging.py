"""Sorted lists as one, and elements in turn, against plain dictionaries and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.extensor.dispatcher import ElementSet
from fiberscope.accelerators.extensor.merging import count_in_blocks, merge_elements

lists = st.dictionaries(st.integers(0, 40), st.integers(-9, 9), max_size=30)


def arrays(elements):
    """Keys and values, in order of the keys."""
    keys = sorted(elements)
    return np.array(keys, np.int64), np.array([elements[key] for key in keys], float)


@given(held=lists, added=lists)
def test_two_lists_are_merged(held, added):
    keys, values = merge_elements(*arrays(held), *arrays(added))
    both = {key: held.get(key, 0) + added.get(key, 0) for key in held.keys() | added.keys()}
    assert (keys.tolist(), values.tolist()) == tuple(part.tolist() for part in arrays(both))


@given(held=lists, blocks=st.sets(st.integers(0, 12)), size=st.integers(1, 6))
def test_what_lies_within_blocks_is_counted(held, blocks, size):
    found = count_in_blocks(arrays(held)[0], np.array(sorted(blocks), np.int64), size)
    assert found == sum(key // size in blocks for key in held)


@given(st.data(), st.integers(1, 70))
def test_elements_are_found_in_turn(data, count):
    elements, model = ElementSet(count), set()
    numbers = st.integers(0, count - 1)
    for add, number in data.draw(st.lists(st.tuples(st.booleans(), numbers), max_size=40)):
        (elements.add if add else elements.remove)(number)
        (model.add if add else model.discard)(number)
        first = data.draw(numbers)
        turn = [*range(first, count), *range(first)]
        assert elements.first_from(first) == next((one for one in turn if one in model), -1)
    elements.remove_all()
    assert elements.first_from(count - 1) == -1
