"""Which tests run again where no optional program can be found."""

from bare import concerned, mentioning

FILE = """
import pytest
from optional_programs import needs, require

SIMULATOR = "verilator"
OTHER = "gamma"

@pytest.fixture
def place():
    return SIMULATOR

def helper():
    require("git")

def test_by_a_fixture(place): ...
@needs("sta")
def test_by_its_mark(): ...
@pytest.mark.usefixtures("place")
def test_by_a_fixture_by_name(): ...
@pytest.mark.parametrize("name", [SIMULATOR])
def test_by_a_constant(name): ...
def test_by_a_helper(): helper()
def test_itself(): "opensta"
def test_of_something_else(): OTHER
"""


def test_a_test_is_concerned_by_what_it_refers_to() -> None:
    assert concerned(FILE) == [
        "test_by_a_fixture",
        "test_by_its_mark",
        "test_by_a_fixture_by_name",
        "test_by_a_constant",
        "test_by_a_helper",
        "test_itself",
    ]
    assert concerned("def test_of_something_else(): ...") == []


def test_all_tests_are_where_a_mark_or_a_fixture_is_for_all() -> None:
    assert concerned(f"{FILE}\npytestmark = needs('hdl')") is None
    assert concerned(f"{FILE}\n@pytest.fixture(autouse=True)\ndef _here(): require('hdl')") is None


def test_of_a_file_that_mentions_a_program_some_tests_are_left_out() -> None:
    file = "tests/fiberscope/test_names_of_files.py"
    chosen = [test.removeprefix(f"{file}::") for test in mentioning() if test.startswith(file)]
    assert chosen == ["test_an_fst_is_not_written_through_a_link_either"]
