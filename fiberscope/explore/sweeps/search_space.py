"""Space of a search: spans of parameters, and optuna's distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from pydantic import RootModel, ValidationError

from fiberscope.accelerators.yaml_document import Document, read_document
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.plan import ParameterResolver, plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.space import Range, Span


class _Space(RootModel[dict[str, Span]]):
    """Spans by parameter."""


def read_space(over: Path | str | Mapping[str, object], point: Point) -> dict[str, Span]:
    """Return the spans of a file or mapping, by parameter.

    Args:
        over: the path of the file, or the mapping.
        point: the point whose parameters vary.

    Raises:
        ConfigurationError, InputError, WorkloadError: the file cannot be read, the space is empty or invalid,
            or has an invalid value; the message has line and column if ``over`` is a file. Of a range, both
            ends are checked.
    """
    if isinstance(over, Mapping):
        document = Document("over", {}, {}, {})
        space = _validate_mapping(over)
    else:
        document = read_document(Path(over))
        space = validate_document(_Space, document).root
    if not space:
        raise document.error((), "there is nothing to search in; give a parameter, as in pe.count: [8, 16]")
    resolver = ParameterResolver()  # one for all values, which share sources and operands
    for key, span in space.items():
        location = document.location((key,))
        # Of a range, only the ends are checked, as there may be many values between them.
        for value in (span.low, span.high) if isinstance(span, Range) else span:
            changed = replace(point, settings={**point.settings, key: value}, locations={key: location})
            plan_tasks([changed], resolver)
        try:
            build_distribution(key, span)
        except (InputError, ValueError) as error:
            raise InputError(f"{location}: {error}") from error
    return space


def _validate_mapping(spans: Mapping[str, object]) -> dict[str, Span]:
    # A span in Python may be a tuple or ``range``, which ``Span`` does not accept
    lists = {key: list(span) if isinstance(span, tuple | range) else span for key, span in spans.items()}
    try:
        return _Space.model_validate(lists).root
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        message = fault["msg"].removeprefix("Value error, ")
        raise InputError(f"over: {fault['loc'][0]} is {fault['input']!r}; {message}") from error


def build_distribution(key: str, span: Span) -> BaseDistribution:
    """Return optuna's distribution of a parameter; a list is a set of categories, without an order.

    Raises:
        InputError: the range has a log scale and a step.
        ValueError: optuna refuses the numbers.
    """
    if not isinstance(span, Range):
        return CategoricalDistribution(span)
    log, step = span.scale == "log", span.step
    if log and step is not None:
        raise InputError(f"{key}: a search takes a log scale or a step, not both; a list has any numbers")
    # ``last``, as optuna wants an end that the steps reach
    if not span.is_integer:
        return FloatDistribution(span.low, span.last, log=log, step=step)
    return IntDistribution(int(span.low), int(span.last), log=log, step=int(step or 1))
