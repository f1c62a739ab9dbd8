"""Lines of a run's summary for energy, area and clock."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.results.report.cost_parts import RtlClock
from fiberscope.results.report.parts import Record


def format_cost_lines(report: Record) -> dict[str, str]:
    """Return lines of energy with its delay product, area and clock, as intervals or lower bounds.

    Without energy there are no lines. Without a known area, area and clock have no line.
    """
    energy, area = report.energy, report.area
    if energy is None:
        return {}
    edp = "" if report.edp is None else f", EDP {report.edp:.3g} J s"
    joules = format_cost_interval(energy.total_pj, energy.upper_pj, _format_joules)
    lines = {"Energy": f"{joules}{edp}{_describe_exclusions(energy.without)}"}
    if area is None or not area.known:
        return lines
    um2 = format_cost_interval(area.known, area.upper, lambda um2: f"{um2 / 1e6:,.3f} mm2")
    return {
        **lines,
        "Area": f"{um2}{_describe_exclusions(area.without)}",
        **_format_clock_line(report.rtl_clock),
    }


def _format_clock_line(clock: RtlClock | None) -> dict[str, str]:
    """Return the clock of the run, and the clock that the longest path of the RTL allows."""
    if clock is None:
        return {}
    assumed, reached = (f"{hertz / 1e9:.3g} GHz" for hertz in (clock.assumed_hertz, clock.hertz))
    guess = f"RTL, a guess for 45 nm: at most {reached}, {clock.part} takes {clock.path_ns:.2f} ns"
    return {"Clock": f"{assumed} assumed; {guess}"}


def format_cost_interval(
    lower: float, upper: float | None, text: Callable[[float], str], bound: str = "at least {}"
) -> str:
    """Format a cost with its upper end; without an upper end, in the format ``bound``.

    Args:
        lower, upper: the ends of the interval, in the same unit; ``upper`` is None if it is unknown.
        text: formats an end. Ends with equal texts are written once.
        bound: the format of a lower bound, with ``{}`` for its text.
    """
    if upper is None:
        return bound.format(text(lower))
    return text(lower) if text(lower) == text(upper) else f"{text(lower)} to {text(upper)}"


def _format_joules(picojoules: float) -> str:
    return scale_unit(picojoules, ("pJ", "nJ", "uJ", "mJ", "J"), 1000)


def _describe_exclusions(without: tuple[str, ...]) -> str:
    """Name the first three parts without a known cost, and count the others; empty without such parts."""
    first, more = ", ".join(without[:3]), len(without) - 3
    return f"; excludes {first}" + (f" and {more} more" if more > 0 else "") if without else ""


def scale_unit(number: float, units: tuple[str, ...], step: int) -> str:
    """Format a number with the first unit in which the number is below ``step``, or with the last unit.

    The unit is chosen before rounding: 1023.999 KiB is written as ``1,024.00 KiB``.

    Args:
        number: the number in the first unit, which is written without decimals; in other units, with two.
        units: the units in ascending order; an empty unit adds no blank.
        step: the ratio of a unit to the unit before.
    """
    power = 0
    while number >= step and power < len(units) - 1:
        number, power = number / step, power + 1
    return f"{number:,.{2 if power else 0}f} {units[power]}".rstrip()
