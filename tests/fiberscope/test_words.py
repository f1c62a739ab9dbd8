"""Operands in the words of a command line."""

import pytest

from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import a_and_b, in_order


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["x.mtx"], ("x.mtx", None)),
        (["x.mtx", "y.mtx"], ("x.mtx", "y.mtx")),
        (["B=y.mtx", "A=x.mtx"], ("x.mtx", "y.mtx")),
        (["B=y.mtx", "uniform:rows=3,cols=3"], ("uniform:rows=3,cols=3", "y.mtx")),
    ],
)
def test_a_product_has_its_operands_in_order_or_by_name(
    words: list[str], given: tuple[str, str | None]
) -> None:
    assert a_and_b(words) == given


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x", "y", "z"], "3 operands in order; A and B are two"),
        (["x", "A=y"], "A is given twice, in order and by name; leave one out"),
        (["x", "C=y"], "C=y: the operands here are A and B"),
        (["B=y"], "there is no A; give A=MATRIX"),
    ],
)
def test_what_is_no_product_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        a_and_b(words)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["x", "y", "z"], ["x", "y", "z"]),
        (["C=z", "x", "B=y"], ["x", "y", "z"]),
        (["B=y", "A=x"], ["x", "y"]),
        (["w", "x", "y", "z"], ["w", "x", "y", "z"]),
    ],
)
def test_operands_of_names_come_in_their_order(words: list[str], given: list[str]) -> None:
    assert in_order(words, "ABC") == given


def test_one_that_is_left_out_before_others_is_named() -> None:
    with pytest.raises(InputError, match="there is no B; give B=MATRIX"):
        in_order(["C=z", "x"], "ABC")
