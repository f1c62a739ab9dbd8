"""Shell patterns on instance names: which components of a machine are meant."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.names import nearest


def choose(components: Sequence[Component], patterns: Sequence[str]) -> list[Component]:
    """The components that some pattern matches, in their order; all where there is no pattern.

    A pattern matches a component's name or a scope around it, with or without the machine's leading name:
    ``pe0[0-3]`` is ``gamma.pe00`` to ``gamma.pe03`` with their parts.

    Raises:
        SimulationError: if a pattern matches nothing; has the nearest names.
    """
    for pattern in patterns:
        if not any(_matches(component.name, pattern) for component in components):
            raise SimulationError(f"no component matches the scope {pattern}; {_hint(components, pattern)}")
    return [
        component
        for component in components
        if not patterns or any(_matches(component.name, pattern) for pattern in patterns)
    ]


def _matches(name: str, pattern: str) -> bool:
    without_machine = name.partition(".")[2]
    return any(
        fnmatchcase(candidate, form)
        for candidate in (name, without_machine)
        if candidate
        for form in (pattern, f"{pattern}.*")
    )


def _hint(components: Sequence[Component], pattern: str) -> str:
    scopes: list[str] = []  # every one, in order: a machine, its parts, their parts, ...
    for component in components:
        parts = component.name.split(".")
        scopes += [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return nearest(pattern, scopes)
