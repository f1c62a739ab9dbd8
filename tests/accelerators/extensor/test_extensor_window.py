"""The published runs' rules as settings: rows in a window, products in turn, a barrier at tiles of B."""

import pytest
from extensor_bench import csr, run_extensor, tiny
from extensor_checks import check_all

from fiberscope.accelerators.extensor.loader import Loader
from fiberscope.accelerators.testing import cycles

ONE_BY_ONE = {"pe.tile": 16, "tile.k": 1, "tile.n": 1}


def full(rows, columns, first=(0, 0)):
    """The points of a full block."""
    return {(first[0] + m, first[1] + k): 1.0 for m in range(rows) for k in range(columns)}


def run(a, b, **settings):
    """A machine that has run, its product and counts checked."""
    machine = run_extensor(tiny(**settings), a, b)
    check_all(machine, a, b)
    return machine


class Watching(Loader):
    """Notes what is asked for: the cycle, the tiles of A and of B, and the bytes of both."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.now, self.asked = 0, []

    def tick(self, now):
        self.now = now
        return super().tick(now)

    def _bytes(self, tile_a, tile_b):
        sizes = super()._bytes(tile_a, tile_b)
        self.asked.append((self.now, tile_a, tile_b, *sizes))
        return sizes


def asked(a, b, **settings):
    """The bytes that a machine's loader asks for, pair by pair, and when."""
    machine = run_extensor(tiny(**settings), a, b, parts={"loader": Watching})
    check_all(machine, a, b)
    return machine.loader.asked


@pytest.mark.parametrize("window", [{"tile.m": 2, "llb.window": "rows"}, {"tile.m": 1}])
def test_rows_behind_a_long_product_go_through_what_is_left_of_the_window(window):
    """A product of 4096 steps in the first row, and 12 rows behind it of 16 products of a step each."""
    others = csr(full(16, 16) | {(16 * row, 0): 1.0 for row in range(1, 13)}, 16 * 13, 16)
    settings = ONE_BY_ONE | {"pe.count": 2} | window
    alone = run(csr(full(16, 16), 16, 16), csr(full(16, 16), 16, 16), **settings)
    found = run(others, csr(full(16, 16), 16, 16), **settings)
    assert cycles(found) < cycles(alone) + 200


def test_the_next_row_comes_when_one_is_drained_and_not_all():
    """A row of 4096 steps and eleven of 16, in a window of three; tiles of three wait for the long one."""
    a = csr(full(16, 16) | {(16 * row, 0): 1.0 for row in range(1, 12)}, 16 * 12, 16)
    b = csr(full(16, 16), 16, 16)
    settings = ONE_BY_ONE | {"pe.count": 2, "tile.m": 3}
    rows = asked(a, b, **settings, **{"llb.window": "rows"})
    assert [row for _cycle, row, *_ in rows] == list(range(12))
    assert max(cycle for cycle, *_ in rows) < 4096
    tiles = asked(a, b, **settings, **{"llb.halves": 1})
    assert [tile for _cycle, tile, *_ in tiles] == list(range(4))
    assert tiles[2][0] > 4096


def test_a_row_brings_the_microtiles_of_b_that_it_meets_and_that_are_not_there():
    """B has a row of microtiles at each of three K1, of 8 + 8 + 12 bytes each, and 8 for its list N1."""
    b = csr({(0, 0): 1.0, (4, 0): 1.0, (8, 0): 1.0}, 12, 4)
    a = csr({(0, 0): 1.0, (4, 0): 1.0, (4, 4): 1.0, (8, 0): 1.0}, 12, 12)
    settings = {"tile.m": 3, "tile.k": 3, "tile.n": 1}
    sizes = [tuple(sizes) for _cycle, _a, _b, *sizes in asked(a, b, **settings, **{"llb.window": "rows"})]
    assert sizes == [(32, 8 + 28), (64, 28), (32, 0)]
    assert [sizes for *_, sizes in asked(a, b, **settings)] == [8 + 3 * 28]


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_a_window_of_one_row_is_one_half_of_the_buffer_with_tiles_of_one(columns):
    """Where every row needs all of B's tile, it comes with the first."""
    a, b = csr(full(20, 24), 20, 24), csr(full(24, 16), 24, 16)
    settings = {"tile.m": 1, "tile.k": columns, "tile.n": 2}
    rows, tiles = run(a, b, **settings, llb__window="rows"), run(a, b, **settings, llb__halves=1)
    assert rows.kernel.statistics() == tiles.kernel.statistics()
    assert cycles(rows) == cycles(tiles)


def test_rows_that_are_done_behind_others_of_the_same_place_wait_for_them():
    """Three tiles along K with products of 4096, 256 and 1 steps: done last first, drained first first."""
    a = csr(full(16, 16) | full(4, 16, (0, 16)) | {(3, 32): 1.0}, 48, 48)
    b = csr(full(16, 16) | full(16, 4, (16, 0)) | {(32, 5): 1.0}, 48, 16)
    machine = run(a, b, **ONE_BY_ONE, **{"tile.m": 3, "llb.window": "rows"})
    assert machine.traffic()["PO"].read_bytes == machine.traffic()["PO"].write_bytes > 0


@pytest.mark.parametrize("window", ["tiles", "rows"])
def test_a_barrier_keeps_the_next_tile_of_b_until_all_products_are_done(window):
    """The first tile of B has a product of 4096 steps in one row and one of 16 in another."""
    a, b = csr(full(16, 16) | {(16, 0): 1.0}, 32, 16), csr(full(16, 16) | {(0, 16): 1.0}, 16, 32)
    settings = ONE_BY_ONE | {"tile.m": 2, "llb.window": window}
    at_once, barred = (
        [cycle for cycle, _a, tile_b, *_ in asked(a, b, **settings, **{"llb.barrier": barrier}) if tile_b]
        for barrier in (False, True)
    )
    assert at_once[0] < 4096 < barred[0]


def test_no_barrier_stands_between_pairs_with_the_same_tile_of_b():
    a, b = csr(full(64, 16), 64, 16), csr(full(16, 16), 16, 16)
    settings = ONE_BY_ONE | {"tile.m": 1}
    free, barred = (run(a, b, **settings, **{"llb.barrier": barrier}) for barrier in (False, True))
    assert cycles(free) == cycles(barred)


def test_products_go_to_the_elements_in_turn_whatever_their_lengths():
    """One of 4096 steps and five of one: the long one's element gets the fourth too."""
    a = csr(full(16, 16) | {(0, 16 * k): 1.0 for k in range(1, 6)}, 16, 96)
    b = csr(full(16, 16) | {(16 * k, 0): 1.0 for k in range(1, 6)}, 96, 16)
    settings = ONE_BY_ONE | {"tile.m": 1, "tile.k": 6}
    counts = {}
    for dispatch in ("home", "turn"):
        statistics = run(a, b, **settings, llb__dispatch=dispatch).kernel.statistics()
        counts[dispatch] = [statistics[f"extensor.pe{i:02}.core"].counters["products"] for i in range(3)]
    assert counts == {"home": [1, 3, 2], "turn": [2, 2, 2]}


def test_products_in_turn_keep_their_order_whichever_intersector_is_first():
    """Two columns with a long product and a short one each: both long ones go to the first element."""
    a = csr(full(16, 16) | {(0, 16): 1.0}, 16, 32)
    long_products = {(k, n): 1.0 for k in range(16) for n in range(32)}
    b = csr(long_products | {(16, 0): 1.0, (16, 16): 1.0}, 32, 32)
    settings = ONE_BY_ONE | {"pe.count": 2, "tile.m": 1, "tile.k": 2, "tile.n": 2, "llb.dispatch": "turn"}
    statistics = run(a, b, **settings).kernel.statistics()
    busy = [statistics[f"extensor.pe{i:02}.core"].busy for i in range(2)]
    assert busy[0] == 2 * 4096
    assert busy[1] < 100


def test_products_in_turn_wait_for_the_element_whose_turn_it_is():
    """24 products of a step each behind one of 4096, for two elements that have room for few."""
    a = csr(full(16, 16) | {(0, 16 * k): 1.0 for k in range(1, 25)}, 16, 400)
    b = csr(full(16, 16) | {(16 * k, 0): 1.0 for k in range(1, 25)}, 400, 16)
    settings = ONE_BY_ONE | {"pe.count": 2, "tile.m": 1, "tile.k": 25, "llb.dispatch": "turn"}
    machine = run(a, b, **settings)
    assert [core.counters()["products"] for core in machine.cores] == [13, 12]
    assert machine.kernel.statistics()["extensor.llb.dispatcher"].output_stall["tasks"] > 3000


def test_the_next_tile_of_b_waits_until_no_row_needs_the_last_one():
    """One element works on the first of three products and has taken the second: the third still needs B."""
    a, b = csr(full(48, 16), 48, 16), csr(full(16, 16) | {(0, 16): 1.0}, 16, 32)
    settings = ONE_BY_ONE | {"pe.count": 1, "tile.m": 3, "pe.task_queue": 4, "llb.window": "rows"}
    pairs = asked(a, b, **settings)
    assert [tile_b for _cycle, _row, tile_b, *_ in pairs] == [0, 0, 0, 1, 1, 1]
    assert pairs[2][0] < 4096 < pairs[3][0]
