"""Data of the page of a single run: its machine, states, traffic, and activity over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.page.costs import costs
from fiberscope.page.drawing import STATES, draw_report, settings
from fiberscope.page.starved import mark_starved, mark_starved_totals
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.report.document import Report
from fiberscope.results.report.estimates import format_interval
from fiberscope.results.report.families import group_families
from fiberscope.results.report.parts import Component
from fiberscope.results.report.roofline import roofline
from fiberscope.results.report.summary import (
    describe_sampling,
    describe_unmoved,
    format_time,
    verification_line,
)
from fiberscope.results.report.surrogates import format_footnote

# Notes on the counts by component: with states of the whole run, and without.
STARVED = "An idle component counts as waiting for input while a component that writes to it is not idle."
AS_REPORTED = (
    "These are the report's counts: a component that lacks a token may count as idle. With a timeline of the "
    "whole run (--timeline of the run and of this page), such a component counts as waiting for input."
)


def run_data(
    report: Report, states: StateTimeline | None = None, title: str = "", run_sources: bool = False
) -> dict[str, Any]:
    """Return the data of the page of a run, which the scripts of the page read.

    Args:
        report: the report of the run.
        states: the recorded states; in them, idle cycles of starved components count as waits.
        title: the title of the page; machine and workload by default.
        run_sources: run the Python file that the report names, to draw a user's machine.

    Raises:
        InputError: the states belong to another run.
    """
    components: dict[str, Component] = report.components
    counting = AS_REPORTED
    if states is not None:
        _check_states(report, states)
        states = mark_starved(states)
        if _covers_run(report, states):  # totals of a part of the run would not be those of the report
            components, counting = mark_starved_totals(components, states), STARVED
    svg, undrawn = draw_report(report.model_copy(update={"components": components}), run_sources)
    return {
        "kind": "run",
        "title": title or f"{report.accelerator} on {report.workload.heading}",
        "notices": [footnote_text] if (footnote_text := format_footnote(report.workload.surrogates)) else [],
        "made_by": report.version,
        "facts": dict(_iterate_facts(report)),
        "bottleneck": report.bottleneck,
        "families": _list_families(components),
        "machine": svg,
        "undrawn": undrawn,
        "traffic": [
            [name, traffic.read_bytes, traffic.write_bytes] for name, traffic in report.traffic.items()
        ],
        "unmoved": describe_unmoved(report),
        "traffic_minimum": report.traffic_minimum_bytes if report.complete else None,
        "roofline": roofline(report),
        "costs": costs(report),
        "course": report.timeline.model_dump(mode="json") if report.timeline else None,
        "work": report.timeline.work[0] if report.timeline else "",
        "components": [
            [name, component.cycles, *(getattr(component, state) for state in STATES)]
            for name, component in components.items()
        ],
        "states_note": counting,
        "settings": settings(report),
        "config_digest": report.config_digest,
        "states": states.model_dump(mode="json", by_alias=True) if states else None,
    }


def _list_families(components: Mapping[str, Component]) -> list[list[object]]:
    """Return name, number and shares of states of each family."""
    return [
        [family.name, family.count, *(family.share(getattr(family, state)) for state in STATES)]
        for family in group_families(components).values()
    ]


def _iterate_facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield facts about the run and its end, by label."""
    operands = report.workload.operands
    yield (
        "operands",
        "; ".join(
            f"{operand.label}, {operand.nonzeros:,} nonzeros ({operand.source})" for operand in operands
        ),
    )
    if report.problem:
        yield "problem", report.problem.title
    yield "cycles", f"{report.cycles:,}{format_interval(report)}, {format_time(report.seconds)}"
    if report.sampling:
        yield "sampled", describe_sampling(report.sampling)
    yield "ended", "done" if report.complete else f"INCOMPLETE: {report.ending}"
    yield "verified", verification_line(report)
    yield "operations", ", ".join(f"{count:,} {name}" for name, count in report.operations.items())
    yield "fidelity", report.fidelity


def _covers_run(report: Report, states: StateTimeline) -> bool:
    """Return whether states cover every cycle of a run."""
    return states.start == 0 and states.end >= report.cycles


def _check_states(report: Report, states: StateTimeline) -> None:
    """Check that states belong to a report.

    Every component of the report must have states. If the states cover the whole run, its busy cycles must be
    equal too.

    Raises:
        InputError: they do not; the message names a component that differs.
    """
    covers_run = _covers_run(report, states)  # else the report can have more busy cycles
    for name, component in report.components.items():
        component_states = states.components.get(name)
        cycles_by_state = (
            None
            if component_states is None
            else {key: sum(cycles) for key, cycles in component_states.states.items()}
        )
        if cycles_by_state is None or (covers_run and cycles_by_state.get("busy", 0) != component.busy):
            raise InputError(f"the timeline is not of this run: {name} differs from the report's")
