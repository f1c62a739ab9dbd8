"""Values of attributes in graph files: any text gives a graph or a refusal; a number has a least value."""

import random
import re
from pathlib import Path

import pytest

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.gv_reader import graph_from_text
from fiberscope.models.graphs.gv_writer import gv_text

EXAMPLES = Path(__file__).parents[4] / "examples" / "graphs"
ODD = ("x", "1.5", "-1", "", "0", "99", "1e3")
LEAST = {"factor": 1, "width": 1, "size": 1, "phase": 1, "ways": 2}


def refusal(text: str) -> str:
    """The refusal of a graph; empty for a graph that can run."""
    try:
        check(graph_from_text(text, "g.gv"))
    except InputError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("file", ["fig13_split.gv", "fig11_unfused.gv", "spmv.gv"])
def test_any_value_gives_a_graph_or_a_refusal_in_a_line(file: str) -> None:
    text, draws = gv_text(graph_from_text((EXAMPLES / file).read_text())), random.Random(7)
    places = list(re.finditer(r'\w+="([^"]*)"', text))
    for place in draws.sample(places, 40):
        changed = f"{text[: place.start(1)]}{draws.choice(ODD)}{text[place.end(1) :]}"
        assert "\n" not in refusal(changed)


@pytest.mark.parametrize("name", LEAST)
def test_a_number_of_any_node_begins_at_its_least_value(name: str) -> None:
    text = gv_text(graph_from_text((EXAMPLES / "spmv.gv").read_text()))
    said = f"should be a number from {LEAST[name]} on"
    for place in re.finditer(r'type="(fiberlookup|mul|reduce)"', text):
        for value in (LEAST[name], LEAST[name] - 1, *ODD):
            changed = f'{text[: place.end()]} {name}="{value}"{text[place.end() :]}'
            is_number = str(value).isdecimal() and int(value) >= LEAST[name]
            assert (f"{name}={value} {said}" in refusal(changed)) == (value != "" and not is_number)
