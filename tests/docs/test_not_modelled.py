"""What a machine's page lists as not modelled is not in its reports, such as energy and area."""

import re
from pathlib import Path

import pytest

import fiberscope
from fiberscope import Report

DOCS = Path(__file__).parents[2] / "docs"
OPERANDS = "uniform:rows=30,cols=30,nonzeros=60"
MACHINES = ("gamma", "extensor", "outerspace", "sigma", "graphicionado")
SECTION = re.compile(r"^#+ .*not modelled$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)
ITEM = re.compile(r"^- (.*?)(?=^- |^\n|\Z)", re.MULTILINE | re.DOTALL)
COST = re.compile(r"^(energy|area)(?: and (energy|area))?(?: of (?P<parts>[^.:;]+))?", re.IGNORECASE)


def list_items(page: str) -> list[str]:
    """Return the items under the headings of a page that end in "not modelled"."""
    return [" ".join(item.split()) for section in SECTION.findall(page) for item in ITEM.findall(section)]


def find_contradictions(page: str, report: Report) -> list[str]:
    """Return the items that call a cost not modelled that the report has.

    An item may name the parts without a cost, as "Energy of wires and leakage"; the report lists them too.
    """
    contradictions = []
    for item in list_items(page):
        if not (cost := COST.match(item)):
            continue
        named = re.split(r", (?:and )?(?:the )?| and (?:the )?", cost["parts"] or "everything")
        lists = [getattr(report, key.lower()).without for key in cost.groups()[:2] if key]
        if any(part not in without for without in lists for part in named):
            contradictions.append(item)
    return contradictions


@pytest.fixture(scope="module")
def report() -> Report:
    """A run whose energy lacks wires alone."""
    report = fiberscope.simulate("gamma", OPERANDS)
    return report.model_copy(update={"energy": report.energy.model_copy(update={"without": ("wires",)})})


@pytest.mark.parametrize("name", MACHINES)
def test_the_page_lists_nothing_as_not_modelled_that_a_report_has(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert find_contradictions(page, fiberscope.simulate(name, OPERANDS)) == []


def test_gammas_page_has_a_list() -> None:
    assert len(list_items((DOCS / "gamma.md").read_text(encoding="utf-8"))) > 3


@pytest.mark.parametrize(
    ("item", "contradicts"),
    [
        ("Energy and area.", True),
        ("Area.", True),
        ("Energy of the mergers.", True),
        ("Energy of wires, leakage and the clock tree. More.", True),
        ("Energy of wires. More.", False),
        ("Wires: a task travels in a cycle.", False),
    ],
)
def test_planted_a_cost_that_the_report_has_is_found(item: str, contradicts: bool, report: Report) -> None:
    page = f"## What is not modelled\n\n- Scales\n  travel.\n- {item}\n\n## Next\n\n- Energy.\n"
    assert find_contradictions(page, report) == ([item] if contradicts else [])
