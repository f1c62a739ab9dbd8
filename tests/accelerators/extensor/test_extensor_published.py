"""The published simulator's rules, written anew: what they move and count is what the machine does."""

import pytest
from extensor_bench import random_matrix
from extensor_model import Model

from published import extensor as rules

SHAPE = (2, 2, 2)


@pytest.mark.parametrize("without", ["", *rules.RULES])
def test_it_counts_what_the_machine_does(without):
    """Of B's format it has A's, and reads each microtile of it once."""
    matrix = random_matrix(500, 500, 700, seed=3)
    scheduler = rules.Scheduler(matrix, SHAPE, {*rules.RULES} - {without})
    cycles = scheduler.run()
    intersection = "skip" if without == "scanners" else "scanners"
    held = 0 if without == "held" else rules.SCANNER_COORDINATES
    model = Model(matrix, matrix, rules.SIDE, SHAPE, intersection=intersection, held=held)
    moved = model.count["A"] + 2 * model.count["PO"] + model.count["Z"]
    assert scheduler.memory.bytes == moved + sum(scheduler.sizes.values())
    assert scheduler.products.steps == model.count["intersect_k0"]
    assert cycles * rules.BYTES_PER_CYCLE >= scheduler.memory.bytes
    assert cycles * rules.ELEMENTS >= model.count["intersect_k0"]


def test_memory_moves_its_peak_and_what_comes_later_fills_what_is_left():
    memory = rules.Memory()
    assert memory.move(2, int(2.5 * rules.BYTES_PER_CYCLE)) == 4
    assert memory.move(0, int(rules.BYTES_PER_CYCLE)) == 0
    assert memory.move(2, int(0.4 * rules.BYTES_PER_CYCLE)) == 4
    assert memory.move(2, int(0.4 * rules.BYTES_PER_CYCLE)) == 5
    assert max(memory.used_bytes) <= rules.BYTES_PER_CYCLE


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cycles"), [("wiki-Vote", 681_478), ("p2p-Gnutella31", 1_089_105)])
def test_it_gives_the_published_cycles(published, cycles):
    """681,000 and 1,089,105 are reported."""
    scheduler = rules.Scheduler(published, rules.published(published, published)[0], {*rules.RULES})
    assert scheduler.run() == cycles
