"""Consecutive stages of a run: the longest stage, its cycles, and its components.

A stage is a part of the run with a name in ``stages`` of the report, such as an Einsum of a cascade.
"""

from __future__ import annotations

from fiberscope.results.report.parts import Component, Record


def find_longest(report: Record) -> str:
    """Return the name of the stage with most cycles; empty for a machine without stages."""
    return max(report.stages, key=report.stages.__getitem__, default="")


def count_cycles(report: Record, stage: str) -> int:
    """Return the cycles of a stage, or of the run if the name is empty.

    Raises:
        KeyError: the run has no such stage.
    """
    return report.stages[stage] if stage else report.cycles


def find_window(report: Record, stage: str) -> tuple[int, int]:
    """Return the first cycle of a stage, and the cycle after its last.

    Raises:
        ValueError: the run has no such stage.
    """
    names = list(report.stages)
    start = sum(report.stages[name] for name in names[: names.index(stage)])
    return start, start + report.stages[stage]


def list_components(report: Record, stage: str) -> dict[str, Component]:
    """Return the components whose scope is a stage; all components if the name of the stage is empty.

    Args:
        report: the report of the run.
        stage: the name of the stage, as in ``stages`` of the report.

    Returns:
        The components by instance name; empty if no component has the stage as its scope.
    """
    # In instance names, after the name of the machine, a stage is in lower case, and ``Z@2`` is ``z_2``.
    prefix = f"{stage.lower().replace('@', '_')}." if stage else ""
    components = report.components.items()
    return {name: part for name, part in components if name.partition(".")[2].startswith(prefix)}
