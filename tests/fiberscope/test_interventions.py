"""The table that compares cycles attributed by ``check`` with cycles saved by making a part ideal."""

import pytest

from published.interventions import (
    DOUBLED_ELEMENTS,
    MEMORY_PART,
    Intervention,
    intervene,
    interventions_table,
    summary_table,
)


def test_the_first_part_saves_alone_what_was_attributed_to_it():
    rows = intervene("gamma", "small", "uniform:rows=120,cols=120,nonzeros=600")
    assert [row.part for row in rows][::3] == [MEMORY_PART, DOUBLED_ELEMENTS]
    assert [row.is_first for row in rows] == [True, False, False, False]
    assert rows[0].saved == rows[0].attributed > 0
    assert all(row.difference == (row.saved - row.attributed) / row.cycles for row in rows)


def row(part: str, attributed: int, saved: int, first: bool = False) -> Intervention:
    return Intervention("toy", "tiny", part, 100, attributed, saved, first)


def test_what_is_equal_by_construction_is_in_no_mean():
    rows = [row("memory", 40, 40, first=True), row("queues", 10, 4), row("networks", 5, 15)]
    assert [cells[-1] for cells in interventions_table(rows).rows] == ["by construction", "-6.0%", "+10.0%"]
    (_toy, count, mean, most, same), total = summary_table(rows).rows
    assert (count, mean, most, same) == ("2", "8.0%", "10.0%", "1 of 1 runs")
    assert total[0] == "all"


@pytest.mark.parametrize(("saved", "same"), [(50, "1 of 1 runs"), (3, "0 of 1 runs")])
def test_the_part_with_the_most_cycles_should_save_the_most(saved, same):
    rows = [row("queues", 30, saved), row("networks", 5, 15)]
    assert summary_table(rows).rows[0][-1] == same
