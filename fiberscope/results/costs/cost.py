"""An area, an energy or a power as an interval, with the basis of its figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

__all__ = ["UNKNOWN", "Basis", "Cost", "Interval", "sum_ends", "sum_intervals"]

Basis: TypeAlias = Literal["measured", "law", "published", "none"]
Interval: TypeAlias = tuple[float, float | None]  # the lower end and the upper; None without a bound


@dataclass(frozen=True)
class Cost:
    """An area in um2, an energy in pJ or a power in W.

    Args:
        lower: the value that the source gives; 0 without a source.
        upper: its upper end; None if nothing bounds it.
        basis: ``measured`` (netlists, tables of SRAMs), ``law`` (a formula through measured values),
            ``published``, or ``none``.
        source: where the figure is from, for a reader.
    """

    lower: float
    upper: float | None
    basis: Basis
    source: str = ""

    @classmethod
    def exact(cls, value: float, basis: Basis, source: str = "") -> Cost:
        """Return a cost whose source gives one figure, without an interval."""
        return cls(value, value, basis, source)

    def times(self, factor: float) -> Cost:
        """Return the cost of so many."""
        upper = None if self.upper is None else self.upper * factor
        return replace(self, lower=self.lower * factor, upper=upper)

    @property
    def is_known(self) -> bool:
        """Return whether there is any figure of it."""
        return self.basis != "none"


UNKNOWN: Final = Cost(0.0, None, "none")


def sum_intervals(costs: Iterable[Cost]) -> Interval:
    """Return the sum of what is known, and its upper end; None if a cost has no bound."""
    return sum_ends((cost.lower, cost.upper) for cost in costs)


def sum_ends(intervals: Iterable[Interval]) -> Interval:
    """Return the sums of the lower and of the upper ends; None for the upper if an interval has no bound."""
    listed = list(intervals)
    upper = [end for _lower, end in listed if end is not None]
    whole = sum(upper, 0.0) if len(upper) == len(listed) else None
    return sum((lower for lower, _end in listed), 0.0), whole
