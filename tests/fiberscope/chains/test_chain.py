"""What may be written as a chain, and what of it is computed in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.base.errors import InputError
from fiberscope.run.chains.chain import Chain, Product

NAMES = st.sampled_from(["A", "X", "W", "R", "P_1"])


def test_products_are_computed_as_they_are_written() -> None:
    chain = Chain.parse("Y = A X; Z = Y * W;")
    assert chain.products == (Product("Y", "A", "X"), Product("Z", "Y", "W"))
    assert chain.operands == ("A", "X", "W")
    assert chain.results == ("Z",)
    assert str(chain) == "Y = A X; Z = Y W"


def test_a_product_that_two_use_and_one_that_none_uses() -> None:
    chain = Chain.parse("Y = A A; Z = Y A; V = A Y")
    assert chain.operands == ("A",)
    assert chain.results == ("Z", "V")
    assert [chain.uses("Y", after) for after in range(3)] == [True, True, False]


@given(st.lists(NAMES, min_size=2, max_size=6))
def test_of_more_factors_the_first_are_multiplied_first(factors: list[str]) -> None:
    chain = Chain.parse(f"Z = {' '.join(factors)}")
    product = factors[0]
    for one, factor in zip(chain.products, factors[1:], strict=True):
        assert (one.left, one.right) == (product, factor)
        product = one.name
    assert chain.products[-1].name == "Z"
    assert chain.operands == tuple(dict.fromkeys(factors))
    assert Chain.parse(f"Z = {' @ '.join(factors)}") == chain


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "--chain is empty"),
        (" ; ", "--chain is empty"),
        ("Y = A", "'Y = A' is no product"),
        ("A X", "'A X' is no product"),
        ("Y = A + X", "'Y = A + X' is no product"),
        ("Y = A X = W", "is no product"),
        ("Y = A X; Y = Y W", "Y is defined twice"),
        ("Z = Y W; Y = A X", "Y is used before it is defined, in Y = A X"),
        ("A = A X", "A is used before it is defined"),
    ],
)
def test_what_is_no_chain_costs_a_line(text: str, told: str) -> None:
    with pytest.raises(InputError, match=r"^--chain") as caught:
        Chain.parse(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
