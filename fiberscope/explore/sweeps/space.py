"""Points in a space of parameters: grids, lists, and samples of ranges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from fiberscope.accelerators.quantities import SIZE

ROUNDING = 1e-9  # share of a step by which a range may miss a whole number of steps

Settings = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _parse_size(value: object) -> object:
    return SIZE.parse(value) if isinstance(value, str) else value


Number = Annotated[int | float, BeforeValidator(_parse_size)]


class Range(_StrictModel):
    """Range between two numbers, both included. Sizes may have units.

    The samples are integers if both numbers and the step are integers.

    Args:
        low, high: the ends; ``from`` and ``to`` in a file. With a step that does not divide the range, the
            last sample is below ``high``.
        step: distance of the samples from ``low`` on; None for 1 between integers, else any number.
        scale: ``linear``, or ``log`` to sample uniformly in the logarithm.
    """

    low: Number = Field(alias="from")
    high: Number = Field(alias="to")
    step: Number | None = None
    scale: Literal["linear", "log"] = "linear"

    @model_validator(mode="after")
    def _check_order(self) -> Range:
        if self.low > self.high:
            raise ValueError(f"no number lies between {self.low} and {self.high}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError("a log scale begins above 0")
        if self.step is not None and self.step <= 0:
            raise ValueError("a step is above 0")
        return self

    @property
    def is_integer(self) -> bool:
        """Return whether the range has integers only; without a step, the step of integers is 1."""
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 1))

    @property
    def last(self) -> int | float:
        """Return the largest sample."""
        if self.step is None:
            return self.high
        # The tolerance keeps the last step if a sum of fractions, such as 0.1, falls just below ``high``
        steps = math.floor((self.high - self.low) / self.step + ROUNDING)
        return min(self.low + steps * self.step, self.high)

    def compute_value(self, share: float) -> int | float:
        """Return the sample at a fraction of the range, from 0 to below 1; each step has an equal share.

        With a log scale, the shares are equal in the logarithm, and a sample is the step below the number.
        """
        step = self.step or (1 if self.is_integer else 0)
        high = self.last + step  # the last sample too has a full step, as the number is rounded down
        if self.scale == "log":
            value = math.exp(math.log(self.low) + share * (math.log(high) - math.log(self.low)))
        else:
            value = self.low + share * (high - self.low)
        if step:
            value = self.low + math.floor((value - self.low) / step) * step
        value = min(max(value, self.low), self.last)  # rounding may fall just below
        return int(value) if self.is_integer else value


def _describe_span_kind(value: object) -> str | None:
    if isinstance(value, list):
        return "list"
    return "range" if isinstance(value, dict | Range) else None


Span = Annotated[  # a range, or a list of values
    Annotated[Range, Tag("range")] | Annotated[list[Any], Tag("list"), Field(min_length=1)],
    Discriminator(
        _describe_span_kind,
        custom_error_type="span",
        custom_error_message="it should be a list, or a range as in {from: 1, to: 9}",
    ),
]


class RandomPoints(_StrictModel):
    """Random points of a space.

    Args:
        count: number of points.
        over: the range or the list of values of each parameter.
        method: ``random``, or ``latin_hypercube`` to cut each range into ``count`` parts with a point each.
        seed: seed of the draw.
    """

    count: int = Field(ge=1, le=1_000_000)
    over: dict[str, Span] = Field(min_length=1)
    method: Literal["random", "latin_hypercube"] = "latin_hypercube"
    seed: int = Field(default=0, ge=0)

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the settings of each point; the same seed gives the same points."""
        generator = np.random.default_rng(self.seed)
        if self.method == "random":
            shares = generator.random((self.count, len(self.over)))
        else:
            from scipy.stats import qmc  # noqa: PLC0415  (not needed for grids)

            shares = qmc.LatinHypercube(d=len(self.over), rng=generator).random(self.count)
        for row in shares:  # numbers from 0 to below 1, a column for each parameter
            yield {
                key: _compute_value(span, float(share))
                for (key, span), share in zip(self.over.items(), row, strict=True)
            }


def _compute_value(span: Span, share: float) -> Any:  # noqa: ANN401  (a parameter's value)
    return span.compute_value(share) if isinstance(span, Range) else span[int(share * len(span))]


def combine_points(grid: Grid, lists: Sequence[Sequence[Settings]]) -> Iterator[dict[str, Any]]:
    """Yield each combination of a grid with one point of every list.

    Args:
        grid: the values of each parameter.
        lists: lists of points; a later list overrides equal parameters of the grid and of earlier lists. An
            empty list leaves no combination, so the caller omits it.
    """
    # An empty grid has one combination, without parameters
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    for parts in itertools.product(combinations, *lists):
        yield {key: value for part in parts for key, value in part.items()}
