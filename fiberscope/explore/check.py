"""Cross-check of the event and trace models: equal counts, traffic, and the lower bound of the time.

The *ladder* of a machine, in its ``check.yaml``, lists causes of lost cycles. Each *rung* removes one more.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.problem_settings import configure
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.explore import stages, tables
from fiberscope.explore.analytical_comparison import AnalyticalEstimate, estimate_analytically
from fiberscope.explore.stall_attribution import Group, attribute_stalls, cut_window, describe_idle
from fiberscope.explore.tables import read_table
from fiberscope.models import from_spec
from fiberscope.models.from_spec.settings import is_own
from fiberscope.models.from_spec.units import list_units_on_lanes, shared_units
from fiberscope.models.trace.api import load_outline, model
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.recording.files import KeptStates, StateFiles
from fiberscope.results.report.document import Report
from fiberscope.results.report.families import choose_pacing_family, list_members
from fiberscope.run.find_machine import find, find_specification
from fiberscope.run.machine_names import MachineName
from fiberscope.sim.names import family_name

if TYPE_CHECKING:
    import pandas as pd

    from fiberscope.accelerators.composition import PartFactory

# Type of a function that runs with changed settings and records states into optional files.
_Runner = Callable[[Mapping[str, object], StateFiles | None], Report]
FILE = "check.yaml"
SPECIFICATION_FOLDER = Path(from_spec.__file__).parent
# Reasons for which the counts of the two models may differ.
ZERO_SUMS = "partial sums of 0, to which the trace counts no addition"
LINE_SIZES = "lines of other bytes; instances that fetch for themselves"
# Why a component of the trace, by its class, may take more steps than the component of the machine.
STEP_REASONS = {
    "Merger": "the trace counts a step for each list too",
    "Sequencer": "a cut deals one task a cycle",
    "DRAM": "the trace's lines are other bytes",
    "Cache": "its banks are as many as its instances ask for",
    "Buffet": "it is beside the block that it serves, an element a cycle",
}


class _Rule(BaseModel):
    """A line of ``check.yaml``: two sums that must be equal, or a reason why they may differ."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    tensor: str = ""
    event: tuple[str, ...]
    trace: tuple[str, ...]
    reason: str = Field("", alias="unless")


class _Rung(BaseModel):
    """A cause of lost cycles in a machine, and the settings that remove the cause."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: str
    settings: dict[str, str | int]


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    counts: tuple[_Rule, ...]
    traffic: tuple[_Rule, ...]
    designs: dict[str, str] = {}  # specification by the parameter ``design``
    # Components that take longer in the trace than in the machine, with reasons.
    excluded: dict[str, str] = Field({}, alias="beyond")
    ladder: tuple[_Rung, ...] = ()  # cumulative
    # The families that may bound each phase; by default the workers of the longest stage.
    phases: tuple[tuple[str, ...], ...] = ()
    # Families that may be busy while the busiest worker is not.
    background: tuple[Group, ...] = Field((), alias="meanwhile")


@dataclass(frozen=True)
class Comparison:
    """A comparison of a count, or of the bytes of a tensor.

    Args:
        name: the name of the counted action.
        event, trace: the counts of the two models.
        reason: why the counts may differ; empty if they must be equal.
    """

    name: str
    event: int
    trace: int
    reason: str

    @property
    def is_accepted(self) -> bool:
        """Return whether the counts are equal, or may differ."""
        return self.event == self.trace or bool(self.reason)

    def document(self) -> dict[str, object]:
        """Return the comparison as plain data."""
        return {"name": self.name, "event": self.event, "trace": self.trace, "unless": self.reason}


@dataclass(frozen=True)
class Check:
    """Comparison of an event run with a trace run.

    Args:
        event, trace: the reports.
        counts, traffic: the comparisons.
        bound: the lower bound of the time in seconds, by the trace, without the ``excluded`` components.
        excluded: components that the bound excludes, with reasons why they take longer than the machine's.
        analytical: the analytical estimate; None for a machine without loop nests.
        parts: cycles of the machine or of its longest stage by cause, which sum to the total; empty unless
            requested.
    """

    event: Report
    trace: Report
    counts: tuple[Comparison, ...]
    traffic: tuple[Comparison, ...]
    bound: float
    excluded: Mapping[str, str]
    analytical: AnalyticalEstimate | None
    parts: Mapping[str, int]

    @property
    def longest(self) -> str:
        """Return the name of the stage with most cycles; empty for a machine without stages."""
        return stages.find_longest(self.event)

    @property
    def bound_holds(self) -> bool:
        """Return whether the machine takes at least the lower bound."""
        return self.event.seconds >= self.bound

    @property
    def is_consistent(self) -> bool:
        """Return whether the bound holds and all counts are accepted; traffic may differ."""
        return self.bound_holds and all(row.is_accepted for row in self.counts)

    def frame(self) -> pd.DataFrame:
        """Return a row for each comparison: ``kind``, ``name``, ``event``, ``trace``, ``unless``.

        The kind is ``count`` or ``bytes``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd  # noqa: PLC0415  (an extra)

        rows = [("count", row) for row in self.counts] + [("bytes", row) for row in self.traffic]
        return pd.DataFrame([{"kind": kind, **row.document()} for kind, row in rows])

    def document(self) -> dict[str, object]:
        """Return the comparison and the attribution of cycles as plain data; times are in seconds."""
        comparison = self.analytical
        return {
            "accelerator": self.event.accelerator,
            "source_digest": self.event.source and self.event.source.digest,
            "right": self.is_consistent,
            "cycles": self.event.cycles,
            "seconds": self.event.seconds,
            "bound_seconds": self.bound,
            "beyond": dict(self.excluded),
            "counts": [row.document() for row in self.counts],
            "traffic_bytes": [row.document() for row in self.traffic],
            "analytical": comparison
            and {**asdict(comparison), "cycles": comparison.cycles, "limits": comparison.limits},
            "stages": dict(self.event.stages),
            "parts": dict(self.parts),
        }


def check(
    accelerator: MachineName | str,
    a: object = None,
    b: object = None,
    *,
    tensors: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    exact: bool = False,
    parts: Mapping[str, PartFactory] | None = None,
    explain: bool = False,
    progress: Progress | bool | None = None,
) -> Check:
    """Run a problem on a machine and on its specification, and compare both.

    Args:
        accelerator, a, b, tensors, settings, exact, parts, progress: as for ``simulate``.
        explain: attribute the cycles by a further run for each rung of the machine's ladder, or by one run.

    Raises:
        InputError: the accelerator has no rules of comparison, or no specification of this design.
        KeyboardInterrupt: a run was interrupted. The errors of ``simulate`` and ``model`` are raised too.
    """
    kind, spec = find(accelerator), find_specification(accelerator)
    rules = _read_rules((SPECIFICATION_FOLDER if spec else kind.folder) / FILE, accelerator)
    specification = spec or _select_specification(accelerator, kind, rules, settings or {})
    options: dict[str, Any] = {"tensors": tensors, "settings": settings, "exact": exact, "progress": progress}
    event = tables.simulate_to_end(accelerator, a, b, **options, parts=parts)
    factors = [factor for factor in (a, b) if factor is not None]
    machine_keys = {key for key in settings or {} if spec and is_own(key, kind.configuration)}
    trace_settings = {key: value for key, value in (settings or {}).items() if key not in machine_keys}
    trace = refuse_interrupted(model(specification, *factors, **{**options, "settings": trace_settings}))
    excluded = rules.excluded | (_find_other_steps(specification, trace_settings, event) if spec else {})

    def run(changed: Mapping[str, object], states: StateFiles | None) -> Report:
        changed_options = {"settings": {**(settings or {}), **changed}, "timeline": states, "parts": parts}
        return tables.simulate_to_end(accelerator, a, b, **(options | changed_options))

    event_bytes, trace_bytes = _collect_bytes(event), _collect_bytes(trace)
    phases = rules.phases or (_list_worker_families(kind, event),)
    traffic = [_Rule(tensor=name, event=(name,), trace=(name,), unless=LINE_SIZES) for name in event.traffic]
    return Check(
        event,
        trace,
        tuple(_compare_count(rule, event, trace) for rule in rules.counts),
        tuple(_compare(rule, event_bytes, trace_bytes) for rule in (traffic if spec else rules.traffic)),
        _bound_seconds(trace, excluded),
        excluded,
        None if spec else estimate_analytically(accelerator, kind.folder, event, trace),
        _attribute(event, phases, rules, run) if explain else {},
    )


def read_ladder(accelerator: str) -> dict[str, dict[str, str | int]]:
    """Return the settings that each rung of a machine's ladder adds to those of the rungs before, by part.

    Raises:
        ConfigurationError, InputError: there is no such machine, or it has no valid file of rules.
    """
    rules = _read_rules(find(accelerator).folder / FILE, accelerator)
    return {rung.part: rung.settings for rung in rules.ladder}


def _list_worker_families(kind: Accelerator[Any], event: Report) -> tuple[str, ...]:
    """Return the working families of each stage."""
    kinds = {family_name(name) for name in event.components}
    return tuple(choose_pacing_family(name, kinds) for name in kind.worker_families)


def _find_other_steps(specification: str, settings: Mapping[str, object], event: Report) -> dict[str, str]:
    """Return the components of a specification whose steps differ from those of the trace, with reasons."""
    spec = load_outline(specification, settings)
    steps = {
        component.name: STEP_REASONS[component.kind]
        for configuration in spec.configurations.values()
        for component in configuration.components.values()
        if component.kind in STEP_REASONS
    }
    steps |= dict.fromkeys(list_units_on_lanes(spec, event.config["timing"]["lanes"]), "it has lanes")
    return steps | dict.fromkeys(shared_units(spec), "an instance has one for each of an Einsum's operations")


def _attribute(event: Report, phases: Sequence[Sequence[str]], rules: _Rules, run: _Runner) -> dict[str, int]:
    """Attribute a run's cycles to the rungs that save them, and the rest to components of the last run."""
    groups, stage = [group.kinds for group in rules.background], stages.find_longest(event)
    states = KeptStates(families={family for kinds in (*phases, *groups) for family in kinds})
    saved, last_run = _run_ladder(event, rules.ladder, run, states, stage)
    timeline = cut_window(states.kept[0], *stages.find_window(last_run, stage)) if stage else states.kept[0]
    return {**_split_cycles(phases, last_run, timeline, rules.background, stage), **saved}


def _run_ladder(
    event: Report, ladder: Sequence[_Rung], run: _Runner, states: StateFiles, stage: str = ""
) -> tuple[dict[str, int], Report]:
    """Return the cycles that each rung saves (negative: costs), and the report of the run with all rungs.

    Args:
        event, ladder, run, states: the first report, the rungs, the run function, and the recorder of the
            last run.
        stage: the stage to count; empty for the whole run.
    """
    if not ladder:
        return {}, run({}, states)
    saved: dict[str, int] = {}
    settings: dict[str, object] = {}
    for rung in ladder:
        settings |= rung.settings  # cumulative: a rung keeps the settings of the rungs before
        next_run = run(settings, states if rung is ladder[-1] else None)
        saved[rung.part] = stages.count_cycles(event, stage) - stages.count_cycles(next_run, stage)
        event = next_run
    return saved, event


def _split_cycles(
    phases: Sequence[Sequence[str]],
    last_run: Report,
    timeline: StateTimeline,
    groups: Sequence[Group],
    stage: str = "",
) -> dict[str, int]:
    """Divide the cycles of a run among its parts, in integers that sum to the total.

    Args:
        phases: for each phase the families that may bound it; the family with the busiest member is used.
        last_run: the report of the run.
        timeline: the recorded states of the run.
        groups: families that may be busy while the busiest worker is not.
        stage: the stage to divide; empty for the whole run.
    """
    cycles_by_cause: dict[str, int] = {}
    workers: list[str] = []
    stage_components = stages.list_components(last_run, stage)
    for phase in phases:
        worker = max(_select_families(phase, stage_components), key=lambda name: stage_components[name].busy)
        family, longest = family_name(worker), stage_components[worker].busy
        instances = list_members(family, stage_components)
        mean = sum(instance.busy for instance in instances) // len(instances)  # the rest is imbalance
        cycles_by_cause[f"{family} works, on average"] = mean
        cycles_by_cause[f"and the busiest {family} works longer: imbalance"] = longest - mean
        workers.append(worker)
    cycles_by_cause |= attribute_stalls(timeline, workers, groups)
    unexplained = stages.count_cycles(last_run, stage) - sum(cycles_by_cause.values())
    return {**cycles_by_cause, f"{describe_idle(workers)}: unexplained": unexplained}


def _select_families(families: Container[str], components: Iterable[str]) -> list[str]:
    return [name for name in components if family_name(name) in families]


def _select_specification(
    accelerator: str, descriptor: Accelerator[Any], rules: _Rules, settings: Mapping[str, object]
) -> str:
    """Return the specification of the configured design."""
    if not rules.designs:
        return accelerator
    design = str(getattr(configure(descriptor, None, settings)[0], "design", ""))
    if design not in rules.designs:
        designs = " and ".join(rules.designs)
        raise InputError(
            f"{descriptor.name} has no specification of the design {design}; it has those of {designs}"
        )
    return rules.designs[design]


def _bound_seconds(trace: Report, excluded: Container[str]) -> float:
    """Return the sum over blocks of the longest component time in seconds, without excluded components."""
    assert trace.teaal is not None
    seconds, einsums = 0.0, trace.teaal.by_einsum
    for block in trace.teaal.metrics["blocks"]:
        times: dict[str, float] = {}
        for component, metrics in [item for name in block for item in einsums[name].items()]:
            if component not in excluded:
                times[component] = times.get(component, 0.0) + metrics["time"]
        seconds += max(times.values(), default=0.0)
    return seconds


def _read_rules(path: Path, accelerator: str) -> _Rules:
    if not path.is_file():
        raise InputError(f"{accelerator} has no {FILE} that says what its two models should agree on")
    return read_table(path, _Rules, accelerator)


def _compare(rule: _Rule, event: Mapping[str, int], trace: Mapping[str, int]) -> Comparison:
    sums = _sum_counts(rule.event, event), _sum_counts(rule.trace, trace)
    return Comparison(rule.name or rule.tensor, *sums, rule.reason)


def _compare_count(rule: _Rule, event: Report, trace: Report) -> Comparison:
    """Compare a count; additions beyond those of the trace are explained, up to its number of zero sums."""
    assert trace.teaal is not None
    row = _compare(rule, event.operations, _collect_counts(trace))
    difference = row.event - row.trace
    is_explained = not row.reason and "add" in rule.trace and 0 < difference <= trace.teaal.zero_sums
    return replace(row, reason=ZERO_SUMS) if is_explained else row


def _sum_counts(names: Sequence[str], counts: Mapping[str, int]) -> int:
    return sum(counts.get(name, 0) for name in names)


def _collect_counts(trace: Report) -> dict[str, int]:
    """Return operations by name, elements by Einsum, loop bodies by Einsum and rank, and rounds."""
    assert trace.teaal is not None
    bodies: Mapping[str, Mapping[str, Any]] = trace.teaal.bodies
    loops = {f"{name}.{rank}": count for name, counts in bodies.items() for rank, count in counts.items()}
    return {**trace.operations, **trace.teaal.elements, **loops, "rounds": trace.teaal.rounds}


def _collect_bytes(report: Report) -> dict[str, int]:
    return {name: traffic.moved_bytes for name, traffic in report.traffic.items()}
