"""From texts to loop nests: the grammar, the checks, where sums stand, and the orders of the loops."""

import random
import re
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression
from fiberscope.models.graphs.compiler.front_end import build_text_notation
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.orders import Orders
from fiberscope.models.graphs.compiler.sums import accesses, insert_sums
from fiberscope.models.graphs.formats import parse_formats


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("X(i,j)=B(i,k)*C(k,j)", "X(i,j) = B(i,k) * C(k,j)"),
        ("X_{i,j} = B_{i, k} * C_{k ,j}", "X(i,j) = B(i,k) * C(k,j)"),
        ("x_i = b_i - -2.5", "x(i) = b(i) - -2.5"),
        ("x = -(a + b) / .5e1", "x = (neg((a + b))) / 5"),
        ("x(i) += 2 * b(i)", "x(i) = x(i) + (2 * b(i))"),
        ("x = a - b - c * d * e", "x = (a - b) - ((c * d) * e)"),
    ],
)
def test_texts_are_read_as_written(text, read):
    assert str(parse(text)) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: found the end, expected a name"),
        ("x(i) = ", r"column 8: found the end, expected \( or - or a name or a number"),
        ("x(i) = b(i) @ 2", "column 13: found '@', which means nothing here"),
        ("x(i) = sum(k, B(i,k))", "column 16: .* sums are not written"),
        ("x(i) = b(i", r"column 11: found the end, expected \) or ,"),
        ("x() = b", r"column 3: found '\)', expected a name"),
        ("x = " + "(" * 41 + "a" + ")" * 41, "more than 40 parentheses"),
        ("x = " + " + ".join(["a"] * 65), "more than 64 operands"),
        ("x = " + "-" * 65 + "a", "more than 64 operands"),
        ("x = " + "a" * 2000, "2,004 characters are too many"),
        ("x(i) = B(i,i)", r"column 12: i occurs twice in B\(i,i\)"),
        ("X(i,j) = b(i)", "column 5: j occurs only on the left"),
        ("x(i) = b(i) + b", r"column 15: b has 0 variables, and b\(i\) has 1 variable"),
        ("x(i) = b(i) * i", "column 3: i is the name of a tensor too"),
        ("x = 3 * 4", "the right side has no tensor"),
        ("x(i) = (b(i) + C(i,j)) * (d(i) + E(i,j))", "column 38: j is summed over in some terms of several"),
    ],
)
def test_what_cannot_be_is_refused_with_its_column(text, message):
    with pytest.raises(InputError, match=message):
        build_text_notation(text)


def test_a_variable_stands_once_in_a_tensor_wherever_it_stands_again():
    for variables in product("ijkl", repeat=4):
        text = f"x = T({','.join(variables)})"
        again = next((number for number in range(4) if variables[number] in variables[:number]), None)
        if again is None:
            assert build_text_notation(text)
            continue
        column = text.index("(") + 2 + 2 * again
        with pytest.raises(InputError, match=rf"column {column}: {variables[again]} occurs twice"):
            build_text_notation(text)


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("X(i,j) = B(i,k) * C(k,j)", "sum[k] (B(i,k) * C(k,j))"),
        ("x = B(i,j) * C(i,j)", "sum[i,j] (B(i,j) * C(i,j))"),
        ("x(i) = b(i) - C(i,j) * d(j)", "b(i) - sum[j] (C(i,j) * d(j))"),
        ("x(i) = (b(i) + C(i,j)) * d(i)", "(b(i) + sum[j] (C(i,j))) * d(i)"),
        ("x(i) = (b(i) + C(i,j)) * d(j)", "sum[j] ((b(i) + C(i,j)) * d(j))"),
        ("x(i) = a(i) + (b(i) + C(i,j))", "a(i) + (b(i) + sum[j] (C(i,j)))"),
        ("x(i) = a(i) + (B(i,j) + C(i,j))", "a(i) + sum[j] (B(i,j) + C(i,j))"),
        ("x(i) = -(b(i) + C(i,j))", "neg((b(i) + sum[j] (C(i,j))))"),
        ("x(i) = a(i) / (b(i) + C(i,j))", "sum[j] (a(i) / (b(i) + C(i,j)))"),
        ("X(i,j) = (B(i,j) + C(i,j)) * D(i,k) * E(k,j)", "sum[k] (((B(i,j) + C(i,j)) * D(i,k)) * E(k,j))"),
    ],
)
def test_sums_stand_as_far_out_as_each_term_allows(text, sums):
    assert str(insert_sums(parse(text))) == sums


@pytest.mark.parametrize(
    ("text", "formats", "order"),
    [
        ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss:10", "ijk"),
        ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", "ikj"),
        ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss:10,C:ss", "kij"),
        ("X(i,j) = B(i,k) * C(k,j)", "X:ss:10,B:ss:10,C:ss:10", "jki"),
        ("X(i,j) = B(i,k) * C(k,j)", "X:ss:10,B:ss:10,C:ss", "kji"),
        ("X(i,j) = B(i,k) * C(k,j)", "X:ss:10,B:ss,C:ss:10", "jik"),
        ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "", "ijkl"),
        ("x(i) = a * B(j,i) * c(j) + b * d(i)", "B:ss:10", "ij"),
        ("X(i,j) = B(j,i)", "", "ji"),
        ("x(i) = b(i) + C(i,j) * d(j)", "", "ij"),
        ("X(l,j) = B(m,l) * C(m,k) * D(k,i) * E(j,i)", "B:sd:10,C:ss:10,D:ss:10,E:ss:10", "iljkm"),
        ("x = b", "", ""),
    ],
)
def test_the_default_order_is_that_of_the_formats(text, formats, order):
    assert "".join(build_text_notation(text, [formats] if formats else []).order) == order


@pytest.mark.parametrize(
    ("text", "formats", "order", "message"),
    [
        ("x(i) = b(i)", "", "i,j", "order i,j: the expression has no j; it has i"),
        ("x(i) = b(i)", "", "i,i", "order i,i: i occurs twice"),
        ("X(i,j) = B(i,j)", "", "i", "order i: j is missing; take i,j"),
        (
            "X(i,j) = B(i,j) + C(i,j)",
            "B:ss:10",
            "",
            r"no order .* against j,i, C\(i,j\) is stored i before j; store it as C:dd:10",
        ),
        (
            "X(i,j) = D(i,j) + B(i,k) * C(k,j)",
            "",
            "",
            "the sum over k is one of several terms, all inside the loop j; --factor makes it a statement",
        ),
        (
            "x(i) = b(i) + C(i,j) * d(j)",
            "C:ss:10",
            "",
            "against j,i, the sum over j is one of several terms, all inside the loop i; --factor makes it",
        ),
        (
            "X(i,j) = B(i,k) * C(k,j)",
            "B:ss,C:ss",
            "i,j,k",
            r"order i,j,k: C\(k,j\) is stored k before j; store it as C:ss:10, or take the order i,k,j",
        ),
    ],
)
def test_orders_against_the_storage_are_refused_with_a_legal_one(text, formats, order, message):
    with pytest.raises(InputError, match=message):
        build_text_notation(text, [formats] if formats else [], order.split(",") if order else [])


@pytest.mark.parametrize(
    ("formats", "message"),
    [
        ("B", "'B': write TENSOR:LETTERS"),
        ("B:sz", "z is singleton, and not lowered; b is bit vectors, s is compressed, d is dense"),
        ("B:sx", "x is no level"),
        ("B:ss:11", "11 should have each of 0,1 once"),
        ("B:ss,B:ss", "B has one already"),
        ("b:ss", "the expression has no b; did you mean B"),
        ("B:s", "B has 2 variables, and so as many letters"),
    ],
)
def test_formats_that_cannot_be_are_refused(formats, message):
    with pytest.raises(InputError, match=message):
        build_text_notation("X(i,j) = B(i,j)", [formats])


def test_formats_are_read_in_one_text_and_in_several():
    expected = {"B": "ss10", "C": "ds01", "a": "none"}
    assert {name: str(one) for name, one in parse_formats(["B:ss:1,0, C:ds", "a:"]).items()} == expected


@given(st.data())
def test_default_orders_are_legal_whatever_the_formats(data):
    variables = data.draw(st.permutations("ijklm"))
    accesses = data.draw(st.lists(st.integers(1, 31), min_size=1, max_size=4))
    paths = [[v for bit, v in enumerate(variables) if mask >> bit & 1] for mask in accesses]
    text = "x = " + " * ".join(f"B{n}({','.join(path)})" for n, path in enumerate(paths))
    notation = build_text_notation(text)
    assert all([v for v in notation.order if v in path] == path for path in paths)
    legal = list(Orders(notation.result, notation.operands, notation.expression).iterate_legal())
    fits = [o for o in permutations(notation.order) if all([v for v in o if v in p] == p for p in paths)]
    assert sorted(legal) == sorted(fits)


def test_a_tensor_that_is_read_twice_has_two_paths():
    notation = build_text_notation("X(i,j) = B(i,k) * B(k,j)", ["B:ss"])
    assert [path.variables for path in notation.operands] == [("i", "k"), ("k", "j")]
    assert notation.operands[0].broadcast == ("j",)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("x(i) = b(i) + C(i,j)", "j,i"),
        ("X(i,j) = B(i,k) * C(k,j)", "k,i,j"),
        ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "l,j,i,k"),
        ("x(i) = B(i,j) * C(j,i) + D(i,k)", "j,k,i"),
    ],
)
@pytest.mark.parametrize("seed", range(12))
def test_what_a_refused_order_is_told_will_do(text, order, seed):
    shuffled = random.Random(seed)
    read = {access.tensor: len(access.variables) for access in accesses(parse(text).expression)}
    dimensions = {name: shuffled.sample("012"[:levels], levels) for name, levels in read.items()}
    formats = {name: f"{'s' * len(own)}:{''.join(own)}" for name, own in dimensions.items()}

    def compiled(order, factor=False, **others):
        stored = [f"{name}:{one}" for name, one in (formats | others).items()]
        return compile_expression(text, stored, order.split(","), factor=factor)

    try:
        compiled(order)
        return
    except InputError as error:
        told = str(error)
    advised = re.search(r"in the order (\S+)$", told)
    order = advised[1] if advised else order
    stored = re.search(r"store \w+ as ([A-Z0-2a-z:,]*[0-2])", told)
    instead = re.search(r"take the order (\S+)$", told)
    assert stored or instead or "--factor" in told
    if stored:
        compiled(order, **dict(one.split(":", 1) for one in stored[1].split(",")))
    if instead:
        compiled(instead[1])
    if "--factor" in told:
        compiled(order, factor=True)
