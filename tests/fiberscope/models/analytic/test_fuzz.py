"""Inputs with something wrong in them: whatever it is, one line says so, or the model takes it."""

import json
import random
import re
import warnings
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.models import analytic

DESIGNS = Path(analytic.__file__).parent / "designs"
ORACLES = Path(__file__).parents[3] / "oracles" / "timeloop" / "cases.json"
VALUES = (
    *("0", "-1", "1", "3", "1e9", "1e400", "99999999999999999999", "0.5", ".nan", "~", "true", "''", "K"),
    *("[]", "{}", "[K=8]", "[[[]]]", "CP", "!Component", "!Else {}", "a: b", "&x", "*x", '"', "KNM"),
    *("M=0 N=0 K=0", "[K=-8]", "K=8", "inner_to_outer", "\u0000", "ü"),
    *("{distribution: hypergeometric, density: 2}", "{distribution: actual, data: none.npy}"),
)


def texts():
    cases = json.loads(ORACLES.read_text())["cases"]
    return [
        *(path.read_text() for path in sorted(DESIGNS.glob("*.yaml"))),
        *(json.dumps(case["inputs"], indent=1) for case in cases[4:5]),
    ]


TEXTS = texts()


def broken(seed):
    """A design with one or a few things changed."""
    rng = random.Random(seed)
    text = rng.choice(TEXTS)
    for _change in range(rng.choice((1, 1, 1, 2, 4))):
        text = CHANGES[rng.randrange(len(CHANGES))](rng, text)
    return text


def without_a_line(rng, text):
    lines = text.splitlines(keepends=True)
    at = rng.randrange(max(len(lines), 1))
    return "".join(lines[:at] + lines[at + rng.choice((1, 1, 3)) :])


def with_a_line_twice(rng, text):
    lines = text.splitlines(keepends=True) or [""]
    at = rng.randrange(len(lines))
    return "".join([*lines[:at], lines[at], *lines[at:]])


def with_another_value(rng, text):
    found = list(re.finditer(r"[\w.=]+", text))
    if not found:
        return text
    word = rng.choice(found)
    return text[: word.start()] + rng.choice(VALUES) + text[word.end() :]


def with_another_word_of_its_own(rng, text):
    found = list(re.finditer(r"[\w.=]+", text))
    if not found:
        return text
    word, other = rng.choice(found), rng.choice(found)
    return text[: word.start()] + other[0] + text[word.end() :]


def with_another_character(rng, text):
    at = rng.randrange(max(len(text), 1))
    return text[:at] + rng.choice("[]{}:,-#!&*'\"\n\t 0K") + text[at + 1 :]


def cut_off(rng, text):
    return text[: rng.randrange(max(len(text), 1))]


CHANGES = (
    without_a_line,
    with_a_line_twice,
    with_another_value,
    with_another_value,
    with_another_word_of_its_own,
    with_another_character,
    cut_off,
)


def check(seed, path, capsys):
    path.write_text(broken(seed), encoding="utf-8")
    mode = "timeloop" if seed % 2 else "exact"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code = cli.run(["analyze", str(path), "--quiet", "--set", f"mode={mode}"])
    said = capsys.readouterr().err
    assert code in (0, 2), (seed, said)
    assert code == 0 or (said.count("\n") == 1 and said.startswith("fiberscope: ")), (seed, said)
    return code


def test_whatever_is_wrong_is_said_in_one_line(tmp_path, capsys):
    codes = [check(seed, tmp_path / "case.yaml", capsys) for seed in range(20)]
    assert codes.count(2) > 7
    assert codes.count(0) > 1


@pytest.mark.slow
def test_whatever_is_wrong_in_ten_thousand_is_said_in_one_line(tmp_path, capsys):
    for seed in range(10_000):
        check(seed, tmp_path / "case.yaml", capsys)
