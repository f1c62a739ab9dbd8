# cython: infer_types=True
"""The router of SIGMA's network: settings for any multicast, found by a search with backtracking."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.networks.benes import DOUBLE, check_lanes, columns
from fiberscope.sim.errors import SimulationError

STEP_CAP = 512  # paths laid before a search begins anew: few, as an order that leads on does so at once
RESTARTS = 20_000  # after which a pattern counts as one that cannot be routed
FREE = -1  # instead of a source: a wire that carries none, an output that wants none


class MulticastRouter:  # C: final
    """Finds the settings of SIGMA's network for any multicast: a search for paths that share no wire.

    The path from a source to an output is known by its row in the middle column: up to there the low bits of
    the source's row become those of the middle row, from there on the high bits become the output's. Two
    paths may share a wire only if they come from one source. Outputs are routed in order, each by the first
    middle row that goes; where none does, the path before is taken back. After ``step_cap`` paths laid the
    search begins anew with the outputs in a random order, those of one source together.

    Args:
        lanes: of the network, a power of two from 2 to 256.
        step_cap: paths that are laid in one order.
        seed: of the orders.

    ``restarts`` and ``steps`` count those of all patterns so far.

    Raises:
        ValueError: for another number of lanes, or no step.
    """

    def __init__(self, lanes: int, step_cap: int = STEP_CAP, seed: int = 1) -> None:
        check_lanes("router", lanes)
        if step_cap < lanes:
            raise ValueError(f"router: step_cap must be at least {lanes}, a path a lane, not {step_cap}")
        self.lanes = lanes
        self.step_cap = step_cap
        self.restarts = 0
        self.steps = 0
        self._hops = columns(DOUBLE, lanes)
        self._random = 2 * seed + 1
        self._wanted = 0  # outputs that have a source
        self._sources = array("q", bytes(8 * lanes))  # by output
        self._middle = array("q", bytes(8 * lanes))  # by output: the middle row
        self._order = array("q", bytes(8 * lanes))
        self._free = array("b", bytes(lanes * lanes))  # by output and middle row: a path to be tried
        self._owner = array("q", bytes(8 * 2 * lanes * self._hops))  # by wire: the source, or FREE
        self._users = array("q", bytes(8 * 2 * lanes * self._hops))  # by wire: how many paths share it
        self._bits = array("q", bytes(8 * lanes))  # the settings, row by row

    def route(self, sources: Sequence[int]) -> list[int]:  # C: def
        """The settings with which output o takes input ``sources[o]``, or any where that is negative.

        Raises:
            ValueError: for other sources than there are lanes, or another number of them.
            SimulationError: if no way is found, which no pattern is known for.
        """
        self._load(sources)
        for _ in range(RESTARTS):
            if self._search():
                self._set()
                return list(self._bits)
            self.restarts += 1
            self._shuffle()
        raise SimulationError(f"no way through a network of {self.lanes} lanes for {list(sources)}")

    def _load(self, sources: Sequence[int]) -> None:
        if len(sources) != self.lanes or max(sources) >= self.lanes:
            raise ValueError(f"{list(sources)} are no sources of {self.lanes} outputs")
        self._wanted = 0
        for output in range(self.lanes):
            self._sources[output] = sources[output]
            if self._sources[output] >= 0:
                self._order[self._wanted] = output
                self._wanted += 1

    def _search(self) -> bool:  # C: noexcept
        """Lay a path for every output in order; whether that came to an end within the cap."""
        self._clear()
        steps = place = 0  # C: steps=long, place=long
        while 0 <= place < self._wanted and steps < self.step_cap:
            output = self._order[place]
            if self._lay_next(output):
                steps += 1
                place += 1
                if place < self._wanted:
                    self._find_free(self._order[place], 0, 0)
            else:
                place -= 1
                if place >= 0:
                    self._lay(self._order[place], -1)
        self.steps += steps
        return place == self._wanted

    def _lay_next(self, output: int) -> bool:  # C: noexcept
        """Lay the first free path that has not been tried; whether there is one."""
        first = output * self.lanes
        for middle in range(self.lanes):
            if self._free[first + middle]:
                self._free[first + middle] = 0
                self._middle[output] = middle
                self._lay(output, 1)
                return True
        return False

    def _find_free(self, output: int, bits: int, depth: int) -> None:  # C: noexcept
        """Find the free paths by middle rows with these low bits, so many of which are known.

        Each bit decides over two wires more, from the outermost to the innermost.
        """
        if 2 * depth == self._hops:
            self._free[output * self.lanes + bits] = 1
            return
        if self._is_free(output, bits, depth):
            self._find_free(output, bits, depth + 1)
        bits |= 1 << depth
        if self._is_free(output, bits, depth):
            self._find_free(output, bits, depth + 1)

    def _is_free(self, output: int, middle: int, hop: int) -> bool:  # C: noexcept
        """Return whether a path may take this hop and that as far from the other end."""
        source = self._sources[output]
        owner = self._owner[self._wire(output, middle, hop)]
        if owner not in (FREE, source):
            return False
        owner = self._owner[self._wire(output, middle, self._hops - 1 - hop)]
        return owner in (FREE, source)

    def _wire(self, output: int, middle: int, hop: int) -> int:  # C: noexcept
        """The wire from column ``hop`` to the next that a path takes; odd ones are diagonal."""
        row = self._row(output, middle, hop)
        return 2 * (hop * self.lanes + row) + (row != self._row(output, middle, hop + 1))

    def _row(self, output: int, middle: int, column: int) -> int:  # C: noexcept
        """The row in which a path visits a column."""
        high = self._sources[output]
        if 2 * column > self._hops:
            high = output
            column = self._hops - column
        mask = (1 << column) - 1
        return (middle & mask) | (high & ~mask)

    def _lay(self, output: int, users: int) -> None:  # C: noexcept
        """Lay the path of an output (1), or take it back (-1)."""
        for hop in range(self._hops):
            wire = self._wire(output, self._middle[output], hop)
            self._users[wire] += users
            self._owner[wire] = self._sources[output] if self._users[wire] else FREE

    def _set(self) -> None:  # C: noexcept
        """Turn the paths into settings."""
        for row in range(self.lanes):
            self._bits[row] = 0
        for place in range(self._wanted):
            self._set_path(self._order[place])

    def _set_path(self, output: int) -> None:  # C: noexcept
        """Choose the diagonal input wherever the path comes by one."""
        middle = self._middle[output]
        for column in range(1, self._hops + 1):
            if self._wire(output, middle, column - 1) & 1:
                leaves = self._wire(output, middle, column) & 1 if column < self._hops else 0
                self._bits[self._row(output, middle, column)] |= 1 << (2 * (column - 1) + leaves)

    def _clear(self) -> None:  # C: noexcept
        for wire in range(2 * self.lanes * self._hops):
            self._owner[wire] = FREE
            self._users[wire] = 0
        for path in range(self.lanes * self.lanes):
            self._free[path] = 0
        if self._wanted:
            self._find_free(self._order[0], 0, 0)

    def _shuffle(self) -> None:  # C: noexcept
        """Bring the outputs into another order (Fisher and Yates; a linear congruential generator)."""
        for place in range(self._wanted - 1, 0, -1):
            self._random = (self._random * 1103515245 + 12345) & 0x7FFFFFFF
            other = (self._random >> 8) % (place + 1)
            held = self._order[place]
            self._order[place] = self._order[other]
            self._order[other] = held
        self._gather()

    def _gather(self) -> None:  # C: noexcept
        """Bring the outputs of one source together, behind the first of them."""
        for place in range(self._wanted - 1):
            source = self._sources[self._order[place]]
            for other in range(place + 1, self._wanted):
                if self._sources[self._order[other]] == source:
                    held = self._order[other]
                    self._order[other] = self._order[place + 1]
                    self._order[place + 1] = held
                    break
