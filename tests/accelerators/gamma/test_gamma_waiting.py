"""What the scheduler waits for: what is made slower by some cycles adds just these, to its own wait alone."""

from collections import Counter

import pytest
from gamma_workers import PLENTY, scheduled


def stalls(lengths, *, work=10, workers=1, most_tasks=PLENTY, **settings):
    """The scheduler's waits by port, for rows of A of so many nonzeros at radix 3."""
    limits = {"most_tasks": most_tasks, "most_partial_tasks": most_tasks}
    kernel, _workers = scheduled(lengths, work=[work] * workers, **limits, **settings)
    assert kernel.run(cycle_limit=100_000).complete
    found = kernel.statistics()["scheduler"]
    return Counter(found.input_stall | found.output_stall)


MORE = 7  # cycles
TWO_TREES = [5, 5, 1]  # whose pointers, and nonzeros but the last, are three lines; one more comes late


@pytest.mark.parametrize(
    ("lengths", "settings", "slower", "times"),
    [
        pytest.param([1] * 10, {"most_tasks": 1}, "work", {"completions": 10}, id="an element's turn"),
        pytest.param([1] * 10, {}, "work", {"tasks": 9, "completions": 1}, id="space in a queue of one task"),
        pytest.param([1], {"lingers": 3}, "lingers", {"tasks[0]": 1}, id="space for the end of work"),
        pytest.param([1] * 60, {"opens": 30}, "opens", {"memory_requests": 1}, id="space for a request"),
        pytest.param([1], {"answer": 10}, "answer", {"memory_replies": 1}, id="the first nonzeros"),
        pytest.param(
            [7], {"workers": 3}, "work", {"completions": 2}, id="partial fibers, then the last task"
        ),
        pytest.param(
            TWO_TREES,
            {"workers": 2, "room": 11, "answer": 400, "late_from": 3},
            "work",
            {"completions": 2, "memory_replies": -1},
            id="room for a second fiber of 6 lines, and the last task",
        ),
        pytest.param(
            TWO_TREES,
            {"workers": 2, "room": 12, "answer": 400, "late_from": 3},
            "work",
            {"completions": 1},
            id="A meanwhile, when there is room",
        ),
    ],
)
def test_what_is_slower_is_waited_for_by_as_much_and_nothing_else_is(lengths, settings, slower, times):
    settings = {"work": 10, "lingers": 0} | settings
    before = stalls(lengths, **settings)
    after = stalls(lengths, **settings | {slower: settings[slower] + MORE})
    after.subtract(before)
    assert {port: cycles for port, cycles in after.items() if cycles} == {
        port: MORE * count for port, count in times.items()
    }
