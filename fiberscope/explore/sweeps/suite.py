"""Machines against workloads: each on each, through a store, and how much faster one is than another."""

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
from fiberscope.explore.sweeps.memory_operands import saved_operands
from fiberscope.explore.sweeps.resources import Resources, read_resources
from fiberscope.explore.sweeps.study import Study, make_study, read_study
from fiberscope.explore.sweeps.sweep import sweep
from fiberscope.results.report.estimates import relative_half_width
from fiberscope.results.report.files import read_text
from fiberscope.results.report.short_names import short_names
from fiberscope.results.report.surrogates import SURROGATE, mark
from fiberscope.results.store_layout import DONE
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.suffixes import SUFFIXES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Suite", "SuiteResult", "read_suite", "read_workloads", "suite", "suite_result"]

COMMENT = "#"
UTILIZATION = "utilization"
COSTS = ("energy_pj", "energy_upper", "edp", "area_um2", "area_upper")
NUMBERS = ("traffic_bytes", *COSTS, UTILIZATION, "memory_utilization")  # of a run
NAMED = re.compile(r"([^=:]*[^=:\s])\s+=\s+(\S.*)")  # blanks around the sign, unlike in rows=20

OF_MACHINES = ("multipliers", "peak_bytes_per_second", "sram_bytes", "hertz")  # fields of ``Resources``


@dataclass(frozen=True)
class SuiteResult:
    """Result of a machine on a workload; cycles and simulated seconds are 0 if it was not done.

    ``interval`` is that of cycles that are an estimate; ``spread`` is half of it as a fraction of them.
    ``numbers`` are further columns of its row in the store, and ``utilization``, the share of cycles in which
    the workers were busy. ``digest`` is the key of this row.
    """

    status: str
    reason: str
    cycles: int = 0
    seconds: float = 0.0
    source: str = ""  # of the workload: real, generated or surrogate
    interval: tuple[int, int] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    digest: str = ""

    @property
    def measures(self) -> Mapping[str, float]:
        """The numbers of a run that was done, by column of the store, and the upper end of its EDP."""
        if not self.done:
            return {}
        energy = self.numbers.get("energy_upper")
        upper = {} if energy is None else {"edp_upper": energy * 1e-12 * self.seconds}
        return {**self.numbers, **upper, "cycles": self.cycles, "seconds": self.seconds}

    @property
    def spread(self) -> float:
        """Half the width of the interval as a fraction of the cycles; 0 of a count."""
        return relative_half_width(self.cycles, *self.interval) if self.interval else 0.0

    @property
    def done(self) -> bool:
        """Return whether it came to its end, and was right."""
        return self.status == DONE


@dataclass(frozen=True)
class Suite:
    """Machines on workloads.

    Args:
        machines, workloads: in the order in which they were given.
        against: the machine that speed-ups are over.
        runs: the runs by workload and machine.
        names: the names of workloads that have one of their own.
        resources: what each machine has, of those that finished a run.
        scaled: lines about machines that were scaled to equal resources.
        evaluation: the columns, means, figures and tables that a study asks for.
    """

    machines: Sequence[str]
    workloads: Sequence[str]
    against: str
    runs: Mapping[tuple[str, str], SuiteResult]
    names: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Resources] = field(default_factory=dict)
    scaled: Sequence[str] = ()
    evaluation: Evaluation = field(default_factory=Evaluation)

    def with_evaluation(self, keys: Mapping[str, object]) -> Suite:
        """Return the suite with keys of its evaluation replaced; ``columns`` replace the tables, too."""
        keys = {**keys, "tables": None} if "columns" in keys else keys
        return replace(self, evaluation=self.evaluation.model_copy(update=keys))

    @property
    def labels(self) -> Mapping[str, str]:
        """The names of workloads as they are shown: their own or short ones, a surrogate's with a dagger."""
        short = dict(zip(self.workloads, short_names(self.workloads), strict=True))
        return {
            workload: mark(self.names.get(workload, name), SURROGATE if workload in self.surrogates else None)
            for workload, name in short.items()
        }

    def speedup(self, workload: str, machine: str) -> float | None:
        """Simulated time of ``against`` over this machine's; None if one took none, or was not done."""
        first, this = self.runs[workload, self.against], self.runs[workload, machine]
        return first.seconds / this.seconds if first.seconds and this.seconds else None

    def spread(self, workload: str, machine: str) -> float:
        """Half the width of the interval of a speed-up, as a fraction of it; 0 of counts."""
        if machine == self.against:
            return 0.0
        return hypot(self.runs[workload, self.against].spread, self.runs[workload, machine].spread)

    def mean_spread(self, machine: str) -> float:
        """The same of the mean of a machine's speed-ups."""
        spreads = [self.spread(workload, machine) for workload in self.compared]
        return hypot(*spreads) / max(1, len(spreads))

    @property
    def compared(self) -> list[str]:
        """The workloads that every machine has done, and took time for: means are over these."""
        return [
            workload
            for workload in self.workloads
            if all(self.runs[workload, machine].seconds for machine in self.machines)
        ]

    def mean(self, machine: str) -> float | None:
        """The geometric mean of a machine's speed-ups over the workloads that all have done; None if none."""
        speedups = [self.speedup(workload, machine) for workload in self.compared]
        return geometric_mean([speedup for speedup in speedups if speedup is not None]) if speedups else None

    @property
    def surrogates(self) -> list[str]:
        """The workloads for which some machine ran a surrogate."""
        return [
            workload
            for workload in self.workloads
            if any(self.runs[workload, machine].source == SURROGATE for machine in self.machines)
        ]

    def frame(self) -> pd.DataFrame:
        """A row a workload and machine."""
        import pandas as pd  # noqa: PLC0415  (it takes time to load)

        rows = [
            {
                "workload": workload,
                "workload_source": ran.source if ran.done else None,
                "name": self.labels[workload],
                "machine": machine,
                "status": ran.status,
                "reason": ran.reason,
                "cycles": ran.cycles if ran.done else None,
                "cycles_low": ran.interval and ran.interval[0],
                "cycles_high": ran.interval and ran.interval[1],
                "seconds": ran.seconds if ran.done else None,
                "speedup": self.speedup(workload, machine),
                **{name: ran.measures.get(name) for name in NUMBERS},
                **{name: getattr(self.resources.get(machine), name, None) for name in OF_MACHINES},
            }
            for (workload, machine), ran in self.runs.items()
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """Return the frame as a table, for a notebook; columns without a value are left out."""
        return str(self.frame().dropna(axis=1, how="all").to_html(index=False, na_rep=""))


def read_workloads(path: Path) -> dict[str, str]:
    """Return the workloads of a list or of a folder, each with its own name, which is empty for most.

    A list has a workload a line, or ``name = workload``, and comments behind ``#``. All matrices of a folder
    are workloads.

    Raises:
        InputError: there is no such file or folder, or nothing in it; a name is there twice.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.lower().endswith(SUFFIXES))
        return _some(path, {shlex.quote(str(file)): "" for file in files})
    workloads: dict[str, str] = {}
    for number, text in enumerate(read_text(path).splitlines(), start=1):
        line = text.partition(COMMENT)[0].strip()
        named = NAMED.fullmatch(line)
        name, workload = named.groups() if named else ("", line)
        if name and name in workloads.values():
            raise InputError(f"{path}:{number}: the name {name} is there twice; give each workload its own")
        if workload:
            workloads[workload] = workloads.get(workload) or name
    return _some(path, workloads)


def _some(path: Path, workloads: dict[str, str]) -> dict[str, str]:
    if not workloads:
        raise InputError(f"{path}: has no workload; a list has one a line, a folder files as a.mtx")
    return workloads


def suite(
    machines: Sequence[AnyMachine] | Path | str,
    workloads: Sequence[object] | Mapping[str, str] | Path | str = (),
    *,
    against: str | None = None,
    same: Sequence[str] = (),
    **options: Any,  # noqa: ANN401  (those of ``fiberscope.sweep``)
) -> Suite:
    """Run machines on workloads, what a store does not have, and lay their times side by side.

    Args:
        machines: names, ``spec:NAME``, or paths of one's own; ``NAME=MACHINE:KEY=VALUE``, or a mapping with
            ``name``, ``accelerator``, ``set`` and ``parts``, for a machine with a name of its own. Or the
            path of a study, whose keys the other arguments replace.
        workloads: of each run one, as ``fiberscope.sweep`` takes them, or a mapping of them to names;
            or the path of a list or of a folder.
        against: the machine that speed-ups are over; the first by default.
        same: ``multipliers``, ``bandwidth`` or ``area``, of which all machines get as much as ``against``.
        options: ``store``, ``settings``, ``retry``, ``progress``, and all others of ``fiberscope.sweep``.

    Raises:
        ConfigurationError, InputError, WorkloadError: a machine, an operand or a value that can never be.
    """
    path = Path(machines) if isinstance(machines, str | Path) else None
    study = _study(machines)
    parsed = [machine for machine, _ in study.named_machines()]
    evaluation = study.evaluation or Evaluation()
    several = [machine.name for machine in parsed]
    listed = read_workloads(Path(workloads)) if isinstance(workloads, str | Path) else workloads
    first = against or evaluation.against
    _check_against(several, first)
    shared = {key: getattr(study, key) for key in ("command", "settings", "config", "store")} | options
    parsed, scaled = _scaled(parsed, same or evaluation.same, first or several[0], shared)
    with saved_operands(listed, shared["store"]) as saved:
        keys = {"evaluation": None, **({"machines": parsed} if scaled else {}), **options}
        frame = sweep([*parsed], saved, **options) if path is None else sweep(path, saved, **keys)
    names = saved or study.named_workloads()
    named = list(names)
    pairs = [(workload, machine) for machine in several for workload in named]
    rows = dict(zip(pairs, frame.to_dict("records"), strict=True))
    runs = {pair: suite_result(row) for pair, row in rows.items()}
    resources = {
        machine: read_resources(row) for (_, machine), row in reversed(rows.items()) if row["status"] == DONE
    }
    ordered = {(workload, machine): runs[workload, machine] for workload in named for machine in several}
    own = {workload: name for workload, name in names.items() if name}
    return Suite(several, named, first or several[0], ordered, own, resources, scaled, evaluation)


def _study(machines: Sequence[AnyMachine] | Path | str) -> Study:
    """Return the study of a file, or of machines alone."""
    if isinstance(machines, str | Path):
        return read_suite(Path(machines))
    return make_study({"machines": [parse_machine(machine) for machine in machines]})


def read_suite(path: Path) -> Study:
    """Return the study of a file, for a suite.

    Raises:
        ConfigurationError, InputError: as of ``read_study``; or the study has several designs of a machine.
    """
    study = read_study(path)
    for key in ("grid", "points", "random"):
        if getattr(study, key):
            place = study.place(key) or path
            fix = "name each design under machines, or run fiberscope sweep"
            raise InputError(f"{place}: {key}: a suite runs each machine once on a workload; {fix}")
    return study


def _scaled(
    machines: list[NamedMachine], same: Sequence[str], against: str, options: Mapping[str, Any]
) -> tuple[list[NamedMachine], list[str]]:
    """Scale machines to equal resources.

    Raises:
        ConfigurationError, InputError: as of ``scale_machines``; or another command than ``sim``.
    """
    if not same:
        return machines, []
    if options["command"] != "sim":
        raise InputError(f"--same is for simulations; {options['command']} has no parameters to scale")
    from fiberscope.explore.sweeps.same import scale_machines  # noqa: PLC0415  (it loads the machines)

    return scale_machines(machines, same, against, options["settings"], options["config"])


def _check_against(machines: Sequence[str], against: str | None) -> None:
    """Refuse to compare with a machine that does not run.

    Raises:
        InputError: naming those that do.
    """
    if against is not None and against not in machines:
        raise InputError(f"{against} is none of the machines that run; {nearest(against, machines)}")


def suite_result(row: Mapping[Any, Any]) -> SuiteResult:
    """Return the result of a row of a store's frame."""
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
    """A number of a row; not a number if the row has none."""
    if name == UTILIZATION:
        cycles = [_number(row, state) for state in ("busy", "input_stall", "output_stall", "idle")]
        return cycles[0] / sum(cycles) if sum(cycles) else nan
    number = row.get(name)
    return nan if number is None else float(number)
