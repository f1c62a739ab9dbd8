"""A component that lacks a token waits for input on the page, whether its report says idle or waiting."""

import re
from pathlib import Path

import pytest

import fiberscope
from fiberscope.models.graphs import run
from fiberscope.models.graphs.compiler.compile import compile_expression
from fiberscope.page.run import AS_REPORTED, STARVED, run_data
from fiberscope.page.starved import mark_starved
from fiberscope.results.recording.document import ComponentStates, Domain, StateTimeline
from fiberscope.results.recording.files import StateFiles
from fiberscope.sim.names import family_name

SMALL = "uniform:rows=30,cols=30,nonzeros=150"
MACHINES = {
    "gamma": {"pe.count": 2, "pe.radix": 4},
    "outerspace": {"tile.count": 1, "l1.count": 1, "tile.pe": 4, "tile.merge_pe": 2},
    "sigma": {},
    "spec:gamma": {"pe.count": 2, "pe.radix": 4},
}


def recorded(
    name: str, folder: Path, window: tuple[int, int] | None = (0, 900)
) -> tuple[fiberscope.Report, StateTimeline]:
    file = folder / "states.json"
    files = StateFiles(timeline=file, window=window)
    if name == "graph":
        graph = compile_expression("x(i) = B(i,j) * c(j)", ["x:d,B:ds,c:d"]).graph
        report = run(graph, {"B": SMALL, "c": "ones"}, timeline=files)
    else:
        report = fiberscope.simulate(name, SMALL, settings=MACHINES[name], timeline=files)
    return report, StateTimeline.read(file)


def is_idle(part: ComponentStates, at: int) -> bool:
    return part.states.get("idle", [0] * (at + 1))[at] > 0


@pytest.mark.parametrize("name", [*MACHINES, "graph"])
def test_no_component_is_idle_behind_one_that_is_not(name: str, tmp_path: Path) -> None:
    _report, states = recorded(name, tmp_path)
    assert states.interval == 1
    shown = mark_starved(states)
    changed = 0
    for component, part in shown.components.items():
        before = states.components[component]
        writers = {writer for names in part.inputs.values() for writer in names} - {component}
        for at in range(states.intervals):
            spent = sum(cycles[at] for cycles in part.states.values())
            assert spent == sum(cycles[at] for cycles in before.states.values())
            if len({part.clock, *(shown.components[writer].clock for writer in writers)}) > 1:
                continue  # cycles of two clocks do not lie side by side
            changed += is_idle(before, at) and not is_idle(part, at)
            if is_idle(part, at):
                assert all(is_idle(shown.components[writer], at) for writer in writers)
    assert changed or name == "graph"  # whose blocks wait


def test_the_page_carries_the_starved_states(tmp_path: Path) -> None:
    report, states = recorded("graph", tmp_path)
    shown = run_data(report, states)["states"]["components"]
    assert shown == mark_starved(states).model_dump(mode="json", by_alias=True)["components"]


def test_a_multiplier_behind_a_stalled_merger_waits_as_the_accumulator_behind_it() -> None:
    """The merger waits for 6 of 10 cycles, then all rest; the accumulator waits, the multiplier is idle."""
    parts = {
        "merger": ComponentStates(clock="core", states={"wait:ways": [6], "idle": [4]}),
        "multiplier": ComponentStates(clock="core", states={"idle": [10]}, inputs={"operands": ("merger",)}),
        "accumulator": ComponentStates(
            clock="core",
            states={"wait:products": [5], "idle": [5]},
            waits_for={"wait:products": ("multiplier",)},
            inputs={"products": ("multiplier",)},
        ),
    }
    clocks = {"core": Domain(hertz="1000000000", base_ticks=1)}
    states = StateTimeline(start=0, end=10, interval=10, clocks=clocks, components=parts)
    shown = mark_starved(states).components
    assert shown["multiplier"].states == {"idle": [4], "wait:operands": [6]}
    assert shown["multiplier"].waits_for == {"wait:operands": ("merger",)}
    assert shown["accumulator"].states == {"wait:products": [6], "idle": [4]}
    assert shown["merger"] == parts["merger"]


def shares_drawn(svg: str) -> dict[str, tuple[float, ...]]:
    """The shares of busy, input stall, output stall and idle in the bar of each box."""
    titles = re.findall(
        r"<title>([^<:]+): busy (\d+)%, input stall (\d+)%, output stall (\d+)%, idle (\d+)%<", svg
    )
    return {name: tuple(int(share) / 100 for share in shares) for name, *shares in titles}


@pytest.mark.parametrize("name", [*MACHINES, "graph"])
def test_the_drawing_and_the_bars_show_the_states_of_the_chart(name: str, tmp_path: Path) -> None:
    report, states = recorded(name, tmp_path, None)
    data = run_data(report, states)
    shown = {
        component: [
            sum(sum(cycles) for state, cycles in part.states.items() if state.startswith(prefix))
            for prefix in ("busy", "wait:", "full:", "idle")
        ]
        for component, part in mark_starved(states).components.items()
    }
    kinds: dict[str, list[int]] = {}
    for component, cycles in shown.items():
        before = kinds.setdefault(family_name(component), [0] * 4)
        kinds[family_name(component)] = [sum(pair) for pair in zip(before, cycles, strict=True)]
    assert {component: cycles for component, _length, *cycles in data["components"]} == shown
    assert {kind: shares for kind, _count, *shares in data["families"]} == {
        kind: pytest.approx([part / sum(cycles) for part in cycles]) for kind, cycles in kinds.items()
    }
    drawn = shares_drawn(data["machine"])
    assert drawn
    boxes = {kind.replace(".", " "): cycles for kind, cycles in kinds.items()}
    for box in drawn.keys() & boxes.keys():
        cycles = boxes[box]
        assert drawn[box] == pytest.approx([part / sum(cycles) for part in cycles], abs=0.0051)
    assert data["states_note"] == STARVED
    assert run_data(report)["states_note"] == AS_REPORTED


def test_states_of_a_part_of_a_run_leave_the_bars_to_the_report(tmp_path: Path) -> None:
    report, states = recorded("gamma", tmp_path, (0, 50))
    data = run_data(report, states)
    assert (data["families"], data["machine"]) == tuple(
        run_data(report)[key] for key in ("families", "machine")
    )
    assert data["states_note"] == AS_REPORTED
