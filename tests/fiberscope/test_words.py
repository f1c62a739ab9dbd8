"""Operands in the words of a command line."""

from pathlib import Path

import pytest

from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import find_graph_file, in_order, select_a_and_b, split_operands


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
    assert select_a_and_b(words) == given


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x", "y", "z"], "3 operands in order; A and B are two, give more by name: C=c.mtx"),
        (["x", "A=y"], "A is given twice, in order and by name; leave one out"),
        (["x", "C=y"], "C=y: the operands here are A and B"),
        (["B=y"], "there is no A; give A=MATRIX"),
        ([], "there is no A; give A=MATRIX"),
        (["A=x", "A=y"], "A is given twice; leave one out"),
        (["A="], "A= names no tensor; write A=TENSOR, as in A=wiki-Vote"),
    ],
)
def test_what_is_no_product_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        select_a_and_b(words)
    assert str(error.value) == said


def test_operands_with_and_without_names_are_separated() -> None:
    words = ["a.mtx", "B[m, k]=b=c.mtx", "uniform:rows=3", "2=x", "C_1=\n"]
    assert split_operands(words) == (["a.mtx", "uniform:rows=3", "2=x"], {"B[m, k]": "b=c.mtx", "C_1": "\n"})


def test_an_expression_is_no_file_unless_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b").write_text("")
    sources = {"a=b": Path("a=b"), "x(i) = b(i)": None, "no.gv": Path("no.gv")}
    assert {source: find_graph_file(source) for source in sources} == sources


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
