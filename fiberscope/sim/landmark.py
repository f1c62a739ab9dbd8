"""Landmark at which a waveform opens: the first mark in it, or else the first stall."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from fiberscope.sim.constants import BUSY, FIRST_STALL
from fiberscope.sim.names import family_name
from fiberscope.sim.waveform import STATE, Variable


class Landmark:
    """The first mark that is set, or where there is none the first stall.

    ``time`` is its base tick, None until there is one; ``scope`` is the instance name of whose it is.

    Args:
        variables: what the waveform shows.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self._mark = FirstMark(variables)
        self._stall = FirstStall(variables)

    def look(self, time: int, positions: Sequence[int], values: array[int]) -> None:
        """Take in the new values of the variables at these positions, as of this base tick."""
        self._mark.look(time, positions, values)
        self._stall.look(time, positions, values)

    @property
    def time(self) -> int | None:
        """Return the base tick."""
        return self._stall.time if self._mark.time is None else self._mark.time

    @property
    def scope(self) -> str:
        """Whose it is."""
        return self._stall.scope if self._mark.time is None else self._mark.scope


class FirstMark:
    """Finds the first variable of kind ``"mark"`` that is 1; as ``Landmark``."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.time: int | None = None
        self.scope = ""
        self._scopes = {
            position: variable.scope for position, variable in enumerate(variables) if variable.kind == "mark"
        }

    def look(self, time: int, positions: Sequence[int], values: array[int]) -> None:
        """Take in the new values of the variables at these positions, as of this base tick."""
        if self.time is not None or not self._scopes:
            return
        for position in positions:
            if position in self._scopes and values[position]:
                self.time, self.scope = time, self._scopes[position]
                return


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
