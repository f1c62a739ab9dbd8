"""Studies refuse the numbers of a run that ended early, as after Ctrl-C."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fiberscope.results.report import timeline
from fiberscope.sim import Run
from published import cascades, choices, dataflows, fibercache, formats, layers, memory_breakdown, orders, sam

ROOT = Path(__file__).parents[2]
SMALL = "uniform:rows=30,cols=30,nonzeros=200,seed=1"
UNFINISHED = {  # functions that read the numbers of runs, with a first run that ends early
    "cascades": lambda: cascades.rows("gamma", SMALL),
    "choices": lambda: choices.cycles(SMALL, "simple", ""),
    "dataflows": dataflows.main,
    "fibercache": fibercache.main,
    "formats": lambda: formats.cycles("SpMV `ij`", "s", 0.05),
    "layers": lambda: list(layers.table_cells("gamma", "Z = A A", {"A": SMALL})),
    "memory_breakdown": memory_breakdown.main,
    "orders": lambda: orders.measure_orders("X(i,j) = B(i,j)", {"i": 9, "j": 9}, orders.uniform, 1),
    "sam": lambda: sam.experiments(["12"], lambda _line: None),
    "sam, shares": lambda: sam.token_shares(sam.stand_in(8, 5, 24)),
    "sam, tiles": lambda: sam.experiments(["15"], lambda _line: None),
}
# Functions that return the report of a run that may have been interrupted.
RUNS = {"simulate", "run", "model"}


@pytest.mark.parametrize("name", UNFINISHED)
def test_numbers_of_an_interrupted_run_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The run ends after its first cycle, as after Ctrl-C."""

    def interrupt(machine: Any, *_arguments: object) -> Run:
        return replace(machine.kernel.run(cycle_limit=1), reason="interrupted")

    monkeypatch.setattr(timeline, "run", interrupt)
    arguments = {"fibercache": [SMALL], "memory_breakdown": ["gamma", SMALL]}
    monkeypatch.setattr(sys, "argv", ["x", *arguments.get(name, [])])
    with pytest.raises(KeyboardInterrupt):
        UNFINISHED[name]()
    assert not re.search(r"\d cycles", capsys.readouterr().out)


def reports_of_runs(path: Path) -> Iterator[tuple[ast.Call, bool]]:
    """Yield the calls whose result is the report of a run, and whether an unfinished one is refused."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    refused = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "refuse_interrupted"
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            name = imported.get(function, function)
            if name.startswith("fiberscope.") and name.rpartition(".")[2] in RUNS:
                yield node, id(node) in refused


def test_every_study_asks_whether_its_runs_ended() -> None:
    files = [*(ROOT / "published").glob("*.py"), *(ROOT / "fiberscope" / "explore").glob("*.py")]
    calls = {
        f"{path.name}:{call.lineno}": is_refused
        for path in files
        for call, is_refused in reports_of_runs(path)
    }
    assert len(calls) > 8
    assert [place for place, is_refused in calls.items() if not is_refused] == []
