"""Suite: each machine on each workload, through a store, with speed-ups over one machine."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, isnan, nan
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.evaluation import Evaluation
from fiberscope.explore.sweeps.machines import AnyMachine, NamedMachine, parse_machine
from fiberscope.explore.sweeps.memory_operands import save_operands
from fiberscope.explore.sweeps.resources import Resources, read_resources
from fiberscope.explore.sweeps.study import Study, make_study, read_study
from fiberscope.explore.sweeps.sweep import sweep
from fiberscope.results.report.estimates import compute_relative_half_width
from fiberscope.results.report.files import read_text
from fiberscope.results.report.short_names import shorten_names
from fiberscope.results.report.surrogates import SURROGATE, mark
from fiberscope.results.store_layout import DONE
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.suffixes import SUFFIXES

if TYPE_CHECKING:
    import pandas as pd

COMMENT = "#"  # begins a comment in a list of workloads
UTILIZATION = "utilization"  # fraction of cycles in which the workers are busy; not a column of a store
COSTS = ("energy_pj", "energy_upper", "edp", "area_um2", "area_upper")
NUMBERS = ("traffic_bytes", *COSTS, UTILIZATION, "memory_utilization")  # columns of a run
NAMED_WORKLOAD = re.compile(
    r"([^=:]*[^=:\s])\s+=\s+(\S.*)"
)  # with blanks around =, unlike a generator's rows=20
RESOURCE_COLUMNS = ("multipliers", "peak_bytes_per_second", "sram_bytes", "hertz")  # fields of ``Resources``


@dataclass(frozen=True)
class SuiteResult:
    """Result of a machine on a workload.

    Args:
        status, reason: the end of the run, and the error of a failed run.
        cycles, seconds: the simulated length; 0 for a failed run.
        source: the origin of the operand: real, generated or surrogate.
        interval: the 95 % interval of estimated cycles; None for an exact count.
        numbers: the values of ``NUMBERS`` that the run has.
        digest: the key of the row in the store.
    """

    status: str
    reason: str
    cycles: int = 0
    seconds: float = 0.0
    source: str = ""
    interval: tuple[int, int] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    digest: str = ""

    @property
    def measures(self) -> Mapping[str, float]:
        """Return the numbers of a finished run by column of the store, and the upper end of its EDP."""
        if not self.done:
            return {}
        energy = self.numbers.get("energy_upper")
        # EDP in J s: energies are in pJ
        upper = {} if energy is None else {"edp_upper": energy * 1e-12 * self.seconds}
        return {**self.numbers, **upper, "cycles": self.cycles, "seconds": self.seconds}

    @property
    def spread(self) -> float:
        """Return the half-width of the interval as a fraction of the cycles; 0 for an exact count."""
        return compute_relative_half_width(self.cycles, *self.interval) if self.interval else 0.0

    @property
    def done(self) -> bool:
        """Return whether the run is finished and verified."""
        return self.status == DONE


@dataclass(frozen=True)
class Suite:
    """Machines on workloads.

    Args:
        machines, workloads: in the requested order.
        against: the baseline of speed-ups.
        runs: the runs by workload and machine, of all pairs; a missing run has a result that is not ``done``.
        names: the names of workloads in the study.
        resources: the resources of each machine with a finished run.
        scaled: lines about machines that were scaled to equal resources.
        evaluation: the columns, means, figures and tables of the study.
    """

    machines: Sequence[str]
    workloads: Sequence[str]
    against: str
    runs: Mapping[tuple[str, str], SuiteResult]
    names: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Resources] = field(default_factory=dict)
    scaled: Sequence[str] = ()
    evaluation: Evaluation = field(default_factory=Evaluation)

    def replace_evaluation(self, keys: Mapping[str, object]) -> Suite:
        """Return the suite with replaced keys of its evaluation; ``columns`` also replace the tables.

        The values are not checked.
        """
        keys = {**keys, "tables": None} if "columns" in keys else keys
        return replace(self, evaluation=self.evaluation.model_copy(update=keys))

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the displayed names of workloads: from the study or shortened; surrogates have daggers."""
        short = dict(zip(self.workloads, shorten_names(self.workloads), strict=True))
        return {
            workload: mark(self.names.get(workload, name), SURROGATE if workload in self.surrogates else None)
            for workload, name in short.items()
        }

    def speedup(self, workload: str, machine: str) -> float | None:
        """Return the simulated time of ``against`` over the machine's; None if either is missing or 0."""
        baseline, run = self.runs[workload, self.against], self.runs[workload, machine]
        return baseline.seconds / run.seconds if baseline.seconds and run.seconds else None

    def spread(self, workload: str, machine: str) -> float:
        """Return the half-width of a speed-up as a fraction; 0 for exact counts."""
        # The baseline over itself is exactly 1. Otherwise, relative errors of independent runs add in squares
        if machine == self.against:
            return 0.0
        return hypot(self.runs[workload, self.against].spread, self.runs[workload, machine].spread)

    def compute_mean_spread(self, machine: str) -> float:
        """Return the half-width of the mean of a machine's speed-ups, as a fraction, as if independent."""
        # The logarithm of a geometric mean is the mean of logarithms, so relative errors are divided by n
        spreads = [self.spread(workload, machine) for workload in self.compared]
        return hypot(*spreads) / max(1, len(spreads))

    @property
    def compared(self) -> list[str]:
        """Return the workloads that all machines finished in nonzero time, over which means are taken."""
        return [
            workload
            for workload in self.workloads
            if all(self.runs[workload, machine].seconds for machine in self.machines)
        ]

    def mean(self, machine: str) -> float | None:
        """Return the geometric mean of a machine's speed-ups over ``compared``; None without workloads."""
        speedups = [self.speedup(workload, machine) for workload in self.compared]
        return geometric_mean([speedup for speedup in speedups if speedup is not None]) if speedups else None

    @property
    def surrogates(self) -> list[str]:
        """Return the workloads for which a machine ran a surrogate."""
        return [
            workload
            for workload in self.workloads
            if any(self.runs[workload, machine].source == SURROGATE for machine in self.machines)
        ]

    def frame(self) -> pd.DataFrame:
        """Return a row for each workload and machine: its end, cycles, speed-up, ``NUMBERS`` and resources.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd  # noqa: PLC0415  (it takes time to load)

        rows = [
            {
                "workload": workload,
                "workload_source": result.source if result.done else None,
                "name": self.labels[workload],
                "machine": machine,
                "status": result.status,
                "reason": result.reason,
                "cycles": result.cycles if result.done else None,
                "cycles_low": result.interval and result.interval[0],
                "cycles_high": result.interval and result.interval[1],
                "seconds": result.seconds if result.done else None,
                "speedup": self.speedup(workload, machine),
                **{name: result.measures.get(name) for name in NUMBERS},
                **{name: getattr(self.resources.get(machine), name, None) for name in RESOURCE_COLUMNS},
            }
            for (workload, machine), result in self.runs.items()
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """Return the frame as an HTML table without empty columns, for a notebook."""
        return str(self.frame().dropna(axis=1, how="all").to_html(index=False, na_rep=""))


def read_workloads(path: Path) -> dict[str, str]:
    """Return the workloads of a list or folder, each with its name or an empty text.

    A list has a workload or ``name = workload`` per line, and comments after ``#``. A workload that is listed
    twice counts once, with the first name that is given. All files of a folder with the suffix of a matrix
    are workloads, without names.

    Raises:
        InputError: the path does not exist or has no workload, or a name is used twice.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.lower().endswith(SUFFIXES))
        return _check_nonempty(path, {shlex.quote(str(file)): "" for file in files})
    workloads: dict[str, str] = {}
    for number, text in enumerate(read_text(path).splitlines(), start=1):
        line = text.partition(COMMENT)[0].strip()
        match = NAMED_WORKLOAD.fullmatch(line)
        name, workload = match.groups() if match else ("", line)
        if name and name in workloads.values():
            raise InputError(f"{path}:{number}: the name {name} appears twice; give each workload its own")
        if workload:
            workloads[workload] = workloads.get(workload) or name
    return _check_nonempty(path, workloads)


def _check_nonempty(path: Path, workloads: dict[str, str]) -> dict[str, str]:
    if not workloads:
        raise InputError(f"{path}: has no workload; a list has one a line, a folder files as a.mtx")
    return workloads


def suite(
    machines: Sequence[AnyMachine] | Path | str,
    workloads: Sequence[object] | Mapping[str, str] | Path | str = (),
    *,
    against: str | None = None,
    same: Sequence[str] = (),
    **options: Any,  # noqa: ANN401  (options of ``fiberscope.sweep``)
) -> Suite:
    """Run machines on workloads, as far as the runs are missing in a store, and compare their times.

    Args:
        machines: names, ``spec:NAME``, or paths of user machines. ``NAME=MACHINE:KEY=VALUE``, or a mapping
            with ``name``, ``accelerator``, ``set`` and ``parts``, defines a machine with a name. Or the path
            of a study, whose keys the other arguments override.
        workloads: a workload per run, as for ``fiberscope.sweep``, or a mapping from workloads to names; or
            the path of a list or folder.
        against: the baseline of speed-ups; the first machine by default.
        same: ``multipliers``, ``bandwidth`` or ``area``, which all machines are scaled to.
        options: ``store``, ``settings``, ``retry``, ``progress``, and others of ``fiberscope.sweep``.

    Raises:
        ConfigurationError, InputError, WorkloadError: a machine, an operand or a value is invalid.
    """
    path = Path(machines) if isinstance(machines, str | Path) else None
    study = _read_study(machines)
    parsed = [machine for machine, _ in study.list_named_machines()]
    evaluation = study.evaluation or Evaluation()
    series = [machine.name for machine in parsed]
    listed = read_workloads(Path(workloads)) if isinstance(workloads, str | Path) else workloads
    baseline = against or evaluation.against
    _check_against(series, baseline)
    shared = {key: getattr(study, key) for key in ("command", "settings", "config", "store")} | options
    parsed, scaled = _scale(parsed, same or evaluation.same, baseline or series[0], shared)
    with save_operands(listed, shared["store"]) as saved:
        # ``sweep`` refuses a study with an evaluation, which is of suites
        keys = {"evaluation": None, **({"machines": parsed} if scaled else {}), **options}
        frame = sweep([*parsed], saved, **options) if path is None else sweep(path, saved, **keys)
    names = saved or study.list_named_workloads()  # workloads of the caller replace those of the study
    texts = list(names)
    pairs = [(workload, machine) for machine in series for workload in texts]
    # ``sweep`` returns a row for each pair in this order, machine by machine.
    rows = dict(zip(pairs, frame.to_dict("records"), strict=True))
    runs = {pair: build_suite_result(row) for pair, row in rows.items()}
    # In reverse order, so that the first finished workload of a machine determines its resources.
    resources = {
        machine: read_resources(row) for (_, machine), row in reversed(rows.items()) if row["status"] == DONE
    }
    ordered = {(text, machine): runs[text, machine] for text in texts for machine in series}
    study_names = {workload: name for workload, name in names.items() if name}
    return Suite(series, texts, baseline or series[0], ordered, study_names, resources, scaled, evaluation)


def _read_study(machines: Sequence[AnyMachine] | Path | str) -> Study:
    """Return the study of a file, or of machines alone."""
    if isinstance(machines, str | Path):
        return read_suite(Path(machines))
    return make_study({"machines": [parse_machine(machine) for machine in machines]})


def read_suite(path: Path) -> Study:
    """Read the study of a file for a suite.

    Raises:
        ConfigurationError, InputError: the errors of ``read_study``, or the study sweeps over designs of a
            machine.
    """
    study = read_study(path)
    for key in ("grid", "points", "random"):
        if getattr(study, key):
            location = study.location(key) or path
            fix = "name each design under machines, or run fiberscope sweep"
            raise InputError(f"{location}: {key}: a suite runs each machine once on a workload; {fix}")
    return study


def _scale(
    machines: list[NamedMachine], same: Sequence[str], against: str, options: Mapping[str, Any]
) -> tuple[list[NamedMachine], list[str]]:
    """Scale machines to equal resources.

    Raises:
        ConfigurationError, InputError: the errors of ``scale_machines``, or the command is not ``sim``.
    """
    if not same:
        return machines, []
    if options["command"] != "sim":
        raise InputError(f"--same is for simulations; {options['command']} has no parameters to scale")
    from fiberscope.explore.sweeps.machine_scaling import scale_machines  # noqa: PLC0415  (it loads the machines)

    return scale_machines(machines, same, against, options["settings"], options["config"])


def _check_against(machines: Sequence[str], against: str | None) -> None:
    """Check that the baseline is one of the machines.

    Raises:
        InputError: it is not; the message has the nearest machine.
    """
    if against is not None and against not in machines:
        raise InputError(f"{against} is none of the machines that run; {suggest(against, machines)}")


def build_suite_result(row: Mapping[Any, Any]) -> SuiteResult:
    """Return the result of a row of a store's frame, which has NaN for a missing number."""
    if row["status"] != DONE:
        return SuiteResult(row["status"], row["reason"], digest=row["digest"])
    low, high = row["cycles_low"], row["cycles_high"]
    interval = None if isnan(low) else (int(low), int(high))
    return SuiteResult(
        DONE,
        "",
        int(row["cycles"]),
        float(row["seconds"]),
        row["workload_source"],
        interval,
        {name: number for name in NUMBERS if not isnan(number := _number(row, name))},
        row["digest"],
    )


def _number(row: Mapping[Any, Any], name: str) -> float:
    """Return a number of a row; NaN if the row has none."""
    # Of the workers: the columns are their cycles by state
    if name == UTILIZATION:
        cycles = [_number(row, state) for state in ("busy", "input_stall", "output_stall", "idle")]
        return cycles[0] / sum(cycles) if sum(cycles) else nan
    number = row.get(name)
    return nan if number is None else float(number)
