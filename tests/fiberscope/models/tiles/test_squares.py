"""Square tiles: the largest that fit or overflow seldom, against trying every side."""

import numpy as np
import pytest
from tiling import examples

from fiberscope.models.tiles.baselines.squares import Squares, choose_swiftiles
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import measure
from fiberscope.workloads.tiles.metrics import METRICS

KERNEL = Kernel.read(examples.SQUARE, "ikj")


def squares(tensors, capacity):
    return Squares(KERNEL, tensors, capacity, METRICS["words"])


@pytest.mark.parametrize("scan", [False, True])
def test_the_worked_example_takes_sevens(scan):
    cut = squares(examples.squared(), 43)
    found = cut.prescient(4, scan=scan)
    assert (dict(found.shape), found.fullest, found.overflowing) == ({"i": 7, "k": 7, "j": 7}, 43, 0)
    assert cut.tailors(4, scan=scan) == found  # of eights, 2 of 8 tiles overflow
    assert measure(KERNEL, examples.squared(), found.shape).total == 773
    eights = cut.measure_square(cut.tile_sizes(8), 8)
    assert (eights.fullest, eights.overflowing) == (49, 0.25)


@pytest.mark.parametrize("case", range(30))
@pytest.mark.parametrize(("method", "share"), [("prescient", 0), ("tailors", 0.1)])
def test_a_scan_finds_the_largest_of_all_sides_and_halving_none_that_overflows(method, share, case):
    generator = np.random.default_rng(case)
    m, k, n = map(int, generator.integers(4, 40, 3))
    tensors = {
        name: examples.of_points(np.argwhere(generator.random(shape) < 0.15).tolist(), shape)
        for name, shape in (("A", (m, k)), ("B", (k, n)))
    }
    cut = squares(tensors, 43)
    tried = [cut.measure_square(cut.tile_sizes(side), side) for side in range(4, max(m, k, n) + 1)]
    accepted = [one for one in tried if one.overflowing <= share]
    assert getattr(cut, method)(4, scan=True) == accepted[-1]
    assert getattr(cut, method)(4) in accepted


def test_swiftiles_lets_about_the_share_overflow_that_it_is_asked_for():
    generator = np.random.default_rng(3)
    tensors = {
        name: examples.of_points(np.argwhere(generator.random((900, 900)) < 0.01).tolist(), (900, 900))
        for name in "AB"
    }
    found = choose_swiftiles(squares(tensors, 200), 8)
    assert 0.02 <= found.overflowing <= 0.3
    assert found == choose_swiftiles(squares(tensors, 200), 8)


def test_swiftiles_of_nothing_is_the_whole():
    tensors = {name: examples.of_points([], (30, 30)) for name in "AB"}
    assert dict(choose_swiftiles(squares(tensors, 43), 4).shape) == {"i": 30, "k": 30, "j": 30}
