"""The table of energies is what the command measures, and the page shows it."""

import csv
import os
from pathlib import Path

import pytest
from optional_programs import needs

from fiberscope import cli

DOCS = Path(__file__).parents[2] / "docs"
TABLE = DOCS / "energies.csv"
IN_GAMMA = "gamma uniform:rows=40,cols=40,nonzeros=200 --set pe.count=2 --set pe.radix=8 --sim pyrtl"
RUNS = {
    "HighRadixMerger": f"merger {IN_GAMMA}",
    "FiberCacheBank": f"bank {IN_GAMMA}",
    "SkipAheadIntersector": "skip_ahead",
    "PrefixSum": "prefix_sum --set lanes=8",
    "Divider": "divider",
    "AdderNetwork": "adder_network --set leaves=8",
    "BenesNetwork": "benes",
    "Accumulator": "accumulator",
    "SortedHeadUnit": "sorted_head --set entries=8",
}
needed = needs("cells", "sta", "yosys")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shown(of_block: list[dict[str, str]]) -> str:
    """A row of the page: what differs between the blocks."""
    cycle, event = of_block[:2]
    run = "Gamma" if "gamma" in cycle["source"] else "alone"
    numbers = event["event"], event["picojoules"], cycle["picojoules"], cycle["megahertz"]
    return f"| `{cycle['block']}` | {cycle['parameters']} | {run} | " + " | ".join(numbers) + " |"


def test_the_page_shows_the_table() -> None:
    listed = rows(TABLE)
    assert list(dict.fromkeys(row["component"] for row in listed)) == list(RUNS)
    page = (DOCS / "rtl.md").read_text(encoding="utf-8")
    for component in RUNS:
        assert shown([row for row in listed if row["component"] == component]) in page
    assert all(float(row["picojoules"]) > 0 for row in listed)


@pytest.mark.slow
@needed
@pytest.mark.parametrize("component", RUNS)
def test_the_table_is_what_is_measured(component: str, here: Path) -> None:
    """Set FIBERSCOPE_UPDATE_DOCS=1 to write what is measured now, all blocks one after the other."""
    assert cli.run(["rtl", "power", *RUNS[component].split(), "--table=found.csv"]) == 0
    found = rows(Path("found.csv"))
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        update(component, found)
    assert [row for row in rows(TABLE) if row["component"] == component] == found


def update(component: str, found: list[dict[str, str]]) -> None:
    """Put these rows in the place of the component's."""
    kept = rows(TABLE) if TABLE.exists() else []
    by_component = {name: [row for row in kept if row["component"] == name] for name in RUNS}
    by_component[component] = found
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for part in by_component.values() for row in part)
