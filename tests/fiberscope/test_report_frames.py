"""Components of a report by name and by family, as frames; pictures and differences of reports."""

import pickle

import pytest

import fiberscope
from fiberscope.results.report.components import STATES, Component, Components
from fiberscope.results.report.document import Report
from fiberscope.results.report.numbers import _list_cached
from fiberscope.results.report.parts import Cached, TensorTraffic

SMALL = "uniform:rows=40,cols=40,nonzeros=200"


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return [
        fiberscope.simulate("gamma", SMALL, settings={"pe.count": count, "pe.radix": 4}) for count in (2, 4)
    ]


def test_a_name_is_a_component_and_zeros_and_the_machine_may_be_left_out(reports: list[Report]) -> None:
    components = reports[0].components
    whole = components["gamma.pe01.merger"]
    assert components["gamma.pe1.merger"] == components["pe01.merger"] == components["pe1.merger"] == whole
    assert "pe.merger" not in components  # a family is looked up, and is no entry


def test_a_family_has_its_members_and_their_total(reports: list[Report]) -> None:
    components = reports[1].components
    family = components["pe.merger"]
    assert list(family) == [f"gamma.pe0{i}.merger" for i in range(4)]
    assert family == components.family("pe.merger")
    for state in ("cycles", *STATES):
        assert getattr(family.total, state) == sum(getattr(each, state) for each in family.values())
    merged = sum(each.counters["merged_elements"] for each in family.values())
    assert family.total.counters["merged_elements"] == merged > 0


def test_the_total_has_the_counters_of_every_component() -> None:
    counts = {"cycles": 4, "busy": 1, "input_stall": 1, "output_stall": 1, "idle": 1}
    parts = [{"read": 2}, {}, {"read": 3, "added": 5}]
    components = Components(
        {f"m.p{number}": Component(**counts, counters=counters) for number, counters in enumerate(parts)}
    )
    assert components.total.counters == {"read": 5, "added": 5}
    assert (components.total.cycles, Components().total.counters) == (12, {})


def test_traffic_behind_a_cache_is_that_of_all_tensors() -> None:
    moved = {
        "A": TensorTraffic(read_bytes=8, write_bytes=2),
        "B": TensorTraffic(read_bytes=30, write_bytes=0),
    }
    columns = _list_cached(Cached(traffic=moved, in_flight=0.5))
    assert columns == {"cached_traffic_bytes": 40, "cached_A_bytes": 10, "cached_B_bytes": 30}
    assert _list_cached(None) == {}


@pytest.mark.parametrize("name", ["pe.mergre", "pe9.merger", ""])
def test_a_name_of_neither_has_the_nearest(reports: list[Report], name: str) -> None:
    with pytest.raises(KeyError, match=r"no component or family is called.*(did you mean|it has)"):
        reports[0].components[name]


def test_a_frame_has_a_row_a_component_with_all_its_cycles(reports: list[Report]) -> None:
    report = reports[0]
    frame = report.frame()
    assert list(frame.index) == list(report.components)
    assert frame.columns[:6].tolist() == ["family", "cycles", *STATES]
    assert (frame[list(STATES)].sum(axis=1) == frame["cycles"]).all()
    mergers = frame[frame["family"] == "pe.merger"]["merged_elements"]
    assert mergers.tolist() == report.components["pe.merger"].frame()["merged_elements"].tolist()
    assert frame.loc["gamma.scheduler"].isna()["merged_elements"]  # another family's counter
    assert report.components["pe.merger"]._repr_html_().startswith("<table")


def test_components_survive_files_and_copies(reports: list[Report]) -> None:
    report = reports[0]
    for copy in (Report.parse(report.to_json(), "copy"), pickle.loads(pickle.dumps(report))):
        assert copy == report
        assert isinstance(copy.components, Components)
    assert Components().frame().empty


def test_a_plot_is_a_figure_that_a_notebook_shows(reports: list[Report], tmp_path) -> None:
    figure = reports[0].plot(tmp_path / "run.svg")
    assert figure._repr_png_().startswith(b"\x89PNG")
    fiberscope.plot(reports[0], tmp_path / "again.svg")
    assert (tmp_path / "run.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_a_difference_is_a_frame_and_a_table(reports: list[Report]) -> None:
    difference = reports[0].diff(reports[1])
    assert difference == fiberscope.diff(*reports)
    frame = difference.frame()
    assert frame.iloc[0][["name", "unit", "before", "after"]].tolist() == ["pe.count", "setting", 2, 4]
    cycles = frame[frame["name"] == "cycles"].iloc[0]
    assert (cycles["before"], cycles["after"]) == tuple(report.cycles for report in reports)
    assert "pe.count" in difference._repr_html_()
    assert "Nothing changed" in reports[0].diff(reports[0])._repr_html_()


def test_a_notebook_shows_a_summary_once(reports: list[Report], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook, a console of rich displays what it prints: texts and HTML would come twice."""
    displayed: list[object] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *parts: displayed.append(parts))
    assert "cycles" in reports[0]._repr_html_()
    assert "cycles" in str(reports[0])
    with fiberscope.debug("gamma", SMALL, settings={"pe.count": 2}) as session:
        shown = session.show("pe00.merger")
        assert "pe00.merger" in str(shown)
        assert "pe00.merger" in shown._repr_html_()
    assert displayed == []
