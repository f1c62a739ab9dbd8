"""What a page refuses, and how it marks what it takes: states of other runs, names, estimates."""

import re
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pandas")

import pandas as pd

from fiberscope.base.errors import InputError
from fiberscope.page.document import LIBRARY, SCRIPTS, STYLES, page
from fiberscope.page.drawing import STATES, _draw_bars, _share_states
from fiberscope.page.run import _check_states
from fiberscope.page.study import _compute_half_widths, _mark_surrogates
from fiberscope.page.written import make_page
from fiberscope.results.drawing.layout import WIDTH


def states(busy: list[int], start: int = 0, end: int = 10, **others: Any) -> Any:
    recorded = SimpleNamespace(states={"busy": busy, "idle": [9]})
    return SimpleNamespace(start=start, end=end, components={"pe": recorded, **others})


@pytest.mark.parametrize(
    ("recorded", "is_same"),
    [
        (states([3, 4]), True),
        (states([3, 4, 0], end=12), True),
        (states([3]), False),
        (states([8]), False),
        (states([3], start=1), True),  # a part of the run says nothing of the sum
        (states([3], end=9), True),
        (SimpleNamespace(start=0, end=9, components={}), False),
        (SimpleNamespace(start=1, end=9, components={"other": None}), False),
    ],
)
def test_states_are_those_of_the_report_by_their_sums(recorded: Any, *, is_same: bool) -> None:
    report: Any = SimpleNamespace(cycles=10, components={"pe": SimpleNamespace(busy=7)})
    try:
        _check_states(report, recorded)
        refusal = ""
    except InputError as error:
        refusal = str(error)
    assert ("the timeline is not of this run: pe differs from the report's" in refusal) != is_same


def test_a_surrogate_is_mark_surrogates_and_a_machine_is_named_if_it_has_a_name() -> None:
    columns = {"accelerator": ["a", "a"], "workload": ["x", "y"], "workload_source": ["surrogate", "real"]}
    plain = _mark_surrogates(pd.DataFrame({**columns, "machine": ["a", "a"]}))
    assert list(plain.columns) == list(columns)
    assert list(plain["workload"]) == ["x\N{DAGGER}", "y"]
    named = _mark_surrogates(pd.DataFrame({**columns, "machine": ["a", "mine"]}))
    assert list(named["machine"]) == ["a", "mine"]


def test_the_error_of_an_estimate_is_half_its_interval() -> None:
    whole = {"cycles": [10, 20], "cycles_low": [None, None], "cycles_high": [None, None]}
    assert _compute_half_widths(pd.DataFrame(whole)) == []
    mixed = {"cycles": [10, 2000], "cycles_low": [None, 1900.0], "cycles_high": [None, 2100.0]}
    assert _compute_half_widths(pd.DataFrame(mixed)) == [None, 0.05]


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        (["store", "b.json"], {}, "store has the results of many runs; a page shows one study, or reports"),
        (
            ["a.json", "b.json"],
            {"timeline": "t"},
            "--timeline t: shows one run, and a.json b.json has several",
        ),
        (["store"], {"timeline": "t"}, "--timeline t: shows one run, and store has several"),
        (["a.json", "b.json"], {"run_sources": True}, "--run-sources draws the machine of one run; give one"),
        (["store"], {"run_sources": True}, "--run-sources draws the machine of one run; give one report"),
        (["a.json"], {"all_sources": True}, "--all-sources is for the page of a sweep; give its store"),
    ],
)
def test_options_of_a_page_are_for_what_it_shows(
    results: list[str], options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    monkeypatch.setattr("fiberscope.page.written.is_store", lambda result: result == "store")
    asked = {"timeline": None, "title": "", "run_sources": False, "all_sources": False, **options}
    with pytest.raises(InputError) as error:
        make_page(results, asked.pop("timeline"), asked.pop("title"), **asked)
    assert str(error.value).startswith(message)


def spent(*cycles: int) -> Any:
    return SimpleNamespace(**dict(zip(STATES, cycles, strict=True)))


def test_a_box_of_the_drawing_has_the_shares_of_all_its_components() -> None:
    components = {
        "a0": spent(6, 2, 1, 1),
        "a1": spent(0, 0, 0, 10),
        "b": spent(0, 0, 0, 0),
        "c": spent(4, 4, 0, 0),
    }
    boxes = {"a0": "A", "a1": "A", "b": "B", "gone": "D", "c": "C"}
    shares = _share_states(boxes, components)
    assert shares == {"A": (0.3, 0.1, 0.05, 0.55), "B": (0, 0, 0, 0), "C": (0.5, 0.5, 0, 0)}
    layout: Any = SimpleNamespace(boxes={"A": (200.0, 100.0), "B": (500.0, 100.0), "C": (200.0, 300.0)})
    text = "\n".join(_draw_bars(layout, shares))
    assert text.count("<g ") == text.count("</g>") == 3
    assert "<title>A: busy 30%, input stall 10%, output stall 5%, idle 55%</title>" in text
    numbers = re.findall(r'class="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', text)
    assert [state for state, *_place in numbers] == 3 * list(STATES)
    (first, second, third, last), bar = numbers[:4], WIDTH - 8
    assert float(first[1]) == 200 - bar / 2
    assert float(last[1]) + float(last[3]) == pytest.approx(200 + bar / 2, abs=0.01)
    assert [float(cells[3]) / bar for cells in (first, second, third)] == pytest.approx(
        [0.3, 0.1, 0.05], abs=1e-3
    )
    assert {float(cells[2]) for cells in numbers[:8]} != {float(numbers[8][2])}


def test_every_style_script_and_library_of_the_package_is_in_a_page_once() -> None:
    text, folder = page({"kind": "run"}, "A <title>"), files("fiberscope.page")
    for kind, names in (
        ("styles", STYLES),
        ("scripts", SCRIPTS),
        ("vendor", [n for row in LIBRARY for n in row]),
    ):
        kept = {
            file.name
            for file in folder.joinpath(kind).iterdir()
            if file.suffix in (".css", ".js", ".LICENSE")
        }
        assert kept == set(names)
        for name in kept:
            assert text.count(folder.joinpath(kind, name).read_text(encoding="utf-8")) == 1
    assert "<title>A &lt;title&gt;</title>" in text
