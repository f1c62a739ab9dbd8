import doctest
from pathlib import Path

from fiberscope.workloads import names

PAGE = Path(__file__).parents[2] / "docs" / "workloads.md"


def test_every_example_of_the_page_runs():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 8
    assert result.failed == 0


def test_the_page_counts_the_registry():
    assert f"{len(names())} rows" in PAGE.read_text()
