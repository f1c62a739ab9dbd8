"""The debugger on every machine: a cycle looks the same however it is reached, and so does the report."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from machine_case import cases

import fiberscope
from fiberscope.accelerators.testing import MachineCase
from fiberscope.base.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process")
CASES = cases()
ROOT = Path(__file__).parents[2]
GRAPH = str(ROOT / "examples" / "graphs" / "fig14_identity.gv")
UNFUSED = str(ROOT / "examples" / "graphs" / "fig11_unfused.gv")  # runs in two phases
UNFUSED_TENSORS = {"B": "uniform:rows=9,cols=8,nonzeros=20", "C": "ones:shape=9x7", "D": "ones"}


def requested(case: MachineCase, variant: str = "") -> dict:
    """The settings of a make of a machine, by default the first, with the DRAM model if it has a memory."""
    problem = {f"problem.{name}": value for name, value in (case.problem or {}).items()}
    memory = {"memory.model": "dram"} if "memory" in case.kind.configuration.model_fields else {}
    return {"settings": {**case.variants[variant or next(iter(case.variants))], **problem, **memory}}


def comparable(report) -> str:
    document = json.loads(report.to_json())
    del document["host"]
    return json.dumps(document)


def looks(session) -> tuple[str, ...]:
    """All that can be looked at without a name."""
    name = session.names().components[-1]
    everything = session.show("*").data
    chains = [str(session.why(one.name)) for one in everything[:8]]
    return (str(session.show(name)), repr(everything), *chains)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("matraptor", "outerspace") else ())
        for name in CASES
    ],
)
def test_a_cycle_looks_the_same_however_it_is_reached_and_the_report_is_that_of_simulate(name):
    case = CASES[name]
    operands, options = case.operands(), requested(case, "tiny")
    expected = fiberscope.simulate(case.accelerator, *operands, **options)
    middle = expected.cycles // 2
    with fiberscope.debug(case.accelerator, *operands, **options) as session:
        session.run(middle)
        straight = looks(session)
        session.step(3)
        session.back(3)
        assert looks(session) == straight
        session.run()
        end = looks(session)
        session.goto(middle)
        assert looks(session) == straight
        session.goto(0)
        while session.cycle < middle:
            session.step(max(1, middle // 3) if middle - session.cycle > middle // 3 else 1)
        assert looks(session) == straight
        session.run()
        assert looks(session) == end
        assert comparable(session.report()) == comparable(expected)


@pytest.mark.parametrize(
    ("machine", "tensors"),
    [
        (GRAPH, {"tensors": {"B": "uniform:rows=30,cols=30,nonzeros=90"}}),
        (UNFUSED, {"tensors": UNFUSED_TENSORS}),
        ("convert csr csc", {"a": "uniform:rows=30,cols=30,nonzeros=90"}),
        (
            "spec:gamma",
            {"a": "uniform:rows=30,cols=30,nonzeros=90", "b": "uniform:rows=30,cols=30,nonzeros=90"},
        ),
    ],
)
def test_graphs_conversions_and_specifications_are_debugged_too(machine, tensors):
    with fiberscope.debug(machine, **tensors) as session:
        session.run(20)
        straight = looks(session)
        session.step(30)
        session.goto(20)
        assert looks(session) == straight
        session.run()
        report = session.report()
    assert report.complete
    assert report.verification.passed
    if machine.endswith(".gv"):
        assert comparable(report) == comparable(fiberscope.graph(machine, tensors["tensors"]))


CONDITIONS = (
    "cycle >= 150",
    "pe00.merger input_stall > 40",
    "pe*.merger merged_elements >= 2",
    "pe00.merger.phase == merging",
    "pe00.writer.elements >= 2 or pe01.writer.elements >= 2",
    "pe00.merger.merged has coordinate == 0",
    "pe00.merger.state == busy and cycle > 265",
)


def gamma_session(**options):
    case = CASES["gamma"]
    return fiberscope.debug(case.accelerator, *case.operands(), **requested(case), **options)


def test_until_stops_in_the_first_cycle_in_which_a_condition_holds():
    stops = {}
    for condition in CONDITIONS:
        with gamma_session() as session:
            session.until(condition)
            stops[condition] = session.cycle
    with gamma_session() as stepping:
        for condition in CONDITIONS:
            stepping.watch(condition)
        first: dict[str, int] = {}
        for _ in range(max(stops.values()) + 1):
            shown = str(stepping.info()).splitlines()
            for condition in CONDITIONS:
                if f"{condition}: yes" in shown:
                    first.setdefault(condition, stepping.cycle)
            stepping.step(1)
    assert first == stops


def test_a_breakpoint_fires_when_its_condition_begins_to_hold():
    with gamma_session() as session:
        session.add_break("pe00.merger.state == busy")
        cycles = []
        while len(cycles) < 12 and session.run().data.reason == "break":
            cycles.append(session.cycle)
            assert session.show("pe00.merger").data.state == "busy"
            session.back()
            assert session.show("pe00.merger").data.state != "busy"
            session.goto(cycles[-1])
        assert len(cycles) > 3
        assert cycles == sorted(set(cycles))


def test_snapshots_are_few_and_denser_near_the_present_cycle():
    with gamma_session(snapshots=5) as session:
        for _ in range(20):
            session.step(40)
        kept = list(session._snapshots)
        assert len(kept) == 6
        assert kept[0] == 0
        gaps = [after - before for before, after in pairwise(kept)]
        assert gaps[-1] < gaps[0]


def test_a_cycle_gone_to_keeps_a_snapshot_from_which_later_cycles_are_reached():
    with gamma_session(snapshots=3) as session:
        session.goto(330)
        for _ in range(20):
            session.step(40)
        assert 330 in session._snapshots
        starts = []
        session.followers.append(lambda stop, is_running: is_running and starts.append(stop.cycle))
        session.goto(340)
        assert starts == [330]


def test_snapshots_are_dense_where_the_session_went_back_to():
    with gamma_session(snapshots=6) as session:
        for _ in range(20):
            session.step(40)
        session.goto(200)
        for _ in range(4):
            session.step(35)
        session.goto(800)
        near = [cycle for cycle in session._snapshots if 100 <= cycle <= 360]
        assert len(near) >= 2


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system says no memory")
def test_snapshots_are_dropped_above_their_memory():
    with gamma_session() as session:
        for _ in range(10):
            session.step(40)
        assert len(session._snapshots) > 5
        assert session._measure_snapshots() > 0
    with gamma_session(snapshot_memory=1) as session:
        for _ in range(4):
            session.step(40)
        assert list(session._snapshots) == [0]
        session.back(100)
        assert session.cycle == 60


def test_chains_of_waits_follow_requests_to_the_memory():
    with gamma_session() as session:
        places = set()
        for cycle in range(40, 400, 20):
            session.goto(cycle)
            for one in session.show("*").data:
                chain = session.why(one.name).data
                assert chain[0].component == one.name
                assert chain[-1].peer == ""
                places.update(link.component for link in chain if "has it" in link.text)
        assert any(".memory." in place for place in places)
        assert any(".fibercache." in place for place in places)


def test_a_waveform_and_a_timeline_are_written_from_here_on_and_the_machine_stays(tmp_path):
    with gamma_session() as session:
        session.run(100)
        before = looks(session)
        assert "cycles 100 to 130" in str(session.wave(tmp_path / "out.vcd", 30))
        assert "cycles 100 to 130" in str(session.timeline(tmp_path / "out.json", 30))
        for record in (session.wave, session.timeline):
            with pytest.raises(InputError, match="0 cycles: at least 1"):
                record(tmp_path / "none", 0)
        assert not (tmp_path / "none").exists()
        assert looks(session) == before
        assert "#" in (tmp_path / "out.vcd").read_text()
        document = json.loads((tmp_path / "out.json").read_text())
        assert (document["start"], document["end"]) == (100, 130)


def test_a_deadlock_is_looked_at_and_left_backwards():
    from fiberscope.results.errors import DeadlockedRunError
    from fiberscope.sim import Component

    class Stuck(Component):
        """A merger that never takes a token."""

        PORTS = CASES["gamma"].kind.parts["merger"].PORTS
        COUNTERS = ("merges", "merged_elements")

        def __init__(self, name, *_arguments, **_options):
            super().__init__(name)
            self.merges = self.merged_elements = 0

        def tick(self, _now):
            return self.idle()

    with gamma_session(parts={"merger": Stuck}) as session:
        assert session.run().data.reason == "deadlock"
        end = session.cycle
        assert "waits for space" in str(session.why("pe00.reader"))
        session.back(10)
        assert session.cycle == end - 10
        session.run()
        with pytest.raises(DeadlockedRunError) as raised:
            session.report()
        assert not raised.value.report.complete


def test_what_cannot_be_simulated_is_raised_at_the_start():
    with pytest.raises(fiberscope.ConfigurationError, match=r"pe\.coun"):
        fiberscope.debug("gamma", "uniform:rows=9,cols=9,nonzeros=9", settings={"pe.coun": 3})


def test_ctrl_c_while_a_copy_is_made_reaches_no_other_process():
    with gamma_session() as session:
        session.run(50)
        session._live.__class__(session._live.connection, 0).interrupt()  # of which no process is known yet
        assert session.step(5).data.cycle == 55


@pytest.fixture
def phases():
    """A session of a graph of two phases, and the cycle in which the second one begins."""
    with fiberscope.debug(UNFUSED, tensors=UNFUSED_TENSORS) as session:
        session.until("arrayvals_T state == busy or cycle >= 10000")
        first = session.show("arrayvals_T").data
        border = first.cycle - sum(first.accounts.values())
        session.goto(0)
        yield session, border


def test_one_session_goes_over_all_phases_of_a_graph_and_back(phases):
    session, border = phases
    assert str(session.info()).startswith("cycle 0, phase 1 of 2\n")
    assert str(session.goto(border)) == f"cycle {border}, phase 1 of 2"
    assert not session.stop.ended
    assert session.show("arrayvals_C").data
    assert str(session.step()) == f"cycle {border + 1}, phase 2 of 2"
    assert session.show("arrayvals_T").data.cycle == border + 1
    assert session.show("arrayvals_T").data.since >= border
    assert all(wait.since >= border for wait in session.why("arrayvals_T").data)
    assert str(session.back()) == f"cycle {border}, phase 1 of 2"
    assert str(session.until(f"cycle >= {border + 5}")).startswith(f"cycle {border + 5}, phase 2 of 2: ")
    assert all(arrival >= border for arrival, _words in session.queue("fiberlookup_T0_i.in_ref").data.tokens)
    assert str(session.run()).endswith(", phase 2 of 2: the run is done")
    assert session.stop.ended


def test_a_breakpoint_on_a_block_of_another_phase_waits_for_that_phase(phases):
    session, border = phases
    session.add_break("arrayvals_T loads >= 2")
    session.add_break("arrayvals_C loads >= 2")
    session.watch("arrayvals_T loads")
    assert "not in phase 1" in str(session.run())
    assert (session.stop.number, session.cycle < border) == (2, True)
    session.run()
    assert (session.stop.number, session.cycle > border) == (1, True)
    for condition in ("arrayvals_T loads > 1", "arrayvals_T loads>1"):
        assert str(session.watch(condition)) == f"{condition}: yes"
    for verb in (session.add_break, session.until):
        with pytest.raises(InputError, match="no component matches the scope arrayvals_Q"):
            verb("arrayvals_Q busy > 3")
    with pytest.raises(InputError, match="no component matches the scope arrayvals_C"):
        session.until("arrayvals_C busy > 3")  # of a phase that is past


def test_recordings_end_with_the_phase_and_an_early_report_is_incomplete(phases, tmp_path):
    session, border = phases
    session.run(border - 5)
    assert str(session.timeline(tmp_path / "states.json")).endswith(f"cycles {border - 5:,} to {border:,}")
    session.step(20)
    report = session.report()
    assert not report.complete
    assert {name.split(".")[1] for name in report.components} == {"phase1", "phase2"}
