"""The same problem by components and by loops: counts that must be equal, traffic, and the bound on time."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.problem_settings import configure
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.explore import tables
from fiberscope.explore.analytical_comparison import AnalyticalEstimate, estimate_analytically
from fiberscope.explore.stages import components_of_stage, cycles_of_stage, longest_stage, window_of_stage
from fiberscope.explore.stall_attribution import Group, attribute_stalls, cut_window, describe_idle
from fiberscope.explore.tables import read_table
from fiberscope.models import from_spec
from fiberscope.models.from_spec.settings import is_own
from fiberscope.models.from_spec.units import shared_units, units_on_lanes
from fiberscope.models.trace.api import model, specified
from fiberscope.results.errors import refuse_interrupted
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.recording.files import KeptStates, StateFiles
from fiberscope.results.report.document import Report
from fiberscope.results.report.families import members, pacing_family
from fiberscope.run.find_machine import find, specification_of
from fiberscope.run.machine_names import MachineName
from fiberscope.sim.names import family_name

if TYPE_CHECKING:
    import pandas as pd

    from fiberscope.accelerators.composition import PartFactory

__all__ = ["Check", "Comparison", "check", "read_ladder"]

# A run with some settings, watched if there are files.
_Runner = Callable[[Mapping[str, object], StateFiles | None], Report]
FILE = "check.yaml"
OF_SPECIFICATIONS = Path(from_spec.__file__).parent
ZERO_SUMS = "partial sums of 0, to which the trace counts no addition"
LINES = "lines of other bytes; instances that fetch for themselves"


class _Rule(BaseModel):
    """One line of a machine's ``check.yaml``: sums that are equal, or why they may not be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    tensor: str = ""
    event: tuple[str, ...]
    trace: tuple[str, ...]
    unless: str = ""


class _Rung(BaseModel):
    """A cause of lost time in a machine, and the settings that remove it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: str
    settings: dict[str, str | int]


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    counts: tuple[_Rule, ...]
    traffic: tuple[_Rule, ...]
    designs: dict[str, str] = {}  # by the parameter ``design``, where there is one: its specification
    beyond: dict[str, str] = {}  # components of the trace that take longer than the machine's, and why
    ladder: tuple[_Rung, ...] = ()  # each beside those before it
    # Of each phase the families that may bound it; if there is none, the workers of the longest stage.
    phases: tuple[tuple[str, ...], ...] = ()
    meanwhile: tuple[Group, ...] = ()  # what may work while the busiest of them does not


@dataclass(frozen=True)
class Comparison:
    """One comparison: a count, or bytes of a tensor.

    Args:
        name: the name of the counted action.
        event, trace: how much the two fidelities count.
        unless: why they may differ; empty where they must not.
    """

    name: str
    event: int
    trace: int
    unless: str

    @property
    def right(self) -> bool:
        """Return whether they are equal, or may differ."""
        return self.event == self.trace or bool(self.unless)


@dataclass(frozen=True)
class Check:
    """Two runs side by side.

    Args:
        event, trace: their reports.
        counts, traffic: the comparisons.
        bound: seconds that something of the machine takes, by the trace.
        beyond: components that the bound leaves out as they take longer than the machine's, and why.
        analytical: the run by statistics of its operands; None if the machine has no nests of loops.
        parts: cycles of the machine, or of its longest stage, by where they go. They add up to all of them;
            empty if that was not asked for.
    """

    event: Report
    trace: Report
    counts: tuple[Comparison, ...]
    traffic: tuple[Comparison, ...]
    bound: float
    beyond: Mapping[str, str]
    analytical: AnalyticalEstimate | None
    parts: Mapping[str, int]

    @property
    def longest(self) -> str:
        """Return the name of the stage with most cycles; empty for a machine without stages."""
        return longest_stage(self.event)

    @property
    def bound_holds(self) -> bool:
        """Return whether the machine takes at least as long as the trace says that something must."""
        return self.event.seconds >= self.bound

    @property
    def right(self) -> bool:
        """Return whether all that must be so is."""
        return self.bound_holds and all(row.right for row in self.counts)

    def frame(self) -> pd.DataFrame:
        """Return a row for each comparison: ``kind``, ``name``, ``event``, ``trace``, ``unless``.

        The kind is ``count`` or ``bytes``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd  # noqa: PLC0415  (an extra)

        rows = [("count", row) for row in self.counts] + [("bytes", row) for row in self.traffic]
        return pd.DataFrame([{"kind": kind, **asdict(row)} for kind, row in rows])

    def document(self) -> dict[str, object]:
        """Return the comparison and the attribution of cycles as plain data; times are in seconds."""
        comparison = self.analytical
        return {
            "accelerator": self.event.accelerator,
            "source_digest": self.event.source and self.event.source.digest,
            "right": self.right,
            "cycles": self.event.cycles,
            "seconds": self.event.seconds,
            "bound_seconds": self.bound,
            "beyond": dict(self.beyond),
            "counts": [asdict(row) for row in self.counts],
            "traffic_bytes": [asdict(row) for row in self.traffic],
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
    """Solve a problem on the machine and by its specification; the arguments are ``simulate``'s.

    Args:
        accelerator, a, b, tensors, settings, exact, parts, progress: as there.
        explain: run the machine again for each rung of its ladder, and say where its cycles go.

    Raises:
        InputError: the accelerator does not say what is to be compared, or specifies no such design.
        KeyboardInterrupt: a run was interrupted.
    """
    kind, built = find(accelerator), specification_of(accelerator)
    rules = _rules((OF_SPECIFICATIONS if built else kind.folder) / FILE, accelerator)
    specification = built or _specification(accelerator, kind, rules, settings or {})
    options: dict[str, Any] = {"tensors": tensors, "settings": settings, "exact": exact, "progress": progress}
    event = tables.simulate_to_end(accelerator, a, b, **options, parts=parts)
    factors = [factor for factor in (a, b) if factor is not None]
    of_machine = {key for key in settings or {} if built and is_own(key, kind.configuration)}
    of_trace = {key: value for key, value in (settings or {}).items() if key not in of_machine}
    trace = refuse_interrupted(model(specification, *factors, **{**options, "settings": of_trace}))
    beyond = {**rules.beyond, **(_in_other_steps(specification, of_trace, event) if built else {})}

    def run(changed: Mapping[str, object], states: StateFiles | None) -> Report:
        of_run = {**options, "settings": {**(settings or {}), **changed}, "timeline": states, "parts": parts}
        return tables.simulate_to_end(accelerator, a, b, **of_run)

    phases = rules.phases or (_working(kind, event),)
    cycles = _explained(event, phases, rules, run) if explain else {}
    traffic = tuple(_Rule(tensor=name, event=(name,), trace=(name,), unless=LINES) for name in event.traffic)
    return Check(
        event,
        trace,
        tuple(_count_row(rule, event, trace) for rule in rules.counts),
        tuple(_row(rule, _bytes(event), _bytes(trace)) for rule in (traffic if built else rules.traffic)),
        _bound(trace, beyond),
        beyond,
        None if built else estimate_analytically(accelerator, kind.folder, event, trace),
        cycles,
    )


def read_ladder(accelerator: str) -> dict[str, dict[str, str | int]]:
    """Return the rungs of a machine's ladder: by part, the settings that make it ideal beside those before.

    Raises:
        InputError: the machine has no file of rules.
    """
    return {rung.part: rung.settings for rung in _rules(find(accelerator).folder / FILE, accelerator).ladder}


def _working(kind: Accelerator[Any], event: Report) -> tuple[str, ...]:
    """Return the families of components that do the work of each stage."""
    kinds = {family_name(name) for name in event.components}
    return tuple(pacing_family(name, kinds) for name in kind.worker_families)


def _in_other_steps(specification: str, settings: Mapping[str, object], event: Report) -> dict[str, str]:
    """Describe what the machine of a specification does in other steps, or not at all."""
    reasons = {
        "Merger": "the trace counts a step for each list too",
        "Sequencer": "a cut deals one task a cycle",
        "DRAM": "the trace's lines are other bytes",
        "Cache": "its banks are as many as its instances ask for",
        "Buffet": "it is beside the block that it serves, an element a cycle",
    }
    read = specified(specification, settings)
    parts = [
        part for configuration in read.configurations.values() for part in configuration.components.values()
    ]
    steps = {part.name: reasons[part.kind] for part in parts if part.kind in reasons}
    steps |= dict.fromkeys(units_on_lanes(read, event.config["timing"]["lanes"]), "it has lanes")
    return steps | dict.fromkeys(shared_units(read), "an instance has one for each of an Einsum's operations")


def _explained(event: Report, phases: Sequence[Sequence[str]], rules: _Rules, run: _Runner) -> dict[str, int]:
    """Attribute a run's cycles to the rungs that save them, the rest to components of the last run."""
    groups, stage = [group.kinds for group in rules.meanwhile], longest_stage(event)
    states = KeptStates(families={family for several in (*phases, *groups) for family in several})
    saved, last = _climbed(event, rules.ladder, run, states, stage)
    seen = cut_window(states.kept[0], *window_of_stage(last, stage)) if stage else states.kept[0]
    return {**_parts(phases, last, seen, rules.meanwhile, stage), **saved}


def _climbed(
    event: Report, ladder: Sequence[_Rung], run: _Runner, states: StateFiles, stage: str = ""
) -> tuple[dict[str, int], Report]:
    """Return the cycles that each rung saves, and the report of the run with all rungs, which is recorded.

    Args:
        event, ladder, run, states: the first report, the rungs, what runs them, and the record of the last.
        stage: the stage whose cycles count; empty for those of the run.
    """
    if not ladder:
        return {}, run({}, states)
    saved: dict[str, int] = {}
    settings: dict[str, object] = {}
    for rung in ladder:
        settings |= rung.settings
        next_run = run(settings, states if rung is ladder[-1] else None)
        saved[rung.part] = cycles_of_stage(event, stage) - cycles_of_stage(next_run, stage)
        event = next_run
    return saved, event


def _parts(
    phases: Sequence[Sequence[str]],
    last: Report,
    seen: StateTimeline,
    groups: Sequence[Group],
    stage: str = "",
) -> dict[str, int]:
    """Divide the cycles of a run among its parts, in whole cycles that add up to all.

    Args:
        phases: one after the other, of each the families that may bound it: the one with the busiest member.
        last: the run.
        seen: what its components did over time.
        groups: what may work while the busiest does not.
        stage: the stage that is divided; empty for the whole run.
    """
    parts: dict[str, int] = {}
    workers: list[str] = []
    own = components_of_stage(last, stage)
    for phase in phases:
        worker = max(_named(phase, own), key=lambda name: own[name].busy)
        family, most = family_name(worker), own[worker].busy
        components = members(family, own)
        mean = sum(component.busy for component in components) // len(components)
        parts[f"{family} works, on average"] = mean
        parts[f"and the busiest {family} works longer: imbalance"] = most - mean
        workers.append(worker)
    parts |= attribute_stalls(seen, workers, groups)
    return {
        **parts,
        f"{describe_idle(workers)}: unexplained": cycles_of_stage(last, stage) - sum(parts.values()),
    }


def _named(families: Container[str], components: Iterable[str]) -> list[str]:
    return [name for name in components if family_name(name) in families]


def _specification(
    accelerator: str, descriptor: Accelerator[Any], rules: _Rules, settings: Mapping[str, object]
) -> str:
    """The specification that is of the machine as it is configured."""
    if not rules.designs:
        return accelerator
    design = str(getattr(configure(descriptor, None, settings)[0], "design", ""))
    if design not in rules.designs:
        designs = " and ".join(rules.designs)
        raise InputError(
            f"{descriptor.name} has no specification of the design {design}; it has those of {designs}"
        )
    return rules.designs[design]


def _bound(trace: Report, beyond: Container[str]) -> float:
    """Seconds of what takes longest in each block, but for some components."""
    assert trace.teaal is not None
    seconds, einsums = 0.0, trace.teaal.by_einsum
    for block in trace.teaal.metrics["blocks"]:
        times: dict[str, float] = {}
        for component, metrics in [item for name in block for item in einsums[name].items()]:
            if component not in beyond:
                times[component] = times.get(component, 0.0) + metrics["time"]
        seconds += max(times.values(), default=0.0)
    return seconds


def _rules(path: Path, accelerator: str) -> _Rules:
    if not path.is_file():
        raise InputError(f"{accelerator} has no {FILE} that says what its two models should agree on")
    return read_table(path, _Rules, accelerator)


def _row(rule: _Rule, event: Mapping[str, int], trace: Mapping[str, int]) -> Comparison:
    return Comparison(rule.name or rule.tensor, _sum(rule.event, event), _sum(rule.trace, trace), rule.unless)


def _count_row(rule: _Rule, event: Report, trace: Report) -> Comparison:
    """Compare a count, and give the reason if additions differ by at most the trace's sums of 0."""
    assert trace.teaal is not None
    row = _row(rule, event.operations, _counts(trace))
    uncounted = row.event - row.trace
    explained = not row.unless and "add" in rule.trace and 0 < uncounted <= trace.teaal.zero_sums
    return replace(row, unless=ZERO_SUMS) if explained else row


def _sum(names: Sequence[str], counts: Mapping[str, int]) -> int:
    return sum(counts.get(name, 0) for name in names)


def _counts(trace: Report) -> dict[str, int]:
    """Operations by name, elements by Einsum, bodies by Einsum and loop, and rounds."""
    assert trace.teaal is not None
    bodies: Mapping[str, Mapping[str, Any]] = trace.teaal.bodies
    of_loops = {f"{name}.{rank}": count for name, counts in bodies.items() for rank, count in counts.items()}
    return {**trace.operations, **trace.teaal.elements, **of_loops, "rounds": trace.teaal.rounds}


def _bytes(report: Report) -> dict[str, int]:
    return {name: part.moved_bytes for name, part in report.traffic.items()}
