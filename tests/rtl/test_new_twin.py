"""What a new twin costs beside its logic: the lines of the one that the page shows, counted."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "adder_network"
TWIN = "hw/lanes/adder_network_rtl.py"
TRIAL = f"tests/rtl/support/{NAME}_scenario.py"
BINS = "tests/rtl/support/coverage.py"
FAULTS = "tests/faults/twins.yaml"
MOST = 110


def said(file):
    """The lines of a file that are not blank, by number."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return {number: line for number, line in enumerate(text.splitlines(), 1) if line.strip()}


def beside_its_logic(file):
    """Those outside the functions that are its logic: all of the module but ``port_contents``."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = [
        part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name != "port_contents"
    ]
    logic = {line for part in functions for line in range(part.lineno, part.end_lineno + 1)}
    return [line for number, line in said(file).items() if number not in logic]


def listed(file):
    """The lines of an entry: that which names it, and those within its brackets."""
    entry, depth = [], 0
    for line in said(file).values():
        if NAME in line or depth > 0:
            entry.append(line)
            depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    return entry


def costs():
    groups = (ROOT / FAULTS).read_text(encoding="utf-8").split("\n  - ")
    faults = sum(len(group.splitlines()) for group in groups if group.startswith(TWIN))
    lists = len(listed(BINS)) + faults
    return {TWIN: len(beside_its_logic(TWIN)), TRIAL: len(said(TRIAL)), "lists": lists}


def test_it_costs_under_110_lines():
    assert sum(costs().values()) < MOST


def test_the_page_says_how_many():
    page = (ROOT / "docs" / "rtl.md").read_text(encoding="utf-8")
    twin, trial, lists = costs().values()
    said_there = f"{twin} lines of the twin's file, {trial} of its scenario and {lists} in lists"
    assert f"{said_there}: {twin + trial + lists}" in page


def test_planted_lines_beside_the_logic_are_counted(tmp_path, monkeypatch):
    text = (ROOT / TWIN).read_text(encoding="utf-8")
    more = re.sub(r"(    events=.*\n)", r"\1" * 60, text)
    (tmp_path / TWIN).parent.mkdir(parents=True)
    (tmp_path / TWIN).write_text(more, encoding="utf-8")
    before = len(beside_its_logic(TWIN))
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert len(beside_its_logic(TWIN)) == before + 59
