"""Shell patterns on instance names, which select components of a machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.names import nearest

_ZEROS = re.compile(r"(?<=[A-Za-z_])0+(?=\d)")  # in front of the number of a part


def choose(components: Sequence[Component], patterns: Sequence[str]) -> list[Component]:
    """Return the components that any pattern matches, in their order; all components without a pattern.

    A pattern matches the name of a component or of a scope around it, with or without the machine's name:
    ``pe0[0-3]`` is ``gamma.pe00`` to ``gamma.pe03`` with their parts. A pattern that would otherwise match
    nothing may omit leading zeros: ``pe0`` is ``gamma.pe00``.

    Raises:
        SimulationError: if a pattern matches nothing; names similar scopes.
    """
    selected = [_match(components, pattern) for pattern in patterns]
    indices = {id(component) for group in selected for component in group}
    return [component for component in components if not patterns or id(component) in indices]


def find_full_name(name: str, names: Iterable[str]) -> str | None:
    """Return the instance name for a name that may omit leading zeros and the machine's name.

    Args:
        name: a name as a user types it: ``gamma.pe0.merger`` or ``pe0.merger`` for ``gamma.pe00.merger``.
        names: the instance names. An exact name has priority, then the first match.

    Returns:
        The instance name; None if the name is empty or matches no instance.
    """
    instances = list(names)
    if name in instances or not name:
        return name or None
    short = _strip_zeros(name)
    return next(
        (
            instance
            for instance in instances
            if short in (_strip_zeros(instance), _strip_zeros(instance.partition(".")[2]))
        ),
        None,
    )


def matches_any_name(pattern: str, names: Iterable[str]) -> bool:
    """Return whether a pattern (see ``choose``) matches any of the instance names."""
    short = _strip_zeros(pattern)
    return any(_matches(name, pattern) or _matches(_strip_zeros(name), short) for name in names)


def choose_one(components: Sequence[Component], name: str) -> Component:
    """Return the component with this name, with or without the machine's name, or the only match.

    Raises:
        SimulationError: if no component or several components match.
    """
    exact = [
        component for component in components if name in (component.name, component.name.partition(".")[2])
    ]
    selected = exact or choose(components, [name])
    if len(selected) > 1:
        names = ", ".join(component.name for component in selected[:3])
        raise SimulationError(f"{name} matches {len(selected)} components; name one, as in {names}")
    return selected[0]


def _match(components: Sequence[Component], pattern: str) -> list[Component]:
    """Return the components that a pattern matches, at least one."""
    matches = [component for component in components if _matches(component.name, pattern)]
    short = _strip_zeros(pattern)
    matches = matches or [
        component for component in components if _matches(_strip_zeros(component.name), short)
    ]
    if not matches:
        raise SimulationError(
            f"no component matches the scope {pattern}; {_suggest_scopes(components, pattern)}"
        )
    return matches


def _strip_zeros(name: str) -> str:
    return _ZEROS.sub("", name)


def _matches(name: str, pattern: str) -> bool:
    """Return whether a pattern matches an instance name, or a scope around the instance."""
    without_machine = name.partition(".")[2]
    return any(
        fnmatchcase(candidate, form)
        for candidate in (name, without_machine)
        if candidate
        for form in (pattern, f"{pattern}.*")
    )


def _suggest_scopes(components: Sequence[Component], pattern: str) -> str:
    """Return advice with the scopes that are most similar to a pattern."""
    scopes: list[str] = []  # all scopes from the outside in: a machine, its parts, their parts, ...
    for component in components:
        parts = component.name.split(".")
        scopes += [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return nearest(pattern, scopes)
