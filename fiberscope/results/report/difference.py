"""Differences between two runs, ranked by effect.

Every change has an effect from 0 to 1. For a count (cycles, operations, pJ, um2) the effect is the difference
over the larger count. For the traffic of a tensor it is the difference in bytes over the total bytes of the
run with more traffic. For a family of components it is the difference of the share of cycles in a state, for
memory the difference in utilization.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from fiberscope.results.report.components import STATES
from fiberscope.results.report.estimates import Significance, compare_cycles
from fiberscope.results.report.families import Family, group_families
from fiberscope.results.report.numbers import flatten_parameters
from fiberscope.results.report.parts import Conversion, Record, Source, TensorTraffic
from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "fiberscope-diff-1"
MAX_SHOWN = 20  # maximum of changes in a notebook

Unit = Literal["count", "bytes", "share"]


@dataclass(frozen=True)
class Setting:
    """An input that differs between the runs: a parameter, an operand or a module.

    Args:
        name: the dotted key of the parameter, or a description of the input.
        before, after: the value in each run; None if the run lacks the input.
    """

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Change:
    """A result that differs between the runs.

    Args:
        name: description of the result.
        unit: ``count``, ``bytes``, or ``share`` for a fraction from 0 to 1.
        before, after: the value in each run.
        effect: size of the difference, from 0 to 1, as defined at the top of this module.
    """

    name: str
    unit: Unit
    before: float
    after: float
    effect: float


@dataclass(frozen=True)
class Difference:
    """Differences of two runs.

    Args:
        provenance: differences of version, sources, operands, environment, and parts that the costs lack.
        settings: differences of settings, and of the machine, the fidelity and the ending.
        changes: differences of results by effect, equal effects in the order of the report.
        cycles: the significance of the difference in cycles; None if both runs are exact.
    """

    provenance: tuple[Setting, ...]
    settings: tuple[Setting, ...]
    changes: tuple[Change, ...]
    cycles: Significance | None = None

    def frame(self) -> pd.DataFrame:
        """Return a row for each change: ``name``, ``unit``, ``before``, ``after``, ``effect``.

        Different settings come first, with the unit ``setting`` and the effect NaN. Differences of
        ``provenance`` are left out.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd  # noqa: PLC0415  (an extra)

        settings = [{**asdict(setting), "unit": "setting", "effect": None} for setting in self.settings]
        rows = [*settings, *map(asdict, self.changes)]
        # of objects: counts stay integers, and settings keep their types
        frame = pd.DataFrame(rows, columns=["name", "unit", "before", "after", "effect"], dtype=object)
        return frame.astype({"effect": float})

    def _repr_html_(self) -> str:
        """Return the settings and the largest changes as HTML tables, for a notebook."""
        settings = Table("Settings", ("", "before", "after"))
        for setting in self.settings:
            settings.add(setting.name, str(setting.before), str(setting.after))
        changes = Table("What changed, by effect", ("", "before", "after"))
        for change in self.changes[:MAX_SHOWN]:
            digits = ".1%" if change.unit == "share" else ",.0f"
            changes.add(change.name, f"{change.before:{digits}}", f"{change.after:{digits}}")
        tables = [table.html() for table in (settings, changes) if table.rows]
        return "".join(tables) or "<p>Nothing changed.</p>"

    def to_json(self) -> str:
        """Return indented JSON with a final newline; ``cycles`` is omitted for two exact runs."""
        document = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps({"schema": SCHEMA, **document}, indent=2) + "\n"


def compare(before: Record, after: Record) -> Difference:
    """Compare two reports.

    The speed of the hosts is not compared. Components are not compared if one of the runs was sampled, nor
    energies and areas that are sums over different parts. Memory is compared if both reports have it. Equal
    values give no change.

    Args:
        before, after: the reports.
    """
    changes = [change for change in _iterate_changes(before, after) if change.before != change.after]
    # a stable sort: equal effects stay in the order of the report
    changes.sort(key=lambda change: -change.effect)
    provenance = _iterate_setting_differences(_list_provenance(before), _list_provenance(after))
    settings = _iterate_setting_differences(_list_settings(before), _list_settings(after))
    return Difference(tuple(provenance), tuple(settings), tuple(changes), compare_cycles(before, after))


def _iterate_setting_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Setting]:
    """Yield the inputs that differ, in the order of the first run, then those of the second run alone.

    A missing input equals a value of None.
    """
    for name in dict.fromkeys([*before, *after]):
        values = before.get(name), after.get(name)
        if values[0] != values[1]:
            yield Setting(name, *values)


def _list_provenance(report: Record) -> dict[str, Any]:
    """Return the version, sources, operands and environment of a run, and the parts its costs lack."""
    # ``b`` is None for a single operand, which a product uses twice
    b = report.workload.b
    return {
        "version": report.version,
        **_list_source(report.source),
        "A": f"{report.workload.label} ({report.workload.digest[:12]})",
        "B": f"{b.label} ({b.digest[:12]})" if b else "A",
        **{f"{operand.label} of more": operand.digest[:12] for operand in report.workload.more},
        **(report.environment.model_dump() if report.environment else {}),
        **({"energy without": ", ".join(report.energy.without)} if report.energy else {}),
        **({"area without": ", ".join(report.area.without)} if report.area else {}),
    }


def _list_source(source: Source | None) -> dict[str, Any]:
    if source is None:
        return {}
    modules = {f"source of {name}": digest for name, digest in source.modules.items()}
    return {"source": source.digest[:12], "path": source.path, "commit": source.commit, **modules}


def _list_settings(report: Record) -> dict[str, Any]:
    """Return what determines a run besides its sources and operands, and how it ended."""
    return {
        "accelerator": report.accelerator,
        "ending": report.ending,
        "fidelity": report.fidelity,
        **_list_sampling(report),
        **_list_problem(report),
        **{
            f"memory.format.{name}": conversion.source for name, conversion in _list_converted(report).items()
        },
        **flatten_parameters(report.config),
    }


def _list_sampling(report: Record) -> dict[str, Any]:
    """Return the sampling of a run; empty for a full run."""
    sampling = report.sampling
    # a run without an interval is exact
    if sampling is None or report.cycles_interval is None:
        return {}
    names = ("windows", "window_cycles", "seed")
    return {"complete": report.complete, **{f"sampling.{name}": getattr(sampling, name) for name in names}}


def _list_problem(report: Record) -> dict[str, Any]:
    if report.problem is None:
        return {}
    return {"problem.kind": report.problem.kind, **flatten_parameters(report.problem.parameters, "problem.")}


def _list_converted(report: Record) -> dict[str, Conversion]:
    """Return the operands that were converted before the run, by name."""
    return report.conversions.operands if report.conversions else {}


def _iterate_changes(before: Record, after: Record) -> Iterator[Change]:
    """Yield a change for each result that is compared, equal values included."""
    yield _count_change("cycles", before.cycles, after.cycles)
    for name in dict.fromkeys([*before.operations, *after.operations]):
        yield _count_change(
            f"operations {name}", before.operations.get(name, 0), after.operations.get(name, 0)
        )
    converted = [
        {name: conversion.cycles for name, conversion in _list_converted(run).items()}
        for run in (before, after)
    ]
    for name in dict.fromkeys([*converted[0], *converted[1]]):
        yield _count_change(f"conversion {name} cycles", converted[0].get(name, 0), converted[1].get(name, 0))
    yield from _iterate_traffic_changes(before, after)
    yield from _iterate_cost_changes(before, after)
    if before.memory and after.memory:
        yield _share_change("memory bandwidth used", before.memory.utilization, after.memory.utilization)
    if before.cycles_interval or after.cycles_interval:  # a sampled run has no components
        return
    families_before, families_after = group_families(before.components), group_families(after.components)
    for name in dict.fromkeys([*families_before, *families_after]):
        yield from _iterate_family_changes(name, families_before.get(name), families_after.get(name))


def _count_change(name: str, before: int, after: int) -> Change:
    return Change(name, "count", before, after, abs(after - before) / (max(before, after) or 1))


def _iterate_cost_changes(before: Record, after: Record) -> Iterator[Change]:
    """Yield the differences in energy and area, rounded to pJ and um2, if both runs lack the same parts."""
    # sums over different parts would differ for equal machines too
    if before.energy and after.energy and set(before.energy.without) == set(after.energy.without):
        yield _count_change("energy, pJ", round(before.energy.total_pj), round(after.energy.total_pj))
    if before.area and after.area and set(before.area.without) == set(after.area.without):
        yield _count_change("area, um2", round(before.area.known), round(after.area.known))


def _iterate_traffic_changes(before: Record, after: Record) -> Iterator[Change]:
    """Yield the differences in bytes by tensor and direction, with effects relative to the larger total."""
    counts = [
        {
            f"traffic {tensor} {verb}": count
            for tensor, tensor_traffic in _collect_traffic(report).items()
            for verb, count in (("read", tensor_traffic.read_bytes), ("written", tensor_traffic.write_bytes))
        }
        for report in (before, after)
    ]
    # over the total, not over the larger count: a tiny tensor that doubles is a small effect
    total_bytes = max(sum(numbers.values()) for numbers in counts) or 1
    for name in dict.fromkeys([*counts[0], *counts[1]]):
        first, second = counts[0].get(name, 0), counts[1].get(name, 0)
        yield Change(name, "bytes", first, second, abs(second - first) / total_bytes)


def _collect_traffic(report: Record) -> dict[str, TensorTraffic | Conversion]:
    """Return the traffic of the run's tensors and of the conversions before the run."""
    return {
        **report.traffic,
        **{f"conversion {name}": conversion for name, conversion in _list_converted(report).items()},
    }


def _iterate_family_changes(name: str, before: Family | None, after: Family | None) -> Iterator[Change]:
    """Yield the differences in the cycles of a family; a missing family has no cycles."""
    for state in STATES:
        shares = [kind.share(getattr(kind, state)) if kind else 0.0 for kind in (before, after)]
        yield _share_change(f"{name} {state}", *shares)


def _share_change(name: str, before: float, after: float) -> Change:
    # an effect is at most 1, even if a utilization is above 1
    return Change(name, "share", before, after, min(1.0, abs(after - before)))
