"""The dispatcher by itself, worked examples: when it frees the input tiles, and whom it gives a product."""

import pytest
from extensor_bench import csr

from fiberscope.accelerators.extensor.configuration import Format
from fiberscope.accelerators.extensor.dispatcher import Dispatcher
from fiberscope.accelerators.extensor.layout import HALVES
from fiberscope.accelerators.extensor.operand import TiledOperand, tiled_a, tiled_b
from fiberscope.accelerators.extensor.output import OutputRow
from fiberscope.accelerators.extensor.tiles import build_matrix_tree
from fiberscope.sim import Kernel
from fiberscope.sim.testing import GIGAHERTZ, StreamSink, StreamSource

SIDE = 4
FORMAT = Format(
    dense="none", a_microtile=96, b_row=64, b_microtile=64, fiber=64, element=96, value=64, output=128
)


def dispatched(a, b, pauses):
    """What elements that pause so long behind each product are given, and the cycles of ``released``.

    A and B are a tile each, one microtile high and wide. No output tile is ever drained.
    """
    shape = (1, a.shape[1] // SIDE, 1)
    parts = [
        TiledOperand(tiled_a(build_matrix_tree(a, ("M", "K")), SIDE, shape), FORMAT.ranks("A", dense=False)),
        TiledOperand(tiled_b(build_matrix_tree(b, ("K", "N")), SIDE, shape), FORMAT.ranks("B", dense=False)),
    ]
    rows = [OutputRow(1) for _ in range(HALVES)]
    kernel = Kernel()
    kernel.clock("core", GIGAHERTZ)
    block = kernel.add(Dispatcher("dispatcher", *parts, rows, intersectors=1, microtile=SIDE, shape=(1, 1)))
    for port, tokens in (("loaded", [(0, 0, 0, 0.0)]), ("drained", [])):
        kernel.connect(kernel.add(StreamSource(f"source.{port}", tokens)), "out", block, port, capacity=2)
    sinks = {f"tasks[{i}]": StreamSink(f"element{i}", (pause,)) for i, pause in enumerate(pauses)}
    sinks |= {port: StreamSink(port) for port in ("rows", "released")}
    for port, sink in sinks.items():
        kernel.connect(block, port, kernel.add(sink), "in", capacity=2)
    assert kernel.run(cycle_limit=10_000).complete
    given = [sinks[f"tasks[{i}]"].received for i in range(len(pauses))]
    return given, [cycle for cycle, _token in sinks["released"].received]


@pytest.mark.parametrize("pause", [20, 60])
def test_input_tiles_are_free_when_the_last_element_has_taken_its_microtiles(pause):
    """Two products for each of two elements; the second is slow to take its own second one."""
    points = {(0, SIDE * k): 1.0 for k in range(4)}
    a, b = csr(points, 4, 16), csr({(k, m): 1.0 for m, k in points}, 16, 4)
    given, released = dispatched(a, b, (0, pause))
    assert [len(products) for products in given] == [2, 2]
    (quick, _product), (last, _other) = given[0][-1], given[1][-1]
    assert last > quick + pause // 2
    assert released == [
        last + 2
    ]  # the dispatcher sees it in the next cycle, and the loader in the one behind


def test_no_product_stands_behind_a_long_one_for_as_long_as_that_should_take():
    """The first product, of full microtiles, should take 2 x 16 x 16 x 16 / (16 x 4 + 16 x 4) = 64 steps.

    Those behind it should take one each, and one is given out a cycle: the first element, whose they are by
    turns, has its own again from the 64th on.
    """
    full = {(m, k): 1.0 for m in range(SIDE) for k in range(SIDE)}
    points = full | {(0, SIDE * k): 1.0 for k in range(1, 70)}
    a, b = csr(points, 4, 280), csr({(k, m): 1.0 for m, k in points}, 280, 4)
    given, _released = dispatched(a, b, (0, 0))
    first, second = ([microtile for _cycle, (_half, microtile, *_) in products] for products in given)
    assert first == [0, 64, 66, 68]
    assert second == [k for k in range(1, 70) if k not in first]


def test_products_of_equal_length_go_to_their_own_elements():
    points = {(0, SIDE * k): 1.0 for k in range(9)}
    a, b = csr(points, 4, 36), csr({(k, m): 1.0 for m, k in points}, 36, 4)
    given, _released = dispatched(a, b, (0, 0))
    first = [microtile for _cycle, (_half, microtile, *_) in given[0]]
    assert first == [0, 2, 4, 6, 8]


def test_the_long_products_of_an_element_add_up():
    """Of 4, 16 and 64 steps, each longer than all before: the third is the first element's too.

    Both should be done 4 + 64 cycles after the first went out. Short ones follow, one a cycle; until then
    they go to the second element, as soon as that should be done with its own.
    """
    long = {
        (m, SIDE * block + k): 1.0
        for block, rows in enumerate((1, 2, 4))
        for m in range(rows)
        for k in range(4)
    }
    points = long | {(0, SIDE * k): 1.0 for k in range(3, 76)}
    a, b = csr(points, 4, 304), csr({(k, m): 1.0 for m, k in points}, 304, 4)
    given, _released = dispatched(a, b, (0, 0))
    first = [microtile for _cycle, (_half, microtile, *_) in given[0]]
    assert first == [*range(0, 17, 2), *range(68, 76, 2)]
