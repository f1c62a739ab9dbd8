"""Completion by the tab key: accelerators, matrices, parameters and their shipped values.

A word that cannot be completed is completed by nothing: what is wrong with it, the command itself says.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

__all__ = [
    "complete_accelerator",
    "complete_matrix",
    "complete_name",
    "complete_parameter",
    "complete_setting",
]


def complete_accelerator(incomplete: str) -> list[str]:
    """Names of accelerators."""
    from fiberscope import accelerators

    return _beginning(incomplete, accelerators.names())


def complete_matrix(incomplete: str) -> list[str]:
    """Names of known matrices; of files the shell knows by itself."""
    from fiberscope import workloads

    return _beginning(incomplete, (entry.name for entry in workloads.entries() if entry.is_matrix))


def complete_name(incomplete: str) -> list[str]:
    """Names of either."""
    return [*complete_accelerator(incomplete), *complete_matrix(incomplete)]


def complete_parameter(context: typer.Context, incomplete: str) -> list[str]:
    """Keys of the parameters of the accelerator that the line names."""
    return _beginning(incomplete, _shipped(context))


def complete_setting(context: typer.Context, incomplete: str) -> list[str]:
    """The same with their values, ready to be changed: ``pe.count=32``."""
    return _beginning(incomplete, (f"{key}={value}" for key, value in _shipped(context).items()))


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _shipped(context: typer.Context) -> dict[str, str]:
    """Parameters and their values as words of a command line; none where nothing that has any is named."""
    from fiberscope import accelerators
    from fiberscope.accelerators.configuration import format_value, parameters

    try:
        shipped = parameters(_file(context))
    except accelerators.ConfigurationError:
        return {}
    return {parameter.key: format_value(parameter.value).replace(" ", "") for parameter in shipped}


def _file(context: typer.Context) -> Path:
    """The file of parameters as shipped: of a command that runs but one machine, or of the one it names."""
    from fiberscope import accelerators

    if context.info_name == "convert":
        from fiberscope.converters.mint import MINT

        return MINT.shipped
    if context.command_path.endswith("graph run"):
        from fiberscope.models.graphs.settings import SHIPPED

        return SHIPPED
    # Behind an option that has no value yet, the words are not taken apart.
    named = (context.params.get(word) for word in ("accelerator", "name", "specification"))
    return accelerators.find(next(filter(None, named), None) or next(iter(context.args), "")).shipped
