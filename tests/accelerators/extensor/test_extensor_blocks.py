"""The core's account of a product against blocks: level scanners, and an intersector that skips ahead."""

import pytest
from extensor_bench import random_matrix
from scanning import intersect_levels

from fiberscope.accelerators.extensor.configuration import Format
from fiberscope.accelerators.extensor.operand import TiledOperand, tiled_a, tiled_b
from fiberscope.accelerators.extensor.output import PartialSlot
from fiberscope.accelerators.extensor.pe import IntersectingCore
from fiberscope.accelerators.extensor.tiles import build_matrix_tree
from fiberscope.hw.fibers.level import Level
from fiberscope.sim.testing import run_block

SIDE, SHAPE = 16, (2, 1, 2)
FORMAT = Format(
    dense="none", a_microtile=96, b_row=64, b_microtile=64, fiber=64, element=96, value=64, output=128
)


def operands():
    """Two microtiles of A and two of B that all meet: a sparse and a denser matrix, K1 being one."""
    a, b = random_matrix(32, SIDE, 130, seed=1), random_matrix(SIDE, 32, 330, seed=2)
    trees = (
        tiled_a(build_matrix_tree(a, ("M", "K")), SIDE, SHAPE),
        tiled_b(build_matrix_tree(b, ("K", "N")), SIDE, SHAPE),
    )
    return [
        TiledOperand(tree, chosen)
        for tree, chosen in zip(
            trees, (FORMAT.ranks("A", dense=False), FORMAT.ranks("B", dense=False)), strict=True
        )
    ]


def core_counters(a, b, product):
    """What a core counts for the product of two microtiles."""
    slots = [PartialSlot() for _ in range(4)]
    core = IntersectingCore("core", a, b, slots, 0, microtile=SIDE, shape=(2, 2))
    return run_block(core, {"ready": [(0, *product, 0.0)]}, ["partials"]).statistics["core"].counters


def level(operand):
    """All fibers of K0 of an operand."""
    return Level(operand.fiber_elements, operand.element_k, operand.values)


def fibers_of(operand, microtile):
    return range(operand.microtile_fibers[microtile], operand.microtile_fibers[microtile + 1])


@pytest.mark.parametrize("window", [1, 4, 16])
@pytest.mark.parametrize("product", [(i, j) for i in range(2) for j in range(2)])
def test_the_steps_of_a_product_are_those_of_the_blocks(product, window):
    a, b = operands()
    expected = core_counters(a, b, product)
    pairs = [(m, n) for m in fibers_of(a, product[0]) for n in fibers_of(b, product[1])]
    found = intersect_levels(level(a), level(b), pairs, window=window).statistics["intersector"].counters
    assert len(pairs) == expected["fiber_pairs"] > 100
    assert found["intersect"] == expected["intersect_k0"] > len(pairs)
    assert found["matches"] == expected["multiply"] > 0


def test_planted_the_steps_of_another_product_are_found():
    a, b = operands()
    pairs = [(m, n) for m in fibers_of(a, 0) for n in fibers_of(b, 0)]
    found = intersect_levels(level(a), level(b), pairs).statistics["intersector"].counters
    assert found["intersect"] != core_counters(a, b, (1, 0))["intersect_k0"]
