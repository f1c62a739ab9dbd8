"""The check of every product: it passes on what rounding allows, and on nothing else."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.hw.value_type import TYPES
from fiberscope.workloads import from_scipy, verification
from fiberscope.workloads.verification import TOLERANCE, Comparison, compare, find_overflow

ANY = (-1.5, -1.0, 0.0, 1.0, 2.5)
POSITIVE = (0.25, 1.0, 2.5)
TINY = (1e-200, 1.0)  # of which some products are 0


def matrix(
    rows: int, columns: int, density: float, seed: int, values_of: tuple[float, ...] = ANY
) -> sparse.csr_array:
    generator = np.random.default_rng(seed)
    values = generator.choice(values_of, size=(rows, columns))
    return from_scipy(
        sparse.coo_array(np.where(generator.random((rows, columns)) < density, values, 0.0))
    ).matrix


def plain_product(a: sparse.csr_array, b: sparse.csr_array) -> sparse.csr_array:
    """Entry by entry: an entry is where a product is, even if the sum is zero."""
    sums: dict[tuple[int, int], float] = {}
    for i in range(a.shape[0]):
        for entry in range(a.indptr[i], a.indptr[i + 1]):
            k = a.indices[entry]
            for other in range(b.indptr[k], b.indptr[k + 1]):
                place = (i, int(b.indices[other]))
                sums[place] = sums.get(place, 0.0) + float(a.data[entry] * b.data[other])
    places = sorted(sums)
    values = [sums[place] for place in places]
    rows, columns = ([place[axis] for place in places] for axis in (0, 1))
    return sparse.csr_array((values, (rows, columns)), shape=(a.shape[0], b.shape[1]))


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 12),
    st.floats(0, 1),
    st.integers(0, 1000),
    st.sampled_from([ANY, POSITIVE, TINY]),
)
def test_a_plain_product_passes_and_one_that_lacks_an_entry_does_not(
    rows: int, inner: int, columns: int, density: float, seed: int, values: tuple[float, ...]
) -> None:
    a, b = matrix(rows, inner, density, seed, values), matrix(inner, columns, density, seed + 1, values)
    product = plain_product(a, b)
    found = compare(a, b, product)
    assert found.passed
    assert found.max_relative_error < 1e-14
    if product.nnz:
        coo = product.tocoo()
        short = sparse.csr_array((coo.data[1:], (coo.row[1:], coo.col[1:])), shape=product.shape)
        lacking = compare(a, b, short)
        assert (lacking.missing, lacking.extra, lacking.passed) == (1, 0, False)


@pytest.mark.parametrize("products_per_block", [1, 7, 1000])
def test_blocks_of_any_size_find_the_same(monkeypatch: pytest.MonkeyPatch, products_per_block: int) -> None:
    monkeypatch.setattr(verification, "PRODUCTS_PER_BLOCK", products_per_block)
    a, b = matrix(20, 15, 0.3, 1), matrix(15, 25, 0.3, 2)
    product = plain_product(a, b)
    assert compare(a, b, product).passed
    product.data[-1] += 1.0
    assert not compare(a, b, product).passed


def test_a_sum_of_zero_is_an_entry() -> None:
    a = from_scipy(np.array([[1.0, -1.0]])).matrix
    b = from_scipy(np.array([[1.0], [1.0]])).matrix
    kept = sparse.csr_array((np.zeros(1), np.zeros(1, dtype=int), np.array([0, 1])), shape=(1, 1))
    assert compare(a, b, kept) == Comparison(0.0, 0, 0)
    assert compare(a, b, sparse.csr_array((1, 1))) == Comparison(0.0, 1, 0)


def test_the_error_is_against_what_was_added_up() -> None:
    a = from_scipy(np.array([[1e8, 1.0, -1e8]])).matrix
    b = from_scipy(np.ones((3, 1))).matrix
    rounded = sparse.csr_array(np.array([[1.0 + 1e-8]]))  # 1e-8 of the result, 5e-17 of the sum of sizes
    assert compare(a, b, rounded).max_relative_error == pytest.approx(1e-8 / (2e8 + 1))


def test_too_large_an_error_fails_just_above_the_tolerance() -> None:
    one = from_scipy(np.ones((1, 1))).matrix
    above, below = sparse.csr_array([[1 + 1.1 * TOLERANCE]]), sparse.csr_array([[1 + 0.9 * TOLERANCE]])
    assert not compare(one, one, above).passed
    assert compare(one, one, below).passed


class Half:
    """A type of few bits, for numbers worked out by hand."""

    floats, roundoff, least, most = True, 2.0**-10, 2.0**-14, 65504.0


def test_values_of_a_type_may_be_off_by_what_rounding_explains() -> None:
    a, b = (
        from_scipy(np.ones((1, 3))).matrix,
        from_scipy(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).matrix,
    )
    most = (2 + 2 * 16) * (2.0**-10 + 2.0**-53)  # two terms each: as many as a column of B has
    for part, passes in ((0.9, True), (1.1, False)):
        found = compare(a, b, sparse.csr_array([[2.0, 2.0 * (1 + part * most)]]), Half())
        assert (found.passed, found.tolerance) == (passes, most)
    one = from_scipy(np.ones((1, 1))).matrix
    assert compare(one, one, sparse.csr_array([[1.0]])).tolerance == TOLERANCE


@pytest.mark.parametrize(("size", "passes"), [(2.0**-9, True), (1.0, False)])
def test_what_is_too_small_for_a_type_may_be_lost(size: float, passes: bool) -> None:
    one, small = from_scipy(np.ones((1, 1))).matrix, from_scipy(np.full((1, 1), size)).matrix
    lost = sparse.csr_array((np.zeros(1), np.zeros(1, int), np.array([0, 1])), shape=(1, 1))
    assert compare(one, small, lost, Half()).passed == passes


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_fails(value: float) -> None:
    one = from_scipy(np.ones((1, 1))).matrix
    assert compare(one, one, sparse.csr_array([[value]])) == Comparison(np.inf, 0, 0)


def test_missing_and_extra_entries_are_counted() -> None:
    a, b = from_scipy(np.eye(4)).matrix, from_scipy(np.diag([1.0, 2.0, 3.0, 4.0])).matrix
    off = np.diag([1.0, 0.0, 3.0, 4.0])
    off[3, 0] = off[3, 1] = 1.0
    found = compare(a, b, sparse.csr_array(off))
    assert found == Comparison(0.0, missing=1, extra=2)
    assert not found.passed


CANCELS = np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 3.0], [-1.0, 5.0]])  # A B has a 0 at (0, 0)


@pytest.mark.parametrize(
    ("product", "entries", "values"),
    [
        ("as expected", (0, 0), (0, 0, 0)),
        ("without zeros", (1, 0), (0, 0, 1)),
        ("without a value", (1, 0), (1, 0, 0)),
        ("with another zero", (0, 1), (0, 0, 1)),
        ("with another value", (0, 1), (0, 1, 0)),
        ("with a value twice", (0, 1), (0, 1, 0)),
    ],
)
def test_explicit_zeros_do_not_matter_where_values_alone_are_compared(
    product: str, entries: tuple[int, int], values: tuple[int, int, int]
) -> None:
    a, b = (np.zeros((3, 3)) for _ in range(2))
    a[:2, :2], b[:2, :2] = CANCELS
    rows, columns, data = [0, 0, 1, 1], [0, 1, 0, 1], [0.0, 8.0, -1.0, 13.0]
    if product.startswith("without"):
        place = 0 if product == "without zeros" else 3
        for entry in (rows, columns, data):
            entry.pop(place)
    if product.startswith("with another"):
        rows, columns, data = [*rows, 2], [*columns, 1], [*data, float(product == "with another value")]
    if product == "with a value twice":
        rows, columns, data = [*rows, 1], [*columns, 1], [*data, 0.5]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=3))])
    answer = sparse.csr_array((np.array(data), np.array(columns), starts), shape=(3, 3))
    operands = from_scipy(a).matrix, from_scipy(b).matrix
    strict, lenient = compare(*operands, answer), compare(*operands, answer, values_only=True)
    assert (strict.missing, strict.extra, strict.zeros) == (*entries, None)
    assert (lenient.missing, lenient.extra, lenient.zeros) == values
    assert lenient.passed == (values[:2] == (0, 0))


@given(st.integers(1, 8), st.integers(1, 8), st.sampled_from([0.0, 1.0, -1e-300]), st.integers(0, 1000))
def test_an_entry_too_many_fails_wherever_and_whatever_it_is(
    rows: int, columns: int, value: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    a, b = matrix(rows, 3, 0.3, seed), matrix(3, columns, 0.3, seed + 1)
    product = plain_product(a, b)
    there = np.zeros((rows, columns), dtype=bool)
    there[product.tocoo().coords] = True
    free = np.argwhere(~there)
    assume(len(free))
    row, column = generator.choice(free)
    coo = product.tocoo()
    places = (np.append(coo.row, row), np.append(coo.col, column))
    surplus = sparse.csr_array((np.append(coo.data, value), places), shape=product.shape)
    found = compare(a, b, surplus)
    assert found == Comparison(found.max_relative_error, missing=0, extra=1)
    assert found.max_relative_error <= TOLERANCE
    assert not found.passed


def test_an_entry_written_twice_is_one_too_many() -> None:
    one = from_scipy(np.ones((1, 1))).matrix
    twice = sparse.csr_array((np.array([1.0, 1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    found = compare(one, one, twice)
    assert (found.extra, found.passed) == (1, False)


def test_unsorted_rows_are_the_same_product() -> None:
    one = from_scipy(np.ones((1, 1))).matrix
    b = from_scipy(np.array([[1.0, 2.0]])).matrix
    unsorted = sparse.csr_array((np.array([2.0, 1.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert compare(one, b, unsorted).passed


def test_a_product_of_another_shape_is_refused() -> None:
    one = from_scipy(np.ones((1, 1))).matrix
    with pytest.raises(ValueError, match=r"the product has the shape \(1, 2\), not \(1, 1\)"):
        compare(one, one, sparse.csr_array((1, 2)))


@pytest.mark.parametrize(
    ("a", "b", "place"),
    [
        ([[1.0, 0.0], [0.0, 1e200]], [[1.0, 0.0], [0.0, 1e200]], (1, 1)),
        ([[1e308, 1e308]], [[0.0, 1.0], [0.0, -1.0]], (0, 1)),  # 0, were it not for the order
        ([[0.0, 0.0], [1e200, 0.0]], [[0.0, 0.0], [0.0, 1e200]], None),  # they never meet
        ([[1e150]], [[1e150]], None),
        ([[0.0]], [[0.0]], None),
    ],
)
def test_products_that_overflow_are_found(
    a: list[list[float]], b: list[list[float]], place: tuple[int, int] | None
) -> None:
    first, second = (from_scipy(np.array(values)).matrix for values in (a, b))
    assert find_overflow(first, second) == place


@pytest.mark.parametrize("products_per_block", [1, 1000])
def test_an_overflow_far_down_is_found(monkeypatch: pytest.MonkeyPatch, products_per_block: int) -> None:
    monkeypatch.setattr(verification, "PRODUCTS_PER_BLOCK", products_per_block)
    a = sparse.eye_array(50, format="csr")
    a.data[37] = 1e200
    assert find_overflow(from_scipy(a).matrix, from_scipy(a).matrix) == (37, 37)


@pytest.mark.parametrize(
    ("row", "name", "answer", "passed"),
    [
        ([3e38, 3e38], "float32", np.inf, True),
        ([3e38, 3e38], "float32", -np.inf, False),
        ([3e38, 3e38], "float32", np.nan, False),
        ([-3e38, -3e38], "bfloat16", -np.inf, True),
        ([3e38, 3e38, -3e38, -3e38], "float32", np.inf, True),
        ([3e38, 3e38, -3e38, -3e38], "float32", -np.inf, True),
        ([3e38, 3e38, -3e38, -3e38], "float32", np.nan, True),
        ([3e38, -3e38], "float32", np.inf, False),
        ([3e38, 3e38], "float64", np.inf, False),
        ([1.0, 2.0], "float32", np.inf, False),
        ([1.5e308, 1.5e308], "integer", np.inf, True),
        ([1e300, 1e300], "integer", np.inf, False),
    ],
)
def test_an_overflow_that_sums_of_the_type_explain_is_counted_and_is_no_fault(
    row: list[float], name: str, answer: float, passed: bool
) -> None:
    a = from_scipy(sparse.csr_array([row])).matrix
    b = from_scipy(sparse.csr_array([[1.0]] * len(row))).matrix
    compared = compare(a, b, sparse.csr_array(([answer], [0], [0, 1]), shape=(1, 1)), TYPES[name])
    assert (compared.passed, compared.overflows) == (passed, int(passed))
    assert compared.max_relative_error == (0.0 if passed else np.inf)
    assert compared.differences.endswith("0 too many" + ", 1 value overflows to infinity" * passed)


def test_terms_far_apart_that_both_overflow_may_sum_to_no_number() -> None:
    """The smaller of the sizes is lost in the rounding of the larger one."""
    a = from_scipy(sparse.csr_array([[1e38, 1.0]])).matrix
    b = from_scipy(sparse.csr_array([[1e38], [-3e39]])).matrix
    for answer, passed in ((np.nan, True), (np.inf, True), (-np.inf, False), (1e38, False)):
        product = sparse.csr_array(([answer], [0], [0, 1]), shape=(1, 1))
        assert compare(a, b, product, TYPES["float32"]).passed == passed


def test_a_finite_value_where_the_sum_exceeds_the_type_is_a_fault() -> None:
    a, b = (from_scipy(sparse.csr_array(rows)).matrix for rows in ([[3e38, 3e38]], [[1.0], [1.0]]))
    for answer in (0.0, 3e38):
        compared = compare(a, b, sparse.csr_array(([answer], [0], [0, 1]), shape=(1, 1)), TYPES["float32"])
        assert (compared.passed, compared.overflows) == (False, 0)
