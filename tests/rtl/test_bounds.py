"""Every bound of a twin's parameter stands once, by a name, and its numbers in no second file; all hold."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from fiberscope.hw.lanes.prefix_sum_rtl import PrefixSumParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import BOUNDS, CHOICES, NUMBERS

FILES = sorted((Path(__file__).parents[2] / "hw").rglob("*_rtl.py"))
BOUND = re.compile(r"(\w+): int = number\(\d+, (\d+, \d+)\)")
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
    return [("any", f"must be one of {', '.join(stated[CHOICES])}, not any")] if CHOICES in stated else []


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
