"""The landmark of a waveform, at which viewers open: its first mark, or else its first stall."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from fiberscope.sim.constants import BUSY, FIRST_STALL
from fiberscope.sim.names import family_name
from fiberscope.sim.probe import Changes
from fiberscope.sim.waveform import STATE, Variable


class Landmark:
    """The first mark that is set or, if no mark is set during the waveform, the first stall.

    ``time`` is the base tick, None before the landmark; ``scope`` is the instance name of its component. Both
    are final only when ``is_sought`` is false or the waveform ends: a mark replaces an earlier stall.

    Args:
        variables: the variables of the waveform.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self._mark = FirstMark(variables)
        self._stall = FirstStall(variables)

    def observe(self, time: int, changes: Changes, count: int) -> None:
        """Process the changed values of a time step.

        Args:
            time: base tick of the time step.
            changes: values of all variables, and positions of the changed variables.
            count: number of changed variables, whose positions come first.
        """
        positions, values = changes.positions[:count], changes.values
        self._mark.look(time, positions, values)
        self._stall.look(time, positions, values)

    @property
    def is_sought(self) -> bool:
        """Return whether a later time step may hold the landmark."""
        return self._mark.is_sought or self._stall.is_sought

    @property
    def time(self) -> int | None:
        """The base tick of the first mark, else of the first stall; None if there was neither yet."""
        return self._stall.time if self._mark.time is None else self._mark.time

    @property
    def scope(self) -> str:
        """The instance name of the component at ``time``; empty if ``time`` is None."""
        return self._stall.scope if self._mark.time is None else self._mark.scope


class FirstMark:
    """The first variable of kind ``"mark"`` that becomes 1; see ``Landmark``."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.time: int | None = None
        self.scope = ""
        self._scopes = {
            position: variable.scope for position, variable in enumerate(variables) if variable.kind == "mark"
        }

    @property
    def is_sought(self) -> bool:
        """Return whether a mark may still be found."""
        return self.time is None and bool(self._scopes)

    def look(self, time: int, positions: Sequence[int], values: array[int]) -> None:
        """Process the new values of the variables at these positions, at base tick ``time``."""
        if not self.is_sought:
            return
        for position in positions:
            if position in self._scopes and values[position]:
                self.time, self.scope = time, self._scopes[position]
                return


class FirstStall:
    """The first component whose state changes from busy to waiting at a port.

    If a machine has several equal parts that consist of components, such as processing elements, only these
    parts count. The other parts exist to prevent their stalls.

    ``time`` is the base tick of the first wait, None before it; ``scope`` is the instance name.

    Args:
        variables: the variables of the waveform.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.time: int | None = None
        self.scope = ""
        states = {
            position: variable.scope for position, variable in enumerate(variables) if variable.name == STATE
        }
        elements = _find_repeated_parts(list(states.values()))
        self._scopes = {
            position: scope
            for position, scope in states.items()
            if not elements or part_of(scope) in elements
        }
        self._busy: set[int] = set()  # positions of the states of components that are busy now

    @property
    def is_sought(self) -> bool:
        """Return whether a stall may still be found."""
        return self.time is None

    def look(self, time: int, positions: Sequence[int], values: array[int]) -> None:
        """Process the new values of the variables at these positions, at base tick ``time``."""
        if not self.is_sought:
            return
        for position in positions:
            if position in self._scopes:
                self._take(time, position, values[position])

    def _take(self, time: int, position: int, state: int) -> None:
        """Process a new accounting state of a component."""
        if self.time is None and state >= FIRST_STALL and position in self._busy:
            self.time, self.scope = time, self._scopes[position]
        if state == BUSY:
            self._busy.add(position)
        else:
            self._busy.discard(position)


def part_of(scope: str) -> str:
    """Return the machine's part that contains a component: ``gamma.pe00`` for ``gamma.pe00.merger``."""
    return ".".join(scope.split(".")[:2])


def _find_repeated_parts(scopes: Sequence[str]) -> set[str]:
    """Return the parts that consist of components and occur several times."""
    parts = {part_of(scope) for scope in scopes if part_of(scope) != scope}
    family_sizes = Counter(map(family_name, parts))
    return {part for part in parts if family_sizes[family_name(part)] > 1}
