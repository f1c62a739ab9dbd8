"""Areas, energies and powers as intervals, with the basis of each figure: the kind of its source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

Basis: TypeAlias = Literal["measured", "law", "published", "none"]
Interval: TypeAlias = tuple[float, float | None]  # lower and upper end; None: no bound


@dataclass(frozen=True)
class Cost:
    """An area in um2, an energy in pJ or a power in W.

    Args:
        lower: the value of the source; 0 without a source.
        upper: the upper end of the interval; None without a bound.
        basis: ``measured`` (netlists, tables of SRAMs), ``law`` (a formula through measured values),
            ``published``, or ``none``.
        source: a description of the source, for readers.
    """

    lower: float
    upper: float | None
    basis: Basis
    source: str = ""

    @classmethod
    def exact(cls, value: float, basis: Basis, source: str = "") -> Cost:
        """Return a cost with a single figure: both ends of the interval are equal.

        Args:
            value: the figure, in the unit of the cost.
            basis: the kind of the source.
            source: a description of the source.
        """
        return cls(value, value, basis, source)

    def times(self, factor: float) -> Cost:
        """Return the cost multiplied by ``factor``."""
        upper = None if self.upper is None else self.upper * factor
        return replace(self, lower=self.lower * factor, upper=upper)

    @property
    def is_known(self) -> bool:
        """Return whether the cost has a source."""
        return self.basis != "none"


UNKNOWN: Final = Cost(0.0, None, "none")


def sum_intervals(costs: Iterable[Cost]) -> Interval:
    """Return the sums of the lower and upper ends; None for the upper sum if a cost has no bound."""
    return sum_ends((cost.lower, cost.upper) for cost in costs)


def sum_ends(intervals: Iterable[Interval]) -> Interval:
    """Return the sums of the lower and upper ends; None for the upper sum if an interval has no bound."""
    listed = list(intervals)
    upper = [end for _lower, end in listed if end is not None]
    total = sum(upper, 0.0) if len(upper) == len(listed) else None
    return sum((lower for lower, _end in listed), 0.0), total
