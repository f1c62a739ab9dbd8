# cython: infer_types=True
"""A router for SIGMA's network, which finds the settings for any multicast by backtracking search."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.networks.benes import DOUBLE, check_lanes, count_columns
from fiberscope.sim.errors import SimulationError

STEP_CAP = 512  # paths tried before a restart; few, as a good order of outputs succeeds quickly
RESTARTS = 20_000  # number of searches after which a multicast counts as unroutable
FREE = -1  # value instead of a source, for a wire without a path or an output without a source


class MulticastRouter:  # C: final
    """A router that searches for paths which do not share wires, for any multicast in SIGMA's network.

    The row of a path in the middle column determines the path from a source to an output. Up to this column,
    the low bits of the source's row are replaced one by one by those of the middle row. After this column,
    the bits are replaced one by one by those of the output's row. Two paths can share a wire only if they
    have the same source.

    The search routes the outputs in order, each by the first middle row whose wires are free. If there is
    none, it removes the path of the output before and tries the next middle row there. The first order is
    that of the outputs' numbers, whatever the multicasts before. After ``step_cap``
    paths, or if no path is left, the search restarts with a random order of the outputs. In this order, the
    outputs of a source are consecutive. The random numbers continue from one multicast to the next: settings
    that need a restart depend on the multicasts before.

    Args:
        lanes: number of lanes of the network, a power of two from 2 to 256.
        step_cap: maximum number of paths that are tried in one order, at least ``lanes``.
        seed: seed of the random orders.

    ``restarts`` and ``steps`` are the numbers of restarts and of paths tried so far, for all multicasts.

    Raises:
        ValueError: if ``lanes`` or ``step_cap`` is out of its range.
    """

    def __init__(self, lanes: int, step_cap: int = STEP_CAP, seed: int = 1) -> None:
        check_lanes("router", lanes)
        if step_cap < lanes:
            raise ValueError(f"router: step_cap must be at least {lanes}, a path a lane, not {step_cap}")
        self.lanes = lanes
        self.step_cap = step_cap
        self.restarts = 0
        self.steps = 0
        self._hops = count_columns(DOUBLE, lanes)
        self._random = 2 * seed + 1
        self._connected = 0  # number of outputs that have a source
        self._sources = array("q", bytes(8 * lanes))  # by output: its source
        self._middle = array("q", bytes(8 * lanes))  # by output: the middle row of its path
        self._order = array("q", bytes(8 * lanes))  # the outputs in the order of the search
        self._is_untried = array(
            "b", bytes(lanes * lanes)
        )  # by output and middle row: 1 if the path is untried
        self._owner = array("q", bytes(8 * 2 * lanes * self._hops))  # by wire: its source or FREE
        self._users = array("q", bytes(8 * 2 * lanes * self._hops))  # by wire: number of paths
        self._bits = array("q", bytes(8 * lanes))  # the settings, row by row

    def route(self, sources: Sequence[int]) -> list[int]:  # C: def
        """Return the rows of settings that connect each output o to input ``sources[o]``.

        The result has a number for each row of nodes (``benes.count_setting_bits`` of ``double``).

        Args:
            sources: for each output, the number of its input; negative for an output that needs no input.

        Raises:
            ValueError: if the number of sources is not the number of lanes, or a source does not exist.
            SimulationError: if the search fails; no multicast is known for which it does.
        """
        self._load(sources)
        for _ in range(RESTARTS):
            if self._search():
                self._set_settings()
                return list(self._bits)
            self.restarts += 1
            self._shuffle()
        raise SimulationError(f"no way through a network of {self.lanes} lanes for {list(sources)}")

    def _load(self, sources: Sequence[int]) -> None:
        """Check the sources, and list the outputs that have one."""
        if len(sources) != self.lanes or max(sources) >= self.lanes:
            raise ValueError(f"{list(sources)} are no sources of {self.lanes} outputs")
        self._connected = 0
        for output in range(self.lanes):
            self._sources[output] = sources[output]
            if self._sources[output] >= 0:
                self._order[self._connected] = output
                self._connected += 1

    def _search(self) -> bool:  # C: noexcept
        """Search for a path for every output in order; return whether the search succeeded within the cap."""
        self._clear()
        steps = position = 0  # C: steps=long, position=long
        while 0 <= position < self._connected and steps < self.step_cap:
            output = self._order[position]
            if self._add_next_path(output):
                steps += 1
                position += 1
                # The paths of the next output are marked anew: the paths added since may use its wires.
                if position < self._connected:
                    self._find_free(self._order[position], 0, 0)
            else:
                position -= 1
                if position >= 0:
                    self._change_path(self._order[position], -1)
        self.steps += steps
        return position == self._connected

    def _add_next_path(self, output: int) -> bool:  # C: noexcept
        """Add the first free, untried path of an output; return whether there was one."""
        first_path = output * self.lanes
        for middle in range(self.lanes):
            if self._is_untried[first_path + middle]:
                self._is_untried[first_path + middle] = 0
                self._middle[output] = middle
                self._change_path(output, 1)
                return True
        return False

    def _find_free(self, output: int, bits: int, depth: int) -> None:  # C: noexcept
        """Mark the free paths of an output whose middle rows have the ``depth`` low bits ``bits``.

        Each further bit determines two more wires of a path, from the ends of the network to the middle.
        """
        if 2 * depth == self._hops:
            self._is_untried[output * self.lanes + bits] = 1
            return
        if self._is_free(output, bits, depth):
            self._find_free(output, bits, depth + 1)
        bits |= 1 << depth
        if self._is_free(output, bits, depth):
            self._find_free(output, bits, depth + 1)

    def _is_free(self, output: int, middle: int, hop: int) -> bool:  # C: noexcept
        """Return whether a path can use the wire of this hop, and the wire as far from the other end."""
        source = self._sources[output]
        owner = self._owner[self._wire(output, middle, hop)]
        if owner not in (FREE, source):
            return False
        owner = self._owner[self._wire(output, middle, self._hops - 1 - hop)]
        return owner in (FREE, source)

    def _wire(self, output: int, middle: int, hop: int) -> int:  # C: noexcept
        """Return the wire of a path from column ``hop`` to the next; odd numbers are diagonal wires."""
        row = self._row(output, middle, hop)
        return 2 * (hop * self.lanes + row) + (row != self._row(output, middle, hop + 1))

    def _row(self, output: int, middle: int, column: int) -> int:  # C: noexcept
        """Return the row of a path in a column."""
        high = self._sources[output]
        # Behind the middle, the path is that of the mirrored network, seen from the output
        if 2 * column > self._hops:
            high = output
            column = self._hops - column
        mask = (1 << column) - 1
        return (middle & mask) | (high & ~mask)

    def _change_path(self, output: int, users: int) -> None:  # C: noexcept
        """Add (``users`` = 1) or remove (-1) the path of an output."""
        for hop in range(self._hops):
            wire = self._wire(output, self._middle[output], hop)
            self._users[wire] += users
            # All users of a wire have the same source, so the others keep the owner when one path goes.
            self._owner[wire] = self._sources[output] if self._users[wire] else FREE

    def _set_settings(self) -> None:  # C: noexcept
        """Set the rows of settings from the paths."""
        for row in range(self.lanes):
            self._bits[row] = 0
        for position in range(self._connected):
            self._set_path(self._order[position])

    def _set_path(self, output: int) -> None:  # C: noexcept
        """Select the diagonal input of each node that the path of an output enters by a diagonal wire.

        The bit is that of the node's output by which the path goes on; the last column has one output only.
        """
        middle = self._middle[output]
        for column in range(1, self._hops + 1):
            if self._wire(output, middle, column - 1) & 1:
                is_diagonal = self._wire(output, middle, column) & 1 if column < self._hops else 0
                self._bits[self._row(output, middle, column)] |= 1 << (2 * (column - 1) + is_diagonal)

    def _clear(self) -> None:  # C: noexcept
        """Remove all paths, and mark the free paths of the first output."""
        for wire in range(2 * self.lanes * self._hops):
            self._owner[wire] = FREE
            self._users[wire] = 0
        for path in range(self.lanes * self.lanes):
            self._is_untried[path] = 0
        if self._connected:
            self._find_free(self._order[0], 0, 0)

    def _shuffle(self) -> None:  # C: noexcept
        """Shuffle the order of the outputs (Fisher-Yates, with a linear congruential generator)."""
        for position in range(self._connected - 1, 0, -1):
            self._random = (self._random * 1103515245 + 12345) & 0x7FFFFFFF
            # The low bits of a generator modulo a power of two have short periods.
            other_position = (self._random >> 8) % (position + 1)
            output = self._order[position]
            self._order[position] = self._order[other_position]
            self._order[other_position] = output
        self._gather()

    def _gather(self) -> None:  # C: noexcept
        """Move the outputs of each source together, after the first output of the source."""
        for position in range(self._connected - 1):
            source = self._sources[self._order[position]]
            for other_position in range(position + 1, self._connected):
                if self._sources[self._order[other_position]] == source:
                    output = self._order[other_position]
                    self._order[other_position] = self._order[position + 1]
                    self._order[position + 1] = output
                    break  # the next position continues from here with the same source
