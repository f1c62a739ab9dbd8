"""Which rows of a store are of older sources, by what their points have now."""

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.explore.sweeps import stale_sources
from fiberscope.explore.sweeps.plan import ResolvedPoint
from fiberscope.explore.sweeps.stale_sources import note_stale

NOW = {"gamma": "new", "sigma": "new sigma", "part": "new part", "none": ""}


def resolve(point, settings):
    """The sources of today, by the part of a point or its machine."""
    assert settings == json.dumps(point.settings)
    if "wrong" in point.settings:
        raise ConfigurationError("gamma has no parameter wrong")
    return ResolvedPoint({}, NOW["part" if point.parts else point.accelerator], "")


def row(source, accelerator="gamma", settings="{}", parts=""):
    names = ("command", "accelerator", "parts", "source", "workload", "settings")
    return dict(zip(names, ("sim", accelerator, parts, source, "x", settings), strict=True))


def noted(monkeypatch, rows, before=(), tasks=("gamma",), own="own"):
    """The sources that are stale after a sweep of machines."""
    monkeypatch.setattr(stale_sources, "ParameterResolver", lambda: resolve)
    result = []
    store = SimpleNamespace(
        stale_sources=lambda: list(before),
        table=lambda _sql: pa.Table.from_pylist(rows or [row("")]),
        note_stale=lambda sources: result.extend(sorted(sources)),
    )
    machines = [SimpleNamespace(command="sim", accelerator=name) for name in tasks]
    note_stale(store, [SimpleNamespace(point=point, row={"source": own}) for point in machines])
    return result


@pytest.mark.parametrize(
    ("rows", "before", "after"),
    [
        ([row("old")], [], ["old"]),
        ([row("new")], [], []),
        ([row("new")], ["new"], []),  # as before an edit that was taken back
        ([row("old"), row("new")], ["other"], ["old", "other"]),
        ([row("old", "sigma")], [], []),  # the sweep says nothing of other machines
        ([row("new sigma", "sigma")], ["new sigma"], ["new sigma"]),
        ([row("old", settings='{"wrong": 3}')], ["x"], ["x"]),  # nobody can know
        ([row("old", settings='{"wrong": 3}'), row("older")], [], ["older"]),
        ([row("new part", parts='{"bank": "my.py:Bank"}')], ["new part"], []),
        ([row("new", parts='{"bank": "my.py:Bank"}')], [], ["new"]),
        ([row("old")], ["own"], ["old"]),  # what the sweep itself runs is of today
    ],
)
def test_sources_that_are_not_those_of_today_are_stale(monkeypatch, rows, before, after):
    assert noted(monkeypatch, rows, before) == after


def test_rows_of_all_machines_of_a_sweep_count(monkeypatch):
    rows = [row("old"), row("old sigma", "sigma"), row("old", "none")]
    assert noted(monkeypatch, rows, tasks=("gamma", "sigma", "none")) == ["old", "old sigma"]
