"""Groups of command-line options; a parameter of a group type stands for all options of the group."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar, get_type_hints

from fiberscope.base.errors import InputError

Code = TypeVar("Code")  # exit code of a command, or None


class Needs(NamedTuple):
    """Metadata of an option that requires another option of its group.

    Args:
        option: field of the required option, whose value is None if it is not given.
        text: description of the required option, after "needs" in the error message.
    """

    option: str
    text: str


class Options:
    """Base class of groups: a class attribute per option, annotated for typer, with its default.

    A group is no dataclass, because the creation of a dataclass takes milliseconds at every start.

    Args:
        values: the values of all options by field.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        vars(self).update(values)


@cache
def list_declared_options(group: type[Options]) -> dict[str, Any]:
    """Return the annotations of a group's options by field, also of inherited options.

    The result is cached and must not be changed.
    """
    return get_type_hints(group, include_extras=True)


def flag(name: str) -> str:
    """Return the command-line name of a field."""
    return f"--{name.replace('_', '-')}"


def expand_groups(**unsupported: str) -> Callable[[Callable[..., Code]], Callable[..., Code]]:
    """Return a decorator that replaces group parameters of a command by their options.

    The decorated command takes keyword arguments only, checks the options, and calls the command with an
    instance of each group. It raises ``InputError`` if an option is not supported or lacks another option.
    Tests read its attributes ``groups`` and ``unsupported``.

    Args:
        unsupported: reason by field of each option that the command does not support.
    """

    def decorate(command: Callable[..., Code]) -> Callable[..., Code]:
        signature = inspect.signature(command, eval_str=True)
        groups = {
            name: parameter.annotation
            for name, parameter in signature.parameters.items()
            if _is_group(parameter.annotation)
        }

        @wraps(command)
        def run_with_options(**arguments: Any) -> Code:  # noqa: ANN401  (values parsed by typer)
            for name, group in groups.items():
                values = {option: arguments.pop(option) for option in list_declared_options(group)}
                _check(list_declared_options(group), values, unsupported)
                arguments[name] = group(values)
            return command(**arguments)

        parameters = [
            option for parameter in signature.parameters.values() for option in _iterate_options(parameter)
        ]
        # Typer reads the signature and the annotations, both of which ``wraps`` has taken from the command
        run_with_options.__annotations__ = {option.name: option.annotation for option in parameters}
        vars(run_with_options).update(
            __signature__=signature.replace(parameters=parameters), groups=groups, unsupported=unsupported
        )
        return run_with_options

    return decorate


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)


def _iterate_options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield a parameter of a command, or the options of a group, as keyword-only parameters."""
    keyword, group = inspect.Parameter.KEYWORD_ONLY, parameter.annotation
    if not _is_group(group):
        yield parameter.replace(kind=keyword)
        return
    for name, annotation in list_declared_options(group).items():
        yield inspect.Parameter(name, keyword, default=getattr(group, name), annotation=annotation)


def _check(hints: Mapping[str, Any], values: Mapping[str, object], unsupported: Mapping[str, str]) -> None:
    """Check that the command supports all options, and that required options are given.

    Only options with a true value are checked: a switch that is off, or a list without elements, counts as
    not given.

    Raises:
        InputError: an option is not supported, or lacks a required option.
    """
    for name in (name for name, value in values.items() if value):
        if name in unsupported:
            raise InputError(f"{flag(name)}: {unsupported[name]}")
        for requirement in getattr(hints[name], "__metadata__", ()):
            if isinstance(requirement, Needs) and values[requirement.option] is None:
                raise InputError(f"{flag(name)} needs {requirement.text}")
