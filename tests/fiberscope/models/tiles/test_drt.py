"""DRT: the tasks of the worked example, and on random matrices those of plain loops over dense grids."""

import numpy as np
import pytest
from tiling import examples, leaves

from fiberscope.models.tiles.baselines.drt import Task, grow_dynamic_tiles

WORKED = [
    ((0, 2), (0, 1), (0, 2), 25, 25),
    ((2, 4), (0, 1), (0, 2), 26, 25),
    ((0, 2), (1, 3), (0, 2), 39, 39),
    ((2, 4), (1, 3), (0, 2), 19, 39),
    ((0, 4), (3, 4), (0, 2), 39, 7),
    ((0, 1), (0, 3), (2, 4), 32, 39),
    ((1, 2), (0, 3), (2, 4), 32, 39),
    ((2, 3), (0, 3), (2, 4), 38, 39),
    ((3, 4), (0, 3), (2, 4), 7, 39),
    ((0, 4), (3, 4), (2, 4), 39, 32),
]


def test_the_worked_example_has_the_tasks_that_were_computed_by_hand():
    found = grow_dynamic_tiles(*examples.squared().values(), capacity=43, microtile=4, panel=2)
    assert found.tasks == [Task(*task) for task in WORKED]
    assert found.count_words_by_operand() == {"A": 296, "B": 142, "O": 260, "total": 698}


def test_a_narrower_panel_moves_more():
    found = grow_dynamic_tiles(*examples.squared().values(), capacity=43, microtile=4, panel=1)
    assert (found.count_words_by_operand(), len(found.tasks)) == (
        {"A": 592, "B": 142, "O": 274, "total": 1008},
        16,
    )


def test_a_panel_widens_while_all_its_rows_fit():
    found = grow_dynamic_tiles(*examples.squared().values(), capacity=1000, microtile=4, panel=1)
    assert found.tasks == [Task((0, 4), (0, 4), (0, 4), 148, 142)]


@pytest.mark.parametrize("case", range(40))
def test_random_matrices_have_the_tasks_of_plain_loops(case):
    generator = np.random.default_rng(case)
    m, k, n = generator.integers(1, 20, 3)
    a, b = (generator.random(shape) < generator.choice([0.0, 0.05, 0.3]) for shape in ((m, k), (k, n)))
    side, panel, capacity = (int(generator.integers(*limits)) for limits in ((1, 5), (1, 4), (7, 90)))
    operands = [examples.of_points(np.argwhere(each).tolist(), each.shape) for each in (a, b)]
    found = grow_dynamic_tiles(*operands, capacity=capacity, microtile=side, panel=panel)
    tasks, words = plain(a, b, capacity, side, panel)
    assert found.tasks == tasks
    assert found.count_words_by_operand() == words


def plain(a, b, capacity, side, panel):
    """By loops over the grids of microtiles, empty ones among them."""
    micro_a, micro_b = (_grid(each, side) for each in (a, b))
    tasks, words, j = [], dict.fromkeys("ABO", 0), 0
    while j < micro_b.shape[1]:
        end = min(j + panel, micro_b.shape[1])
        while end < micro_b.shape[1] and micro_b[:, j : end + 1].sum() <= capacity:
            end += 1
        for k, b_words in _grown(micro_b[:, j:end].sum(1), capacity):
            found = [
                Task(i, k, (j, end), a_words, b_words)
                for i, a_words in _grown(micro_a[:, slice(*k)].sum(1), capacity)
                if a_words and b_words
            ]
            tasks += found
            words["B"] += b_words if found else 0
        j = end
    for task in tasks:
        i, k, j = (slice(side * span[0], side * span[1]) for span in (task.i, task.k, task.j))
        words["A"] += task.a_words
        words["O"] += _words(a[i, k].astype(int) @ b[k, j].astype(int) > 0)
    return tasks, {**words, "total": sum(words.values())}


def _grown(rows, capacity):
    first = 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and rows[first : last + 1].sum() <= capacity:
            last += 1
        yield (first, last), int(rows[first:last].sum())
        first = last


def _grid(matrix, side):
    starts = [range(0, size, side) for size in matrix.shape]
    return np.array([[_words(matrix[i : i + side, j : j + side]) for j in starts[1]] for i in starts[0]])


def _words(matrix):
    return leaves.words([tuple(point) for point in np.argwhere(matrix).tolist()])
