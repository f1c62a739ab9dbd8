"""Every bound of a twin's parameter stands once, by a name, and its numbers in no second file; all hold."""

import re
from dataclasses import fields
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import pytest

from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import BOUNDS, CHOICES, NUMBERS, Parameters

FILES = sorted((Path(__file__).parents[2] / "hw").rglob("*_rtl.py"))
BOUND = re.compile(r"(\w+): int = number\(\d+, (\d+, \d+)\)")
PACKAGE = Path(__file__).parents[2] / "fiberscope"
_NUMBER = r"-?\d+(?:,\d{3})*(?:\*\*\d+)?"
RANGE = re.compile(rf"(?<![\w.*-])({_NUMBER}|``\w+``) to ({_NUMBER}|``\w+``)")
LIST = re.compile(rf"(?<![\w.*-])((?:{_NUMBER}, )*{_NUMBER} or {_NUMBER})(?![\w*])")
MOST = re.compile(rf"(?:up to|at most) ({_NUMBER})")
# Of the port, each block's own.
WIDTHS = ("address_bits", "control_bits", "coordinate_bits", "reference_bits", "value_bits", "sum_bits")


def repeated(texts: list[str]) -> set[str]:
    """Parameters, widths aside, whose bounds are the same numbers in more than one place."""
    found = [bound for text in texts for bound in BOUND.findall(text) if bound[0] not in WIDTHS]
    return {bound[0] for bound in found if found.count(bound) > 1}


def test_no_bound_of_a_twin_is_written_twice() -> None:
    assert FILES
    assert repeated([path.read_text(encoding="utf-8") for path in FILES]) == set()


def test_planted_a_bound_that_is_written_twice_is_found() -> None:
    line = "    capacity: int = number(2, 1, 1024)\n"
    assert repeated([line, line]) == {"capacity"}


def outside(known):
    """What a parameter may not be, and what is said of it."""
    stated = known.metadata
    if BOUNDS in stated:
        least, most = stated[BOUNDS]
        return [(wrong, f"must be from {least} to {most}, not {wrong}") for wrong in (least - 1, most + 1)]
    if NUMBERS in stated:
        *others, last = map(str, stated[NUMBERS])
        return [(int(last) + 1, f"must be {', '.join(others)} or {last}, not {int(last) + 1}")]
    names = ", ".join(stated.get(CHOICES, ()))
    return [("unheard_of", f"must be one of {names}, not unheard_of")] if names else []


@pytest.mark.parametrize("block", BLOCKS)
def test_what_is_out_of_its_stated_range_is_refused(block) -> None:
    kind = BLOCKS[block].parameters
    tried = [(known.name, *wrong) for known in fields(kind) for wrong in outside(known)]
    assert tried
    for name, wrong, said in tried:
        with pytest.raises(ValueError, match=re.escape(f": {name} {said}")):
            kind(**{name: wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"form": "seriel"}, "prefix_sum: form must be one of serial, work-efficient, parallel, not seriel"),
        ({"lanes": 65}, "prefix_sum: lanes must be from 1 to 64, not 65"),
        ({"value_bits": 16}, "prefix_sum: value_bits must be 0, 32 or 64, not 16"),
    ],
)
def test_what_is_said_of_it(wrong, message) -> None:
    with pytest.raises(ValueError, match=message):
        PrefixSumParameters(**wrong)


def kinds() -> list[type[Parameters]]:
    """The parameters of every twin, also of those that the catalogue does not list."""
    for path in sorted(PACKAGE.rglob("*_rtl.py")):
        import_module(".".join(("fiberscope", *path.relative_to(PACKAGE).with_suffix("").parts)))
    every, left = [], [Parameters]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        every += [kind] if kind.__module__.startswith("fiberscope.") and fields(kind) else []
    return every


def stated(docstring: str) -> dict[str, str]:
    """What a docstring says of each parameter, by name."""
    arguments = cleandoc(docstring).partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w[\w, ]*): ((?:.+\n?(?:     +.+\n?)*))", arguments, re.MULTILINE)
    return {name: " ".join(text.split()) for names, text in entries for name in names.split(", ")}


def number_of(text: str) -> int | None:
    """The number that a text stands for; None for a name."""
    base, _, power = text.replace(",", "").partition("**")
    return int(base) ** int(power or 1) if base.removeprefix("-").isdecimal() else None


def stale(kind: type[Parameters]) -> list[str]:
    """What the docstring of parameters says of a range, and is not so."""
    said, wrong = stated(kind.__doc__ or ""), []
    for known in fields(kind):
        text, bounds = said.get(known.name, ""), known.metadata.get(BOUNDS)
        numbers = known.metadata.get(NUMBERS)
        least, most = bounds or (numbers[0], numbers[-1]) if bounds or numbers else (None, None)
        ends = [(number_of(low), number_of(high)) for low, high in RANGE.findall(text)]
        ends += [(None, number_of(high)) for high in MOST.findall(text)]
        ends = ends[:1] if known.type == "int" else []
        lists = [number_of(part) for part in re.split(r", | or ", "".join(LIST.findall(text)[:1]))]
        if any(low not in (None, least) or high not in (None, most) for low, high in ends):
            wrong.append(f"{kind.__name__}.{known.name}: {text}: is {least} to {most}")
        if numbers and LIST.search(text) and lists != [*numbers]:
            wrong.append(f"{kind.__name__}.{known.name}: {text}: is one of {numbers}")
    return wrong


def test_a_docstring_gives_the_range_that_is_checked() -> None:
    every = kinds()
    assert len(every) > 60
    assert (
        sum(bool(RANGE.search(text)) for kind in every for text in stated(kind.__doc__ or "").values()) > 100
    )
    assert [line for kind in every for line in stale(kind)] == []


def test_planted_stale_ranges_are_found() -> None:
    text = BLOCKS["touched"].parameters.__doc__ or ""
    for old, new in (("1 to 8,192", "1 to 65,536"), ("32 or 64", "32 or 63"), ("1 to 16", "0 to 16")):
        assert old in text
        planted = type("Planted", (BLOCKS["touched"].parameters,), {"__doc__": text.replace(old, new)})
        assert stale(planted)
