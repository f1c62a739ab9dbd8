"""The rows of a product, made in any order and brought together, against plain lists."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.product import ELEMENTS_A_BLOCK, ProductRows


def product_rows(rows, columns, order):
    """Of ``rows`` rows that select the same full row of B."""
    a = CompressedRows(np.arange(rows + 1), np.zeros(rows), np.ones(rows))
    b = CompressedRows(np.array([0, columns]), np.arange(columns), np.ones(columns))
    return ProductRows(a, b, columns, order)


def write(product, lengths):
    """Row number n as n, n + 1/8, n + 2/8 and so on."""
    for number, length in enumerate(lengths):
        place = slice(product.starts[number], product.starts[number] + length)
        np.asarray(product.coordinates)[place] = np.arange(length)
        np.asarray(product.values)[place] = number + np.arange(length) / 8


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.integers(0, 40), st.sampled_from([1, 30, ELEMENTS_A_BLOCK // 4]))
def test_rows_come_together_in_the_order_of_the_product(random, rows, columns):
    order = random.sample(range(rows), rows)
    lengths = [random.randint(0, columns) for _ in range(rows)]
    product = product_rows(rows, columns, np.array(order, np.int64))
    write(product, lengths)
    values, coordinates, pointers = product.gather(np.array(lengths, np.int64))
    numbers = np.argsort(order)  # by row of the product
    written = [lengths[number] for number in numbers]
    assert pointers.tolist() == np.cumsum([0, *written]).tolist()
    expected = [number + np.arange(length) / 8 for number, length in zip(numbers, written, strict=True)]
    assert np.array_equal(values, np.concatenate([[], *expected]))
    assert np.array_equal(coordinates, np.concatenate([[], *map(np.arange, written)]))


def test_rows_that_begin_within_a_page_keep_their_elements():
    """The pages that become empty are freed block by block, but not the one in which the next row begins."""
    rows, columns = 20, ELEMENTS_A_BLOCK // 4 + 5
    length = columns // 2
    product = product_rows(rows, columns, np.arange(rows))
    write(product, [length] * rows)
    values, coordinates, _pointers = product.gather(np.full(rows, length))
    assert np.array_equal(values, np.concatenate([row + np.arange(length) / 8 for row in range(rows)]))
    assert np.array_equal(coordinates, np.tile(np.arange(length), rows))


def test_bringing_them_together_takes_no_more_memory():
    """Of rows that fill half of their room, 48 MiB if all of it were touched."""
    rows, columns = 64, 1 << 16
    product = product_rows(rows, columns, np.arange(rows))
    write(product, [columns // 2] * rows)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # from here on, the most
    before = most_resident()
    product.gather(np.full(rows, columns // 2))
    assert most_resident() - before < 5 << 20


def most_resident():
    """The most bytes of this process that were in memory at a time."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
