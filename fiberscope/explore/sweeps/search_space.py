"""The space of a search: spans of parameters from a file, and the distributions that they are drawn from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from pydantic import RootModel

from fiberscope.accelerators.yaml_document import read_document
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.plan import ParameterResolver, plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.space import Range, Span

__all__ = ["distribution_of", "read_space"]


class _Space(RootModel[dict[str, Span]]):
    """Spans by parameter."""


def read_space(path: Path, point: Point) -> dict[str, Span]:
    """Return the spans of a file, by parameter.

    Args:
        path: of the file.
        point: whose parameters they are.

    Raises:
        ConfigurationError, InputError: it cannot be read, or is not as it should be, or has a value that can
            never be; with line and column.
    """
    document = read_document(path)
    space = validate_document(_Space, document).root
    if not space:
        raise document.error((), "there is nothing to search in; give a parameter, as in pe.count: [8, 16]")
    settle = ParameterResolver()
    for key, span in space.items():
        place = document.place((key,))
        for value in (span.low, span.high) if isinstance(span, Range) else span:
            changed = replace(point, settings={**point.settings, key: value}, places={key: place})
            plan_tasks([changed], settle)
        try:
            distribution_of(key, span)
        except (InputError, ValueError) as error:
            raise InputError(f"{place}: {error}") from error
    return space


def distribution_of(key: str, span: Span) -> BaseDistribution:
    """Return the distribution of optuna from which a parameter is drawn.

    Raises:
        InputError: a range that optuna does not know.
    """
    if not isinstance(span, Range):
        return CategoricalDistribution(span)
    log, step = span.scale == "log", span.step
    if log and step is not None:
        raise InputError(f"{key}: a search takes a log scale or a step, not both; a list has any numbers")
    if not span.whole:
        return FloatDistribution(span.low, span.high, log=log, step=step)
    low, high, by = int(span.low), int(span.high), int(step or 1)
    return IntDistribution(low, low + (high - low) // by * by, log=log, step=by)
