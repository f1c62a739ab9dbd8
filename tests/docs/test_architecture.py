"""The architecture page names what the tree has, no more and no less, and its picture is of both."""

import os
import re
from itertools import permutations

import pytest
from rooms import ALLOWED, ROOT, packages, picture, placed

PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
ROW = re.compile(r"^\| `([\w/]+/)` \|(.*)\|$", re.MULTILINE)


@pytest.fixture
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_tables_name_every_room_and_package_and_nothing_else(page):
    within = packages(ALLOWED)
    there = {f"{room}/" for room in within} | {path for paths in within.values() for path in paths}
    assert {path for path, _ in ROW.findall(page)} == there | {"tests/"}


def test_every_path_on_the_page_exists(page):
    named = set(re.findall(r"`((?:sim|workloads|hw|accelerators|fiberscope|tests)/[\w/.]*)`", page))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_table_states_the_import_law(page):
    stated = {path.rstrip("/"): row.rpartition("|")[2] for path, row in ROW.findall(page) if "|" in row}
    for room, law in ALLOWED.items():
        imports = set(ALLOWED) if stated[room].strip() == "all" else set(re.findall(r"`(\w+)`", stated[room]))
        assert imports | {room} == law


def test_the_picture_is_that_of_the_tree(page):
    """Set FIBERSCOPE_UPDATE_DOCS=1 to draw it again."""
    drawn = picture(ALLOWED, page)
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == drawn
    assert (
        f"![The rooms: each may import those that it stands on]({PICTURE.relative_to(PAGE.parent)})" in page
    )


@pytest.mark.parametrize(
    "law",
    [
        ALLOWED,
        {"a": {"a"}, "b": {"b"}, "c": {"c"}, "d": {"d", "b", "c"}, "e": {"e", "d", "b", "c"}},
    ],
    ids=["ours", "another"],
)
def test_a_room_stands_on_what_it_may_import_and_on_nothing_else(law):
    for room, other in permutations(placed(law), 2):
        assert room.stands_on(other) == (other.name in law[room.name]), (room.name, other.name)


def test_planted_a_room_that_imports_more_is_drawn_otherwise(page):
    assert picture(ALLOWED | {"hw": {"hw", "sim", "workloads"}}, page) != picture(ALLOWED, page)
