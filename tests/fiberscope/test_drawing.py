"""Machines drawn: what is in a picture, that nothing in it overlaps, and that those committed are current."""

import os
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope import accelerators
from fiberscope.results.drawing.graph import MACHINE_LEGEND, Box, Bundle, Graph
from fiberscope.results.drawing.layout import HEIGHT, WIDTH, arrange
from fiberscope.results.drawing.machine import draw_machine, list_families
from fiberscope.results.drawing.svg import svg

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", accelerators.names())
def test_the_committed_picture_is_that_of_the_machine(name):
    """Set FIBERSCOPE_UPDATE_DOCS=1 to draw it again."""
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        (IMAGES / f"{name}.svg").write_text(draw_machine(accelerators.find(name), {}), encoding="utf-8")
    assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == draw_machine(accelerators.find(name), {})


def test_the_picture_has_every_family_with_its_number_and_every_channel():
    root = ET.fromstring(draw_machine(accelerators.find("gamma"), {"pe.count": 4, "pe.radix": 8}))
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"pe x4", "merger", "scheduler", "fibercache.bank x48", "memory.channel x16"} <= set(words)
    channels = "\n".join(path.findtext(f"{SVG}title") or "" for path in root.iter(f"{SVG}path"))
    assert "32 x pe.reader.ways to pe.merger" in channels
    assert "48 x fibercache.bank.memory_requests to network.memory_requests" in channels


@st.composite
def graphs(draw):
    names = [f"box{number}" for number in range(draw(st.integers(1, 9)))]
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=14))
    bundles = {frozenset(pair): Bundle(*pair, down=["there"]) for pair in pairs if pair[0] != pair[1]}
    return Graph({name: Box(name, 1, "own") for name in names}, tuple(bundles.values()))


def segments(line):
    return [(start, end) for start, end in pairwise(line.points) if start != end]


def sideways_clash(one, other):
    """Whether two segments lie on one another sideways."""
    (a, b), (c, d) = one, other
    if not a[1] == b[1] == c[1] == d[1]:
        return False
    return max(min(a[0], b[0]), min(c[0], d[0])) < min(max(a[0], b[0]), max(c[0], d[0]))


@given(graphs())
def test_nothing_in_a_drawing_lies_on_another(graph):
    layout = arrange(graph)
    assert set(layout.boxes) == set(graph.boxes)
    for (x, y), (other_x, other_y) in combinations(layout.boxes.values(), 2):
        assert abs(x - other_x) > WIDTH or abs(y - other_y) > HEIGHT
    for line in layout.lines:
        assert line.points[0][1] == layout.boxes[line.bundle.upper][1] + HEIGHT / 2
        assert line.points[-1][1] == layout.boxes[line.bundle.lower][1] - HEIGHT / 2
        for (x, y), (next_x, next_y) in segments(line):
            assert x == next_x or y == next_y
            for box_x, box_y in layout.boxes.values():
                inside = abs(x - box_x) < WIDTH / 2 or (min(x, next_x) < box_x < max(x, next_x))
                assert not (inside and y == next_y and abs(y - box_y) < HEIGHT / 2)
                assert not (abs(x - box_x) < WIDTH / 2 and min(y, next_y) < box_y < max(y, next_y))
    for one, other in combinations(layout.lines, 2):
        assert not any(sideways_clash(a, b) for a in segments(one) for b in segments(other))
    ET.fromstring(svg(graph, layout, "any <graph>"))


def crosses(one, other):
    """Whether two segments, one of them sideways, cross between their ends."""
    for (a, b), (c, d) in ((one, other), (other, one)):
        if a[1] == b[1] and c[0] == d[0]:
            inside = min(a[0], b[0]) < c[0] < max(a[0], b[0])
            return inside and min(c[1], d[1]) < a[1] < max(c[1], d[1])
    return False


def crossings(name):
    layout = arrange(list_families(accelerators.find(name), {}))
    pairs = combinations(layout.lines, 2)
    return sum(crosses(a, b) for one, other in pairs for a in segments(one) for b in segments(other))


@pytest.mark.parametrize(("name", "fewest"), [("gamma", 0), ("extensor", 7), ("sigma", 6)])
def test_lines_cross_no_more_often_than_the_places_of_the_boxes_ask_for(name, fewest):
    assert crossings(name) == fewest


def test_info_draws(tmp_path, printed):
    out = printed("info", "extensor", "--draw", "-o", str(tmp_path / "x.svg"))
    assert out == f"Drawing: {tmp_path / 'x.svg'}\n"
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == draw_machine(accelerators.find("extensor"), {})
    assert "pe x2" in printed("info", "gamma", "--draw", "-o", "-", "--set", "pe.count=2")


def test_the_drawing_of_a_machine_in_a_file_has_its_name_and_lies_here(here, printed):
    machine = IMAGES.parents[1] / "examples" / "inner_product" / "machine.py"
    assert printed("info", str(machine), "--draw") == "Drawing: inner_product.svg\n"
    assert 'aria-label="inner_product: ' in Path("inner_product.svg").read_text(encoding="utf-8")


def test_what_cannot_be_drawn_is_refused_in_one_line(tmp_path, refusal):
    for arguments, line in (
        (["info", "gamm", "--draw"], "gamma?"),
        (["info", "gamma", "--draw", "--set", "pe.cout=2"], "did you mean pe.count"),
        (["info", "gamma", "--draw", "-o", str(tmp_path / "none" / "x.svg")], "none"),
        (["info", "gamma", "--draw", "-o", str(tmp_path / "x.png")], "x.png: drawings are .svg files"),
        (["info", "gamma", "pe.count", "--draw"], "a parameter goes without --draw"),
        (["info", "gamma", "--draw", "--json", "x.json"], "--json goes without --draw"),
        (["info", "gamma", "--set", "pe.count=2"], "--set goes with --draw"),
        (["info", "gamma", "-o", "x.svg"], "--output goes with --draw"),
    ):
        assert line in refusal(*arguments)


def test_a_label_that_is_wider_than_its_box_is_smaller():
    long = "pe.accumulate.crd0_points"
    graph = Graph({"pe": Box("pe", 1, "block"), long: Box(long, 2, "block")}, ())
    root = ET.fromstring(svg(graph, arrange(graph), "two boxes"))
    styles = {text.text: text.get("style", "") for text in root.iter(f"{SVG}text")}
    assert styles["pe"] == ""
    assert styles[f"{long} x2"].startswith("font-size:10.")


@pytest.mark.parametrize("name", accelerators.names())
def test_the_legend_is_within_the_picture(name):
    """A legend may be wider than a narrow machine, such as Graphicionado."""
    root = ET.parse(IMAGES / f"{name}.svg").getroot()
    left, _, width, _ = map(float, root.attrib["viewBox"].split())
    entries = [text for text in root.iter(f"{SVG}text") if text.text in MACHINE_LEGEND.values()]
    assert entries
    for entry in entries:
        start = float(entry.attrib["x"])
        assert left <= start - 15
        assert start + 6 * len(entry.text) <= left + width
