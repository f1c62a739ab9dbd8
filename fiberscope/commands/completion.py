"""Completion by the tab key: accelerators, matrices, parameters and their shipped values.

A word without completions is left unchanged; the command reports the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer


def complete_accelerator(incomplete: str) -> list[str]:
    """Return matching names of accelerators."""
    from fiberscope import accelerators

    return _matching(incomplete, accelerators.names())


def complete_matrix(incomplete: str) -> list[str]:
    """Return matching names of registered matrices; the shell completes files."""
    from fiberscope import workloads

    return _matching(incomplete, (entry.name for entry in workloads.entries() if entry.is_matrix))


def complete_name(incomplete: str) -> list[str]:
    """Return matching names of accelerators and matrices."""
    return [*complete_accelerator(incomplete), *complete_matrix(incomplete)]


def complete_parameter(context: typer.Context, incomplete: str) -> list[str]:
    """Return matching parameter keys of the accelerator on the command line."""
    return _matching(incomplete, _shipped(context))


def complete_setting(context: typer.Context, incomplete: str) -> list[str]:
    """Return matching parameters with their values, such as ``pe.count=32``."""
    return _matching(incomplete, (f"{key}={value}" for key, value in _shipped(context).items()))


def _matching(incomplete: str, candidates: Iterable[str]) -> list[str]:
    return [candidate for candidate in candidates if candidate.startswith(incomplete)]


def _shipped(context: typer.Context) -> dict[str, str]:
    """Return the shipped parameters of the named machine as texts; empty without a machine."""
    from fiberscope import accelerators
    from fiberscope.accelerators.configuration import format_value, parameters

    try:
        shipped = parameters(_file(context))
    except accelerators.ConfigurationError:
        return {}
    return {parameter.key: format_value(parameter.value).replace(" ", "") for parameter in shipped}


def _file(context: typer.Context) -> Path:
    """Return the parameter file of the command's only machine, or of the named machine."""
    from fiberscope import accelerators

    if context.info_name == "convert":
        from fiberscope.converters.mint import MINT

        return MINT.shipped
    if context.command_path.endswith("graph run"):
        from fiberscope.models.graphs.settings import DEFAULTS

        return DEFAULTS
    # After an option without a value, arguments are not parsed.
    values = (context.params.get(word) for word in ("accelerator", "name", "specification"))
    return accelerators.find(next(filter(None, values), None) or next(iter(context.args), "")).shipped
