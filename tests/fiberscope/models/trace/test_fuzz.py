"""Whatever a file holds, what is wrong with it costs one line: no traceback, nothing that hangs."""

import random
from pathlib import Path

import pytest
from whole_specification import WHOLE

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.trace.load import load

SEED = 20231028
PIECES = [
    *WHOLE.split(),
    *"[]{}(),:;.=*+-/~#&!|>%@`'\"\\?$",
    *("\n", "\t", "  ", "- ", ": ", "\0", "é", "\ud800", "\u2028", "\ufeff"),
    *("${", "${K1}", "${1/0}", "${9e99*9e99*9e99*9e99}", "&a", "*a", "!!python/object", "<<:", "---", "..."),
    *("null", "true", "inf", "nan", "-1", "0", "1e99", "99999999999999999999", "2**64", "K99999999999"),
    *(
        "take(",
        "max(",
        "((((((((",
        "[[[[[[[[",
        "flatten()",
        "follow(K)",
        "nway_shape(0)",
        "variants:",
        "machine:",
    ),
]


def changed(text: str, dice: random.Random) -> str:
    """The text with some of its parts taken out, doubled, moved, or replaced by others."""
    for _change in range(dice.randint(1, 4)):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice((0, 1, 3, 12, 60)))
        filled = dice.choice(("", text[start:end] * 2, "".join(dice.choices(PIECES, k=dice.randint(1, 3)))))
        text = text[:start] + filled + text[end:]
    return text


def moved(text: str, dice: random.Random) -> str:
    """The text with lines exchanged, or set in otherwise: what YAML takes for another tree."""
    lines = text.splitlines(keepends=True)
    for _move in range(dice.randint(1, 3)):
        here, there = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[here], lines[there] = lines[there], lines[here]
        lines[here] = " " * dice.choice((0, 2, 4)) + lines[here].lstrip(" " * dice.randint(0, 4))
    return "".join(lines)


def check(files: int, seed: int, folder: Path) -> int:
    """Load so many broken files; returns how many of them were right."""
    dice, right, path = random.Random(seed), 0, folder / "fuzzed.yaml"
    for number in range(files):
        text = dice.choice((changed, changed, moved))(WHOLE, dice)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            load(str(path))
            right += 1
        except ConfigurationError as refused:
            lines = str(refused).count("\n")
            assert lines == 0, (seed, number)
        except Exception as error:
            error.add_note(f"file {number} of seed {seed}:\n{text}")
            raise
    return right


def test_broken_files_cost_a_line_each(tmp_path: Path) -> None:
    assert 0 < check(150, SEED, tmp_path) < 150


@pytest.mark.slow
def test_a_hundred_thousand_broken_files_cost_a_line_each(tmp_path: Path) -> None:
    assert 0 < check(100_000, SEED + 1, tmp_path) < 100_000
