"""A run under a live view: its report, its counters, where it stops, and what it records."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope.models import graphs
from fiberscope.page.live import recordings
from fiberscope.page.live.run import LiveRun
from fiberscope.results.errors import DeadlockedRunError
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.recording.waveform import Waveform
from fiberscope.results.report.families import group_families
from fiberscope.run.request import GraphRequest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process")
ROOT = Path(__file__).parents[4]
MATRIX = "uniform:rows=30,cols=30,nonzeros=150,seed=3"
SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
TINY = {"pe.count": 2, "pe.radix": 4}
MACHINES = [("gamma", TINY), ("extensor", {}), ("sigma", {})]


class ScriptedView:
    """A view whose pages send these commands: the first at once, the others while the run is paused."""

    def __init__(self, *commands: Mapping[str, Any]) -> None:
        self._commands = list(commands)
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        self.viewers, self.is_lost = 1, False
        self.link, _ = recordings.get_context("fork").Pipe()

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        self.sent.append((event, data))

    def commands(self, _seconds: float = 0.0) -> Sequence[Mapping[str, Any]]:
        states = self.states()
        ready = self._commands and (not states or states[-1]["status"] == "paused")
        return [self._commands.pop(0)] if ready else []

    def states(self) -> list[Mapping[str, Any]]:
        return [data for event, data in self.sent if event == "state"]


PAUSE, CONTINUE, STOP = {"do": "pause"}, {"do": "continue"}, {"do": "stop"}


def step(cycles: int) -> dict[str, Any]:
    return {"do": "step", "cycles": cycles}


def shown(view: ScriptedView, machine: str, matrix: str = MATRIX, **options: Any) -> Any:
    """The report of a run under this view."""
    live = LiveRun(view)  # type: ignore[arg-type]
    try:
        return fiberscope.simulate(machine, matrix, drive=live.drive, **options)
    finally:
        live.close(quiet=True)


def without_host(report: Any) -> dict[str, Any]:
    return report.model_dump(mode="json", exclude={"host"})


@pytest.mark.parametrize(("machine", "settings"), MACHINES)
def test_the_report_and_the_counters_are_those_of_a_run_without(machine: str, settings: Any) -> None:
    view = ScriptedView(PAUSE, step(7), step(1), step(100), CONTINUE)
    report = shown(view, machine, settings=settings)
    assert without_host(report) == without_host(fiberscope.simulate(machine, MATRIX, settings=settings))
    paused = [state["cycle"] for state in view.states() if state["status"] == "paused"]
    assert list(dict.fromkeys(paused)) == [0, 7, 8, 108]
    last = view.states()[-1]
    names = view.sent[0][1]["families"]
    of_report = group_families(report.components)
    assert (last["status"], last["cycle"], names) == ("done", report.cycles, list(of_report))
    sums = [[kin.busy, kin.input_stall, kin.output_stall, kin.idle] for kin in of_report.values()]
    assert last["states"] == [cycles for four in sums for cycles in four]


def test_a_cycle_limit_ends_a_run_as_without() -> None:
    for view in (ScriptedView(), ScriptedView(PAUSE, step(10), CONTINUE)):
        options: dict[str, Any] = {"cycle_limit": 500, "settings": TINY}
        report = shown(view, "gamma", **options)
        assert without_host(report) == without_host(fiberscope.simulate("gamma", MATRIX, **options))
        assert view.states()[-1]["status"] == "cycle limit"


def test_a_chosen_component_comes_with_its_chain_of_waits() -> None:
    name = "gamma.pe00.reader"
    select = {"do": "select", "component": name}
    view = ScriptedView(PAUSE, {"do": "select", "component": "nobody"}, select, step(200), CONTINUE)
    shown(view, "gamma", settings=TINY)
    with fiberscope.debug("gamma", MATRIX, settings=TINY) as session:
        session.goto(200)
        chain = session.why(name).data
    told = next(state["selected"] for state in view.states() if state["cycle"] == 200)
    assert told["name"] == name
    assert [link[0] for link in told["chain"]] == [wait.component for wait in chain]
    assert told["chain"][0][1:] == [chain[0].text, chain[0].since]


def test_channels_and_waits_are_those_of_the_machine() -> None:
    cycles = range(40, 240, 40)
    view = ScriptedView(PAUSE, *(step(40) for _cycle in range(6)), CONTINUE)
    shown(view, "gamma", settings=TINY)
    states = {state["cycle"]: state for state in view.states()}
    partly = 0
    with fiberscope.debug("gamma", MATRIX, settings=TINY) as session:
        for cycle in cycles:
            session.goto(cycle)
            for name, _port, waited, _peers in states[cycle]["waits"]:
                assert waited == cycle - session.show(name).data.since
            for _family, members, full, held, capacity in states[cycle]["channels"]:
                assert full * (capacity // members) <= held <= capacity
                assert (full == members) == (held == capacity)
                partly += 0 < held < capacity // members
    assert partly


def test_a_block_of_a_graph_is_shown_with_its_mode() -> None:
    select = {"do": "select", "component": "graph.fiberlookup_B1_j"}
    view = ScriptedView(PAUSE, select, step(3), CONTINUE)
    live = LiveRun(view)  # type: ignore[arg-type]
    try:
        graphs.run(ROOT / "examples" / "graphs" / "fig14_identity.gv", {"B": MATRIX}, drive=live.drive)
    finally:
        live.close(quiet=True)
    shown_block = next(state["selected"] for state in view.states() if state["cycle"] == 3)
    assert shown_block["signals"]["mode"] == "in_fiber"


def test_each_phase_of_a_graph_is_shown() -> None:
    view = ScriptedView(PAUSE, step(3), CONTINUE)
    live = LiveRun(view)  # type: ignore[arg-type]
    graph = ROOT / "examples" / "graphs" / "fig11_unfused.gv"
    request = GraphRequest(
        graph, tensors={"B": "uniform:rows=9,cols=8,nonzeros=20", "C": "ones:shape=9x7", "D": "ones"}
    )
    try:
        report = request.run(**live.run_options(None, request.drive_options))
    finally:
        live.close(quiet=True)
    first, second = (data["components"] for event, data in view.sent if event == "machine")
    assert "graph.arrayvals_C" in first
    assert "graph.arrayvals_C" not in second
    assert "graph.arrayvals_T" in second  # what the first phase has written
    assert [state["status"] for state in view.states()].count("done") == 2
    assert without_host(report) == without_host(request.run())


def test_states_of_components_that_run_ahead_are_those_of_a_machine_in_step() -> None:
    view = ScriptedView(PAUSE, step(333), step(1), CONTINUE)
    shown(view, "gamma", settings=TINY)
    in_step = ScriptedView(PAUSE, step(333), step(1), CONTINUE)
    shown(in_step, "gamma", settings=TINY, histograms=True)
    for cycle in (333, 334):
        first, second = (
            next(state for state in one.states() if state["cycle"] == cycle) for one in (view, in_step)
        )
        assert first["states"] == second["states"]


@pytest.mark.parametrize(("machine", "settings"), MACHINES[:2])
def test_a_recorded_waveform_is_that_of_the_run(machine: str, settings: Any, here: Path) -> None:
    record = {"do": "record", "kind": "waveform"}
    view = ScriptedView(PAUSE, step(100), record, step(50), STOP, CONTINUE)
    shown(view, machine, settings=settings)
    (file,) = here.glob("*.vcd")
    assert file.name == f"{machine}-waveform-100.vcd"
    waveform = Waveform(here / "whole.vcd", window=(100, 150))
    fiberscope.simulate(machine, MATRIX, settings=settings, waveform=waveform)
    assert file.read_bytes() == (here / "whole.vcd").read_bytes()


def test_recordings_have_names_of_their_own_and_end_with_the_run(here: Path) -> None:
    (here / "gamma-timeline-50.json").write_text("mine")
    record = {"do": "record", "kind": "timeline"}
    view = ScriptedView(PAUSE, step(50), record, record, step(9), STOP, record, STOP, record, CONTINUE)
    report = shown(view, "gamma", settings=TINY)
    rows = view.sent[-1][1]["rows"]
    assert [row[1:] for row in rows] == [
        ["gamma-timeline-50-2.json", 50, 59, "written"],
        ["gamma-timeline-59.json", 59, 59, "no cycle recorded"],
        ["gamma-timeline-59-2.json", 59, report.cycles, "written"],
    ]
    assert (here / "gamma-timeline-50.json").read_text() == "mine"
    states = StateTimeline.read(here / "gamma-timeline-59-2.json")
    assert (states.start, states.end) == (59, report.cycles)


def test_a_deadlock_names_its_components_and_a_recording_of_it_is_written(toy: str, here: Path) -> None:
    view = ScriptedView({"do": "record", "kind": "waveform"})
    with pytest.raises(DeadlockedRunError):
        shown(view, toy, SMALL, settings={"fault": "deadlock"})
    (lines,) = (data["lines"] for event, data in view.sent if event == "deadlock")
    assert lines[0].startswith("deadlock at cycle")
    assert any("waits for" in line for line in lines)
    assert view.states()[-1]["status"] == "deadlock"
    assert list(here.glob("toy-waveform-0.vcd"))


class DrawnView(ScriptedView):
    """A view whose page lets the run go on when it has the drawing."""

    def commands(self, _seconds: float = 0.0) -> Sequence[Mapping[str, Any]]:
        drawn = any(event == "drawing" for event, _data in self.sent)
        return [CONTINUE] if drawn else [PAUSE]


def test_the_drawing_has_a_box_with_a_bar_for_each_family() -> None:
    view = DrawnView()
    shown(view, "gamma", SMALL, settings=TINY)
    (drawing,) = (data for event, data in view.sent if event == "drawing")
    assert list(drawing["boxes"]) == view.sent[0][1]["families"]
    for box in drawing["boxes"].values():
        assert f'<g data-box="{box}">' in drawing["svg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory-trace", "m.trace"], "--live: not with --memory-trace, which one process writes; "),
        (["--sample"], "--live needs a whole run, but --sample runs windows; leave one out"),
    ],
)
def test_what_cannot_be_shown_is_refused(options: list[str], message: str, here: Path, refusal) -> None:
    error = refusal("sim", "gamma", MATRIX, "--live", *options)
    assert error.splitlines()[-1].startswith(f"fiberscope: {message}")
