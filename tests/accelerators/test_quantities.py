"""Sizes, frequencies, bandwidths and times are read exactly, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.quantities import BANDWIDTH, FREQUENCY, SIZE, TIME, Quantity, in_base_units

ALL = (SIZE, FREQUENCY, BANDWIDTH, TIME)


@pytest.mark.parametrize(
    ("quantity", "text", "amount"),
    [
        (SIZE, "3 MiB", 3 * 2**20),
        (SIZE, "64KiB", 64 * 1024),
        (SIZE, "1 MB", 10**6),
        (SIZE, "1.5 KiB", 1536),
        (SIZE, 4096, 4096),
        (SIZE, "1e6", 10**6),
        (FREQUENCY, "1 GHz", 10**9),
        (FREQUENCY, "1.5 GHz", 15 * 10**8),
        (BANDWIDTH, "8 GiB/s", 2**33),
        (TIME, "40 ns", 40_000),
        (TIME, "3.9 us", 3_900_000),
        (TIME, "0.833 ns", 833),
    ],
)
def test_reads_numbers_with_units(quantity: Quantity, text: object, amount: int) -> None:
    assert quantity.parse(text) == amount


@pytest.mark.parametrize(
    ("quantity", "text", "advice"),
    [
        (SIZE, "3 XB", "it should be a size, such as 3 MiB, 64 KiB, 1 MB or a number of bytes"),
        (SIZE, "-1", "it should be a size"),
        (SIZE, "1.5 B", "a whole number of B"),
        (SIZE, True, "it should be a size"),
        (SIZE, "9" * 1000, "it should be a size"),
        (SIZE, "1e99 TiB", "a whole number of B"),
        (SIZE, None, "it should be a size"),
        (FREQUENCY, "fast", "it should be a frequency, such as 1 GHz, 1.5 GHz or a number of hertz"),
        (BANDWIDTH, "8 GiB", "it should be a bandwidth"),
        (TIME, "40", "it should be a time, such as 40 ns, 3.9 us or 500 ps"),
        (TIME, "0.5 ps", "a whole number of ps"),
    ],
)
def test_refuses_the_rest_with_advice(quantity: Quantity, text: object, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        quantity.parse(text)


@given(st.sampled_from(ALL), st.integers(0, 2**62))
def test_reads_back_what_it_writes(quantity: Quantity, amount: int) -> None:
    assert quantity.parse(quantity.text(amount)) == amount
    assert amount or quantity.units[quantity.text(0).removeprefix("0 ")] == min(quantity.units.values())


@given(st.sampled_from(ALL), st.text(max_size=20))
def test_any_text_is_read_or_refused(quantity: Quantity, text: str) -> None:
    amount, said = 0, "it should be"
    try:
        amount = quantity.parse(text)
    except ValueError as error:
        said = str(error)
    assert 0 <= amount <= 2**62
    assert "it should be" in said


@given(st.sampled_from(ALL), st.integers(0, 2**20), st.data())
def test_a_text_with_a_unit_is_the_number_that_its_own_quantity_reads(
    quantity: Quantity, amount: int, data: st.DataObject
) -> None:
    text = f"{amount} {data.draw(st.sampled_from(list(quantity.units)))}"
    assert in_base_units(text) == quantity.parse(text)


@pytest.mark.parametrize("value", ["lru", "128 furlongs", "", 1.5, True, None, [1]])
def test_what_is_no_quantity_stays_what_it_is(value: object) -> None:
    assert in_base_units(value) is value
