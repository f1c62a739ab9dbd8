"""Every bound of a twin's parameter stands once, by a name, and its numbers in no second file."""

import re
from pathlib import Path

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
