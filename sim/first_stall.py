"""The first stall in a waveform: what whoever opens it is to see first."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from sim.constants import BUSY, FIRST_STALL
from sim.names import family_name
from sim.waveform import STATE, Variable


class FirstStall:
    """Finds the first component that has been busy and then waits at a port.

    Where a machine has several parts alike that are made of components, as processing elements are, only
    those count: their stalls are what the other parts are built to avoid.

    ``time`` is the base tick at which it begins to wait, None until one does; ``scope`` is its instance name.

    Args:
        variables: what the waveform shows.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.time: int | None = None
        self.scope = ""
        states = {
            position: variable.scope for position, variable in enumerate(variables) if variable.name == STATE
        }
        elements = _elements(list(states.values()))
        self._scopes = {
            position: scope
            for position, scope in states.items()
            if not elements or part_of(scope) in elements
        }
        self._busy: set[int] = set()  # positions of the states of those that are

    def look(self, time: int, positions: Sequence[int], values: array[int]) -> None:
        """Take in the new values of the variables at these positions, as of this base tick."""
        if self.time is not None:
            return
        for position in positions:
            if position in self._scopes:
                self._take(time, position, values[position])

    def _take(self, time: int, position: int, state: int) -> None:
        if self.time is None and state >= FIRST_STALL and position in self._busy:
            self.time, self.scope = time, self._scopes[position]
        if state == BUSY:
            self._busy.add(position)
        else:
            self._busy.discard(position)


def part_of(scope: str) -> str:
    """The part of the machine that a component belongs to: ``gamma.pe00`` of ``gamma.pe00.merger``."""
    return ".".join(scope.split(".")[:2])


def _elements(scopes: Sequence[str]) -> set[str]:
    """The parts that are made of components and of which there are several alike."""
    parts = {part_of(scope) for scope in scopes if part_of(scope) != scope}
    alike = Counter(map(family_name, parts))
    return {part for part in parts if alike[family_name(part)] > 1}
