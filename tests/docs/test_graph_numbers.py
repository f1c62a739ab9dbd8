"""The tables of Graphicionado's page: what its command writes."""

from pathlib import Path

import pytest

from fiberscope.accelerators.graphicionado import ACCELERATOR
from fiberscope.commands.design_tables import design_tables
from fiberscope.explore.speedups import read_designs, speedups

PAGE = Path(__file__).parents[2] / "docs" / "graphicionado.md"


@pytest.mark.slow
@pytest.mark.real
def test_the_rows_of_a_real_graph_are_those_of_the_runs():
    shown = PAGE.read_text(encoding="utf-8").splitlines()
    for table in design_tables(speedups(ACCELERATOR, ["wiki-Vote"]), read_designs(ACCELERATOR)):
        assert set(table.markdown().splitlines()) <= set(shown)
