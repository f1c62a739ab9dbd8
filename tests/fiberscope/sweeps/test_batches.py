"""Batches: every point once, short ones for a second together, long ones alone, and at the end one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")

from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.progress import BATCH_SECONDS, Progress, group_tasks
from fiberscope.explore.sweeps.task_status import DONE, TaskOutcome


def task(number: int, seconds: float) -> Task:
    """One whose size is what it takes."""
    return Task(Point("sim", "toy", f"takes {seconds}"), {"digest": str(number)}, {}, seconds)


def known(tasks: list[Task], workers: int) -> Progress:
    """The progress of a sweep that knows what its points take."""
    progress = Progress(tasks)
    progress.set_workers(workers)
    progress.record_end(tasks[0], TaskOutcome(DONE, tasks[0].size, b""))
    return progress


TIMES = st.lists(st.sampled_from([0.0625, 0.25, 2.0, 60.0]), min_size=1, max_size=300)


@given(TIMES, st.integers(1, 40))
def test_every_point_is_given_once_and_in_its_order(times: list[float], workers: int) -> None:
    tasks = [task(number, seconds) for number, seconds in enumerate(times)]
    given = list(group_tasks(tasks, known(tasks, workers)))
    assert [one for batch in given for one in batch] == tasks
    for batch in given:
        assert len(batch) == 1 or sum(one.size for one in batch) <= BATCH_SECONDS


def test_short_points_go_together_and_ever_fewer_at_the_end() -> None:
    tasks = [task(number, 0.0625) for number in range(1000)]
    lengths = [len(batch) for batch in group_tasks(tasks, known(tasks, 2))]
    assert set(lengths[:40]) == {16}
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-7:] == [1] * 7


def test_points_go_one_by_one_as_long_as_nobody_knows_what_they_take() -> None:
    tasks = [task(number, 0.0625) for number in range(100)]
    progress = Progress(tasks)
    given = group_tasks(tasks, progress)
    assert [len(next(given)) for _ in range(3)] == [1, 1, 1]
    progress.record_end(tasks[0], TaskOutcome(DONE, 0.125, b""))
    assert len(next(given)) == 8


def test_the_time_left_is_shared_by_all_workers() -> None:
    tasks = [task(number, seconds) for number, seconds in enumerate((2.0, 2.0, 60.0, 60.0))]
    assert known(tasks, 1).estimate_remaining_seconds() == pytest.approx(122.0)
    assert known(tasks, 4).estimate_remaining_seconds() == pytest.approx(30.5)
    assert known(tasks, 4).describe_remaining_time() == "about 0:00:30 left"
