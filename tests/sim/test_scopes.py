"""Names of components as a person types them."""

import pytest

from fiberscope.sim.scopes import full_name

FEW = [*(f"gamma.pe{pe}.merger" for pe in range(4)), "gamma.bank", "pages"]
MANY = [*(f"gamma.pe{pe:02}.merger" for pe in range(12)), "gamma.bank", "pages"]


@pytest.mark.parametrize(
    ("typed", "few", "many"),
    [
        ("gamma.pe0.merger", "gamma.pe0.merger", "gamma.pe00.merger"),
        ("gamma.pe00.merger", "gamma.pe0.merger", "gamma.pe00.merger"),
        ("pe003.merger", "gamma.pe3.merger", "gamma.pe03.merger"),
        ("pe1.merger", "gamma.pe1.merger", "gamma.pe01.merger"),
        ("pe10.merger", None, "gamma.pe10.merger"),
        ("bank", "gamma.bank", "gamma.bank"),
        ("pages", "pages", "pages"),
        ("pe0", None, None),
        ("", None, None),
        ("gamma", None, None),
    ],
)
def test_zeros_and_the_name_of_the_machine_may_be_left_out(
    typed: str, few: str | None, many: str | None
) -> None:
    assert (full_name(typed, FEW), full_name(typed, MANY)) == (few, many)
