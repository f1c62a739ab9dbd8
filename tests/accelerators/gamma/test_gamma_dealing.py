"""Whom the scheduler gives a task: worked examples of its turns, and of how many an element may hold."""

import pytest
from gamma_workers import PLENTY, scheduled

LONG = 1000  # cycles: longer than all else takes


def dealt(lengths, **settings):
    """The tasks that each worker completed, in order."""
    kernel, workers = scheduled(lengths, **settings)
    assert kernel.run(cycle_limit=100_000).complete
    return [worker.completed for worker in workers]


def most_held(lengths, **settings):
    """The most tasks that a single worker was given and had not completed."""
    kernel, workers = scheduled(lengths, **settings)
    most = 0
    while kernel.step():
        most = max(most, workers[0].tasks.occupancy)
    return most


def test_elements_that_have_as_many_tasks_take_turns():
    assert dealt([1] * 9, work=[LONG] * 3, most_tasks=3) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_the_element_with_the_fewest_tasks_is_given_the_next():
    """The first keeps what it has; the second completes its own, and is given more out of its turn."""
    slow, quick = dealt([1] * 40, work=[LONG, 1], queue=PLENTY)
    assert 2 * len(slow) < len(quick)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_an_element_holds_as_many_tasks_as_it_may(most):
    assert most_held([1] * 9, work=[LONG], queue=PLENTY, most_tasks=most) == most


@pytest.mark.parametrize("most", [1, 2, 3])
def test_an_element_holds_as_many_tasks_that_write_partial_fibers(most):
    """A row of 27 is nine leaves of three."""
    assert most_held([27], work=[LONG], queue=PLENTY, most_partial_tasks=most) == most
