"""Columns and means of the table of a suite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, harmonic_mean, median

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.suite import Suite
from fiberscope.results.report.cost_lines import format_cost_interval
from fiberscope.results.report.estimates import format_half_width
from fiberscope.workloads.errors import suggest

LOWER_BOUND_MARK = "+"  # suffix of a lower bound
MEANS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "arithmetic": fmean,
    "geometric": geometric_mean,
    "harmonic": harmonic_mean,
}
_PREFIXES = {-12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}  # SI
_SPREADS = ("cycles", "time", "speedup")  # columns with the interval of sampled cycles


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Args:
        measure: the column of the store; empty for the speed-up.
        factor: the factor from the store's unit to ``unit``.
        unit: the unit, without an SI prefix.
        has_prefix: whether the table chooses an SI prefix that suits the values.
        is_scientific: whether to write values with an exponent, such as ``1.23e+04``.
        upper: the column of the upper end; empty for a value without an interval.
    """

    head: str
    measure: str
    factor: float = 1.0
    unit: str = ""
    has_prefix: bool = False
    is_scientific: bool = False
    upper: str = ""


COLUMNS: Mapping[str, Column] = {
    "cycles": Column("cycles", "cycles"),
    "time": Column("time", "seconds", unit="s", has_prefix=True),
    "speedup": Column("speedup", ""),
    "traffic": Column("traffic", "traffic_bytes", unit="B", has_prefix=True),
    "energy": Column("energy", "energy_pj", 1e-12, "J", has_prefix=True, upper="energy_upper"),
    "edp": Column("EDP", "edp", unit="J s", is_scientific=True, upper="edp_upper"),
    "area": Column("area", "area_um2", 1e-6, "mm2", upper="area_upper"),
    "utilization": Column("utilization", "utilization", 100.0, "%"),
    "bandwidth": Column("bandwidth", "memory_utilization", 100.0, "% of peak"),
}


@dataclass(frozen=True)
class CellFormat:
    """Format of the values of a column.

    Args:
        head: the head with the unit.
        factor: the factor from the store's unit to the unit of the head.
        is_scientific, is_integer: how values are written; both false for three significant digits.
    """

    head: str
    factor: float
    is_scientific: bool = False
    is_integer: bool = False

    def text(self, value: float) -> str:
        """Format a value; the integer part is written in full."""
        scaled = value * self.factor
        if self.is_scientific:
            return f"{scaled:.2e}"
        decimals = 0 if scaled == 0 or self.is_integer else max(0, 2 - math.floor(math.log10(abs(scaled))))
        return f"{scaled:,.{decimals}f}"


def check_choices(option: str, text: str, choices: Mapping[str, object]) -> list[str]:
    """Return the comma-separated names of an option.

    Args:
        option: the option, for messages.
        text: its value.
        choices: the valid names.

    Raises:
        InputError: a name is unknown, repeated or empty.
    """
    names = [name.strip() for name in text.split(",")]
    for index, name in enumerate(names):
        if name not in choices:
            raise InputError(f"{option} {text}: there is no {name or 'empty name'}; {suggest(name, choices)}")
        if name in names[:index]:
            raise InputError(f"{option} {text}: {name} appears twice; leave one out")
    return names


def choose_format(suite: Suite, name: str) -> CellFormat:
    """Return the format of a column, with one unit for all cells; its prefix suits the median value.

    Args:
        suite: the runs.
        name: a key of ``COLUMNS``.
    """
    column = COLUMNS[name]
    if not column.has_prefix:
        unit = f" [{column.unit}]" if column.unit else ""
        return CellFormat(f"{column.head}{unit}", column.factor, column.is_scientific, name == "cycles")
    values = [_find_value(suite, name, *pair) for pair in suite.runs]
    sizes = [value * column.factor for value in values if value]
    power = 3 * math.floor(math.log10(median(sizes)) / 3) if sizes else 0
    power = min(max(power, min(_PREFIXES)), max(_PREFIXES))
    return CellFormat(f"{column.head} [{_PREFIXES[power]}{column.unit}]", column.factor / 10.0**power)


def _find_value(suite: Suite, name: str, workload: str, machine: str) -> float | None:
    """Return the value of a run in the store's unit; None if the run has none."""
    if name == "speedup":
        return suite.speedup(workload, machine)
    return suite.runs[workload, machine].measures.get(COLUMNS[name].measure)


def _spread(suite: Suite, name: str, workload: str, machine: str) -> float:
    """Return the half-width of a value as a fraction; 0 for an exact value."""
    if name not in _SPREADS:
        return 0.0
    run_spread = suite.runs[workload, machine].spread
    return suite.spread(workload, machine) if name == "speedup" else run_spread


def number_cell(suite: Suite, name: str, scale: CellFormat, workload: str, machine: str) -> str:
    """Return a cell with the value of a run and its half-width, or with the status of a failed run.

    The cell is empty if a finished run lacks the value, and for a speed-up of a failed run.

    Args:
        suite: the runs.
        name, scale: a key of ``COLUMNS``, and the format of this column.
        workload, machine: the run.
    """
    run = suite.runs[workload, machine]
    value = _find_value(suite, name, workload, machine)
    if value is None:
        return "" if run.done or name == "speedup" else run.status
    spread = _spread(suite, name, workload, machine)
    if COLUMNS[name].upper:
        return format_interval(value, run.measures.get(COLUMNS[name].upper), scale.text)
    return f"{scale.text(value)}{format_half_width(spread) if spread else ''}"


def format_interval(value: float, upper: float | None, text: Callable[[float], str]) -> str:
    """Format a value with its upper end; a lower bound has the suffix ``LOWER_BOUND_MARK``."""
    return format_cost_interval(value, upper, text, "{}" + LOWER_BOUND_MARK)


def format_mean_cell(suite: Suite, name: str, scale: CellFormat, mean: str, machine: str) -> str:
    """Return a cell with the mean of a machine over the workloads that all machines finished.

    The cell is empty if a value is missing, or if the mean is undefined for a value of 0. The half-width of
    the mean assumes that the errors of the runs are independent.

    Args:
        suite: the runs.
        name, scale: a key of ``COLUMNS``, and the format of this column.
        mean: a key of ``MEANS``.
    """
    values = [
        value
        for workload in suite.compared
        if (value := _find_value(suite, name, workload, machine)) is not None
    ]
    if not values or len(values) < len(suite.compared) or (mean != "arithmetic" and min(values) <= 0):
        return ""
    if COLUMNS[name].upper:
        runs = [suite.runs[workload, machine] for workload in suite.compared]
        ends = [run.measures.get(COLUMNS[name].upper) for run in runs]
        upper = [end for end in ends if end is not None]
        upper_mean = MEANS[mean](upper) if len(upper) == len(ends) else None
        return format_interval(MEANS[mean](values), upper_mean, scale.text)
    spreads = [_spread(suite, name, workload, machine) for workload in suite.compared]
    # Relative influence of each value on the mean, as in the propagation of errors to first order.
    weights = {
        "arithmetic": values,
        "geometric": [1.0] * len(values),
        "harmonic": [1 / value for value in values if value],
    }[mean]
    spread = (
        math.hypot(*(weight * each for weight, each in zip(weights, spreads, strict=True))) / sum(weights)
        if any(spreads)
        else 0.0
    )
    return f"{scale.text(MEANS[mean](values))}{format_half_width(spread) if spread else ''}"
