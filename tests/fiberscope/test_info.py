"""``info`` and ``list``: a parameter by itself, ranges before a run, and both as JSON."""

import json

import pytest

from fiberscope import cli


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.run(arguments) == 0
    return capsys.readouterr().out


def test_one_parameter_with_default_range_meaning_and_what_its_sources_are(capsys):
    lines = said(capsys, "info", "gamma", "pe.count").splitlines()
    assert lines[:3] == ["Parameter  pe.count", "Default    32", "Range      1 to 256"]
    assert lines[3].split(maxsplit=1) == ["Meaning", "processing elements [T4]"]
    assert any("[T4] is Table 4 of TeAAL" in line for line in lines[4:])


def test_a_section_is_its_parameters(capsys):
    shown = said(capsys, "info", "gamma", "fibercache")
    assert "fibercache.targets" in shown
    assert "pe.count" not in shown


def test_a_parameter_that_is_not_there_is_one_line(toy, capsys):
    assert cli.run(["info", "toy", "lane.cuont"]) == 2
    assert capsys.readouterr().err.startswith(
        "fiberscope: toy has no parameter lane.cuont; did you mean lane"
    )
    assert cli.run(["info", "wiki-Vote", "pe.count"]) == 2
    assert capsys.readouterr().err == "fiberscope: wiki-Vote is a matrix, which has no parameter pe.count\n"


def test_parameters_as_json(toy, capsys, tmp_path):
    document = json.loads(said(capsys, "info", "toy", "--json", "-"))
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
    assert "lane.count" in said(capsys, "info", "toy", "--json", str(tmp_path / "toy.json"))
    assert json.loads((tmp_path / "toy.json").read_text()) == document


def test_a_matrix_as_json(capsys):
    matrix = json.loads(said(capsys, "info", "wiki-vote", "--json", "-"))["matrix"]
    assert (matrix["name"], matrix["nonzeros"], matrix["shape"]) == ("wiki-Vote", 103689, [8297, 8297])


def test_the_lists_as_json(toy, capsys):
    document = json.loads(said(capsys, "list", "--json", "-"))
    assert {"extensor", "gamma", "toy"} <= {machine["name"] for machine in document["accelerators"]}
    assert {"wiki-Vote", "p2p-Gnutella31"} <= {matrix["name"] for matrix in document["matrices"]}


@pytest.mark.parametrize("command", [["list"], ["info", "gamma"], ["info", "flickr"]])
def test_in_a_pipe_a_row_is_a_line_without_blanks_at_its_end(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = said(capsys, *command).splitlines()
    assert all(line == line.rstrip() for line in lines)
    if command == ["list"]:
        assert sum(line.startswith("p2p-Gnutella31 ") for line in lines) == 1
        assert any(line.startswith("wikipedia-20070206 ") for line in lines)


def test_a_graph_with_a_tail_as_its_stand_in_says_so(capsys):
    line = said(capsys, "info", "wikipedia-20070206").splitlines()[-1]
    assert line.startswith(
        "Stand-in     R-MAT graph of 42,375,912 edges, and a tail of 1,400 vertices (edges: "
    )
    assert "Stand-in" not in said(capsys, "info", "wiki-Vote")
