"""The architecture page names the rooms of the tree, no more and no less, and its picture shows them."""

import os
import re

import pytest
from rooms import FLOORS, ROOT, picture

PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
ROW = re.compile(r"^\| `([\w/]+/)` \|", re.MULTILINE)


@pytest.fixture
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_table_names_every_room_and_nothing_else(page):
    outside = {"published", "benchmarks"}
    folders = {room for floor in FLOORS for room in floor} - {"face", "entry"}
    expected = {f"{room}/" if room in outside else f"fiberscope/{room}/" for room in folders}
    assert set(ROW.findall(page)) == expected | {"tests/"}


def test_the_table_has_the_layer_of_each_room(page):
    shown = dict(re.findall(r"^\| `(?:fiberscope/)?(\w+)/` \| (\d+) \|", page, re.MULTILINE))
    expected = {room: str(layer) for layer, floor in enumerate(FLOORS, 1) for room in floor}
    assert shown == {room: layer for room, layer in expected.items() if room not in ("face", "entry")}


def test_every_path_on_the_page_exists(page):
    paths = set(re.findall(r"`((?:fiberscope|tests|published|benchmarks)/[\w/.]*)`", page))
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_picture_shows_the_floors(page):
    """Set FIBERSCOPE_UPDATE_DOCS=1 to draw it again."""
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        PICTURE.write_text(picture(), encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == picture()
    assert f"]({PICTURE.relative_to(PAGE.parent)})" in page
