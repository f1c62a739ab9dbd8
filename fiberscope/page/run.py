"""What the page of a single run shows: its machine, where the cycles went, traffic, its course over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fiberscope.drawing.graph import Graph, box_names
from fiberscope.drawing.layout import HEIGHT, WIDTH, Layout, arranged
from fiberscope.drawing.machine import families_of
from fiberscope.drawing.svg import svg
from fiberscope.errors import InputError
from fiberscope.machines import find
from fiberscope.report.document import Report
from fiberscope.report.families import families
from fiberscope.report.parts import Component
from fiberscope.report.summary import verified
from fiberscope.states.document import StateTimeline

__all__ = ["run_data"]

STATES = ("busy", "input_stall", "output_stall", "idle")
BAR = 7  # pixels that a box's bar is high, at its foot
Shares = Mapping[str, tuple[float, ...]]


def run_data(report: Report, states: StateTimeline | None = None, title: str = "") -> dict[str, Any]:
    """The data of the page of a run.

    Args:
        report: of the run.
        states: what its components did over time.
        title: of the page; what ran on what by default.

    Raises:
        InputError: the states are another run's.
    """
    if states is not None:
        _check_same(report, states)
    drawing, undrawn = _drawing(report)
    return {
        "kind": "run",
        "title": title or f"{report.accelerator} on {report.workload.name}",
        "made_by": report.version,
        "facts": dict(_facts(report)),
        "bottleneck": report.bottleneck,
        "families": [
            [kind.name, kind.count, *(kind.share(getattr(kind, state)) for state in STATES)]
            for kind in families(report.components).values()
        ],
        "machine": drawing,
        "undrawn": undrawn,
        "traffic": [[name, one.read_bytes, one.write_bytes] for name, one in report.traffic.items()],
        "traffic_minimum": report.traffic_minimum_bytes if report.complete else None,
        "course": report.timeline.model_dump(mode="json") if report.timeline else None,
        "work": report.timeline.work[0] if report.timeline else "",
        "components": [
            [name, one.cycles, *(getattr(one, state) for state in STATES)]
            for name, one in report.components.items()
        ],
        "settings": dict(_flat(report.config)),
        "states": states.model_dump(mode="json", by_alias=True) if states else None,
    }


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    """What the run was and how it ended, by label."""
    operands = report.workload.operands
    yield "operands", "; ".join(f"{one.name}, {one.nonzeros:,} nonzeros ({one.source})" for one in operands)
    if report.problem:
        yield "problem", report.problem.title
    yield "cycles", f"{report.cycles:,}, {report.seconds:g} s"
    yield "ended", "done" if report.complete else f"INCOMPLETE: {report.ending}"
    yield "verified", verified(report)
    yield "operations", ", ".join(f"{count:,} {name}" for name, count in report.operations.items())
    yield "fidelity", report.fidelity
    yield "configuration", report.config_digest


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by dotted key, those that are not given left out."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is not None:
            yield prefix + key, value


def _check_same(report: Report, states: StateTimeline) -> None:
    """Refuse states of another run, as far as their sums and a report's can tell.

    Raises:
        InputError: naming a component that differs.
    """
    for name, component in report.components.items():
        told = states.components.get(name)
        spent = None if told is None else {key: sum(cycles) for key, cycles in told.states.items()}
        whole = states.start == 0 and states.end >= report.cycles
        if spent is None or (whole and spent.get("busy", 0) != component.busy):
            raise InputError(f"the timeline is not of this run: {name} differs from the report's")


def _drawing(report: Report) -> tuple[str, str]:
    """The machine as SVG with a bar a box of where its cycles went, and why there is none."""
    if not report.components:
        return "", f"A run of the {report.fidelity} model has no components."
    if report.problem is not None and report.problem.kind == "graph":
        return "", "A graph is drawn by `fiberscope graph draw`."
    try:
        graph = families_of(find(_machine(report)), dict(_flat(report.config)))
    except InputError as error:
        return "", f"The machine cannot be built here to be drawn: {error}"
    layout, shares = arranged(graph), _shares(graph, report.components)
    title = f"{report.accelerator}: its components and where their cycles went"
    return svg(graph, layout, title, list(_bars(layout, shares))), ""


def _machine(report: Report) -> str:
    """What to find the machine by: its file, if it was given by one."""
    return (report.source and report.source.path) or report.accelerator


def _shares(graph: Graph, components: Mapping[str, Component]) -> Shares:
    """The share of each state in the cycles of each box, of all families in it."""
    kinds = families(components)
    boxes = box_names(kinds)
    spent: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(STATES))
    for name, kind in kinds.items():
        spent[boxes[name]] = [
            before + getattr(kind, state) for before, state in zip(spent[boxes[name]], STATES, strict=True)
        ]
    return {
        box: tuple(cycles / (sum(spent[box]) or 1) for cycles in spent[box])
        for box in graph.boxes
        if box in spent
    }


def _bars(layout: Layout, shares: Shares) -> Iterator[str]:
    """At the foot of each box a bar of its states."""
    for name, parts in shares.items():
        x, y = layout.boxes[name]
        left, top = x - WIDTH / 2 + 4, y + HEIGHT / 2 - BAR - 3
        taken = dict(zip(STATES, parts, strict=True))
        words = ", ".join(f"{state.replace('_', ' ')} {share:.0%}" for state, share in taken.items())
        yield f"<g><title>{escape(name)}: {words}</title>"
        for state, share in taken.items():
            wide = share * (WIDTH - 8)
            yield f'<rect class="{state}" x="{left:g}" y="{top:g}" width="{wide:g}" height="{BAR}"/>'
            left += wide
        yield "</g>"
