"""Completion by the tab key: accelerators, matrices, parameters and their shipped values.

Each function gets the incomplete argument. An argument without completions is left unchanged, and the
command reports the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer


def complete_accelerator(incomplete: str) -> list[str]:
    """Return matching names of accelerators."""
    from fiberscope import accelerators

    return _filter_prefix(incomplete, accelerators.names())


def complete_matrix(incomplete: str) -> list[str]:
    """Return matching names of registered matrices; other registered tensors and files are left out."""
    from fiberscope import workloads

    return _filter_prefix(incomplete, (entry.name for entry in workloads.entries() if entry.is_matrix))


def complete_name(incomplete: str) -> list[str]:
    """Return matching names of accelerators and matrices."""
    return [*complete_accelerator(incomplete), *complete_matrix(incomplete)]


def complete_parameter(context: typer.Context, incomplete: str) -> list[str]:
    """Return matching parameter keys of the machine on the command line; none without a machine.

    The machine of ``convert`` is MINT, and that of ``graph run`` is the machine that runs graphs.

    Args:
        context: the parsed part of the command line.
        incomplete: the beginning of a key.
    """
    return _filter_prefix(incomplete, _shipped_values(context))


def complete_setting(context: typer.Context, incomplete: str) -> list[str]:
    """Return matching parameters with their shipped values, such as ``pe.count=32``.

    The machine is found as by ``complete_parameter``. A started value, as in ``pe.count=6``, matches only the
    shipped value.

    Args:
        context: the parsed part of the command line.
        incomplete: the beginning of a setting.
    """
    return _filter_prefix(incomplete, (f"{key}={value}" for key, value in _shipped_values(context).items()))


def _filter_prefix(incomplete: str, candidates: Iterable[str]) -> list[str]:
    return [candidate for candidate in candidates if candidate.startswith(incomplete)]


def _shipped_values(context: typer.Context) -> dict[str, str]:
    """Return the shipped values by key, as texts, of the machine on the command line; empty without one."""
    from fiberscope import accelerators
    from fiberscope.accelerators.configuration import format_value, parameters

    try:
        shipped = parameters(_parameter_file(context))
    except accelerators.ConfigurationError:
        return {}
    # Without blanks, as in ``512KiB``, because a shell would split the setting at a blank
    return {parameter.key: format_value(parameter.value).replace(" ", "") for parameter in shipped}


def _parameter_file(context: typer.Context) -> Path:
    """Return the parameter file of the command's only machine, or of the named machine.

    Raises:
        ConfigurationError: no machine is named, or it does not exist.
    """
    from fiberscope import accelerators

    if context.info_name == "convert":
        from fiberscope.converters.mint import MINT

        return MINT.shipped
    if context.command_path.endswith("graph run"):
        from fiberscope.models.graphs.settings import DEFAULTS

        return DEFAULTS
    # The name of the argument with the machine in: sim, compare and others; info; model
    arguments = (context.params.get(name) for name in ("accelerator", "name", "specification"))
    # After an option without a value, arguments are not parsed.
    named = next(filter(None, arguments), None) or next(iter(context.args), "")
    return accelerators.find(named).shipped
