"""``info`` and ``list``: a parameter by itself, ranges before a run, and both as JSON."""

import json
import re

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite


def test_one_parameter_with_default_range_meaning_and_what_its_sources_are(printed):
    lines = printed("info", "gamma", "pe.count").splitlines()
    assert lines[:3] == ["Parameter  pe.count", "Default    32", "Range      1 to 256"]
    assert lines[3].split(maxsplit=1) == ["Meaning", "processing elements [T4]"]
    assert any("[T4] is Table 4 of TeAAL" in line for line in lines[4:])


def test_a_section_is_its_parameters(printed):
    shown = printed("info", "gamma", "fibercache")
    assert "fibercache.targets" in shown
    assert "pe.count" not in shown


def test_a_parameter_that_is_not_there_is_one_line(toy, refusal):
    error = refusal("info", "toy", "lane.cuont")
    assert error.startswith("fiberscope: toy has no parameter lane.cuont; did you mean lane")
    error = refusal("info", "wiki-Vote", "pe.count")
    assert error == "fiberscope: wiki-Vote is a matrix, which has no parameter pe.count\n"


def test_parameters_as_json(toy, printed, tmp_path):
    document = json.loads(printed("info", "toy", "--json", "-"))
    shown = {given["key"]: given for given in document["parameters"]}
    assert shown["lane.count"] == {
        "key": "lane.count",
        "default": 2,
        "minimum": 1,
        "maximum": 64,
        "choices": [],
        "meaning": "lanes; source: the smallest number that makes a family",
    }
    assert shown["fault"]["choices"][:2] == ["none", "wrong"]
    assert "lane.count" in printed("info", "toy", "--json", str(tmp_path / "toy.json"))
    assert json.loads((tmp_path / "toy.json").read_text()) == document


def test_a_matrix_as_json(printed):
    matrix = json.loads(printed("info", "wiki-vote", "--json", "-"))["matrix"]
    assert (matrix["name"], matrix["nonzeros"], matrix["shape"]) == ("wiki-Vote", 103689, [8297, 8297])


def test_the_lists_as_json(toy, printed):
    document = json.loads(printed("list", "--json", "-"))
    assert {"extensor", "gamma", "toy"} <= {machine["name"] for machine in document["accelerators"]}
    assert {"wiki-Vote", "p2p-Gnutella31"} <= {matrix["name"] for matrix in document["matrices"]}


@pytest.mark.parametrize("command", [["list"], ["info", "gamma"], ["info", "flickr"]])
def test_in_a_pipe_a_row_is_a_line_without_blanks_at_its_end(command, printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = printed(*command).splitlines()
    assert all(line == line.rstrip() for line in lines)
    if command == ["info", "gamma"]:
        assert 80 < max(map(len, lines)) <= 100
    if command == ["list"]:
        assert sum(line.startswith("p2p-Gnutella31 ") for line in lines) == 1
        assert any(line.startswith("wikipedia-20070206 ") for line in lines)


def test_a_graph_with_a_tail_as_its_stand_in_says_so(printed):
    line = printed("info", "wikipedia-20070206").splitlines()[-1]
    assert line.startswith(
        "Stand-in     R-MAT graph of 42,375,912 edges, and a tail of 1,400 vertices (edges: "
    )
    assert "Stand-in" not in printed("info", "wiki-Vote")


@pytest.mark.parametrize("name", ["band.mtx", "uniform:rows=4,cols=4,nonzeros=7"])
def test_a_matrix_at_hand_is_counted_and_drawn(name, printed, here):
    mmwrite("band.mtx", sparse.diags_array([np.ones(4), np.ones(3)], offsets=[0, 1]))
    shown = printed("info", name)
    assert re.search(r"^Nonzeros +7, 0\.44 of all places; \d on the diagonal$", shown, re.MULTILINE)
    assert shown.splitlines()[-6] == shown.splitlines()[-1] == "────"
    counted = json.loads(printed("info", name, "--json", "-"))
    assert counted["matrix"] is None
    assert (counted["counted"]["shape"], counted["counted"]["nonzeros"]) == ([4, 4], 7)


def test_a_registered_matrix_is_counted_where_it_is_at_hand(printed):
    document = json.loads(printed("info", "wiki-Vote", "--json", "-"))
    assert document["counted"]["multiplies"] == 4_542_805  # as every machine that multiplies it
    assert json.loads(printed("info", "flickr", "--json", "-"))["counted"] is None


def test_the_list_is_sorted_and_says_what_is_here(printed, tmp_path, monkeypatch):
    (tmp_path / "flickr.mtx").write_text("never read")
    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path))
    matrices = json.loads(printed("list", "--json", "-"))["matrices"]
    names = [matrix["name"] for matrix in matrices]
    assert names == sorted(names, key=str.lower)
    here = {matrix["name"]: matrix["here"] for matrix in matrices}
    assert (here["wiki-Vote"], here["flickr"], here["cant"]) == ("ships", "file", "")


def test_where_there_is_no_room_the_meaning_stands_below_its_parameter(printed, monkeypatch):
    lines = printed("info", "gamma", "pe").splitlines()
    monkeypatch.setattr("fiberscope.commands.info.find_terminal_width", lambda _piped: 200)
    wide = printed("info", "gamma", "pe")
    assert "pe.count = 32  (1 to 256)" in lines
    assert lines[lines.index("pe.count = 32  (1 to 256)") + 1] == "    processing elements [T4]"
    assert any(line.split()[:2] == ["pe.count", "32"] for line in wide.splitlines())


def test_an_array_whose_name_has_a_slash_and_a_colon_is_a_matrix(here, refusal, printed) -> None:
    np.savez("tf.npz", **{"dense/kernel:0": np.eye(3)})
    assert "3 x 3" in printed("info", "tf.npz:dense/kernel:0")
    refusal("info", "none.npz:dense/kernel:0")
