"""References to parameters in texts of files: values, whole and broken ones, and what is refused."""

import pytest

from fiberscope.accelerators.references import compile_expression, evaluate, resolve_references

NAMES = {"pe.count": 6, "pe.ratio": 0.5, "ideal": True, "name": "gamma", "zero": 0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${pe.count}", 6),
        ("${pe.count / 4}", 1.5),
        ("${pe.count - 2 - 1}", 3),
        ("${12 / pe.count / 2}", 1),
        ("${(pe.count + 2) * pe.ratio}", 4),
        ("PE[0..${pe.count - 1}]", "PE[0..5]"),
        ("plain", "plain"),
    ],
)
def test_references_are_worked_out(text: str, value: object) -> None:
    resolved = resolve_references(text, NAMES, ValueError)
    assert (resolved, type(resolved)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${ideal}", "ideal is True; it should be a number"),
        ("${pe.count * ideal}", "ideal is True; it should be a number"),
        ("${name}", "name is gamma; it should be a number"),
        ("${pe.cuont}", "there is no pe.cuont; did you mean pe.count"),
        ("${pe.count / zero}", "it divides by zero"),
        ("a${pe.count", "a reference should be written as in"),
    ],
)
def test_what_is_no_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve_references(text, NAMES, ValueError)


def test_words_are_in_postfix_order() -> None:
    words = compile_expression("2 * (pe.count + 1)", ValueError)
    assert words == ["2", "pe.count", "1", "+", "*"]
    assert evaluate(words, NAMES, ValueError) == 14
