"""Groups of options: a command has a parameter of a group, and takes every option that the group declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar, get_type_hints

from fiberscope.base.errors import InputError

__all__ = ["Needs", "Options", "declared_options", "expand_groups", "flag"]

Code = TypeVar("Code")


class Needs(NamedTuple):
    """Says of an option that it is nothing without ``option``, a field of its group; ``text`` in words."""

    option: str
    text: str


class Options:
    """A group: a field an option, annotated as typer has it, with its default; no dataclass, which takes
    milliseconds to be made at every start.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        vars(self).update(values)


@cache
def declared_options(group: type[Options]) -> dict[str, Any]:
    """The options of a group by field: their types, with what typer and this module are told of them."""
    return get_type_hints(group, include_extras=True)


def flag(name: str) -> str:
    """Return the spelling of an option on the command line, by its field."""
    return f"--{name.replace('_', '-')}"


def expand_groups(**cannot: str) -> Callable[[Callable[..., Code]], Callable[..., Code]]:
    """A command whose parameters that are groups stand for the options in them.

    Args:
        cannot: options that the command refuses, by field, and why.
    """

    def decorate(command: Callable[..., Code]) -> Callable[..., Code]:
        own = inspect.signature(command, eval_str=True)
        groups = {
            name: parameter.annotation
            for name, parameter in own.parameters.items()
            if _is_group(parameter.annotation)
        }

        @wraps(command)
        def taken(**arguments: Any) -> Code:  # noqa: ANN401  (what typer makes of the words)
            for name, group in groups.items():
                values = {option: arguments.pop(option) for option in declared_options(group)}
                _check(declared_options(group), values, cannot)
                arguments[name] = group(values)
            return command(**arguments)

        parameters = [option for parameter in own.parameters.values() for option in _options(parameter)]
        taken.__annotations__ = {option.name: option.annotation for option in parameters}
        vars(taken).update(__signature__=own.replace(parameters=parameters), groups=groups, cannot=cannot)
        return taken

    return decorate


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """A parameter of a command, or what stands in a group's place; all by keyword, in any order."""
    keyword, group = inspect.Parameter.KEYWORD_ONLY, parameter.annotation
    if not _is_group(group):
        yield parameter.replace(kind=keyword)
        return
    for name, annotation in declared_options(group).items():
        yield inspect.Parameter(name, keyword, default=getattr(group, name), annotation=annotation)


def _check(hints: Mapping[str, Any], values: Mapping[str, object], cannot: Mapping[str, str]) -> None:
    """Refuse what the command cannot do, and an option without the one that it needs.

    Raises:
        InputError: naming it.
    """
    for name in (name for name, value in values.items() if value):
        if name in cannot:
            raise InputError(f"{flag(name)}: {cannot[name]}")
        for need in getattr(hints[name], "__metadata__", ()):
            if isinstance(need, Needs) and values[need.option] is None:
                raise InputError(f"{flag(name)} needs {need.text}")
