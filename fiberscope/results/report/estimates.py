"""Estimated cycles: formats of intervals, and significance of differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.accelerators.sampling import CONFIDENCE, half_width
from fiberscope.results.report.parts import Record


@dataclass(frozen=True)
class Significance:
    """The difference of the cycles of two runs of which at least one is sampled.

    Args:
        cycles: the cycles of the second run minus those of the first.
        half_width: the half-width of the interval of the difference, in cycles.
        confidence: the confidence of the interval.
        windows: the number of windows with the same rows in both runs; 0 if the intervals of the runs were
            compared.
        significant: whether the interval excludes 0.
    """

    cycles: int
    half_width: float
    confidence: float
    windows: int
    significant: bool

    def __str__(self) -> str:
        """Return the difference in a sentence."""
        how = f"the same {self.windows} windows in both" if self.windows else "by the intervals of both"
        verdict = "significant" if self.significant else "not significant"
        return f"{self.cycles:+,} +- {self.half_width:,.0f} cycles ({self.confidence:.0%}, {how}): {verdict}"


def compare_cycles(before: Record, after: Record) -> Significance | None:
    """Compare the cycles of two runs; None if both runs are exact.

    Runs that sampled the same rows of the same operands are compared window by window. For other runs, the
    half-width of the difference is the root of the sum of the squares of both half-widths.

    Args:
        before, after: the reports of the runs. The difference is ``after`` minus ``before``.
    """
    if not (before.cycles_interval or after.cycles_interval):
        return None
    # Pairs have a narrower interval: what makes a window long makes it long in both runs.
    paired = _compute_paired_half_width(before, after)
    width = math.hypot(_compute_half_width(before), _compute_half_width(after)) if paired is None else paired
    difference = after.cycles - before.cycles
    windows = 0 if paired is None or before.sampling is None else len(before.sampling.rows)
    return Significance(difference, width, CONFIDENCE, windows, abs(difference) > width)


def _compute_half_width(report: Record) -> float:
    """Return the half-width of the interval of a run's cycles, in cycles; 0 for an exact run."""
    low, high = report.cycles_interval or (0, 0)
    return (high - low) / 2


def _compute_paired_half_width(before: Record, after: Record) -> float | None:
    """Return the half-width of the difference, in cycles; None unless the runs can be compared by window.

    Both runs must have simulated the same rows of the same operands in equally many windows.
    """
    first, second = before.sampling, after.sampling
    if first is None or second is None or not first.rows or first.rows != second.rows:
        return None
    operands = [[operand.digest for operand in report.workload.operands] for report in (before, after)]
    if operands[0] != operands[1] or len(first.deviations) != len(second.deviations):
        return None
    changes = [later - earlier for earlier, later in zip(first.deviations, second.deviations, strict=True)]
    return half_width(changes, min(first.degrees, second.degrees))


def compute_relative_half_width(cycles: float, low: float, high: float) -> float:
    """Return the half-width of an interval as a fraction of the estimate; 0 for an estimate of 0.

    Args:
        cycles: the estimate.
        low, high: the ends of the interval, in cycles.
    """
    return (high - low) / 2 / cycles if cycles else 0.0


def format_half_width(share: float) -> str:
    """Format a half-width, a fraction of the estimate, as a suffix."""
    return f" +- {100 * share:.3g}%"


def format_interval(report: Record) -> str:
    """Format the half-width of a run's cycles as a suffix; empty for an exact run."""
    interval = report.cycles_interval
    return format_half_width(compute_relative_half_width(report.cycles, *interval)) if interval else ""
