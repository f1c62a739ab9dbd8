# cython: infer_types=True
"""Cycle accounts of a whole machine so far, read at once, for observers over time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component


class Ledger:  # C: final
    """Adds up the accounts of components, and the tokens in channels, in columns that a caller chooses.

    Args:
        components: of a built machine.
        accounts: for each of them, the column of each of its states.
        channels: of the machine.
        queues: the column of each of them.
    """

    def __init__(
        self,
        components: Sequence[Component],
        accounts: Sequence[Sequence[int]],
        channels: Sequence[Channel],
        queues: Sequence[int],
    ) -> None:
        self.components = list(components)
        self.channels = list(channels)
        clocks = [component.clock for component in components]
        self.periods = array("q", [clock.period if clock else 1 for clock in clocks])
        self.accounts = array("q", [column for states in accounts for column in states])
        self.queues = array("q", queues)

    def read(self, row: array[int], time: int) -> None:  # C: row=long[::1]
        """Add to ``row`` what it is at this base tick, before which everything has ticked, and nothing at it.

        A component's cycles are those of its own clock.
        """
        first = 0  # C: long
        for i in range(len(self.components)):
            component = inline.component(self.components[i])
            period = self.periods[i]
            states = len(component._cycles)
            for state in range(states):
                row[self.accounts[first + state]] += component._cycles[state]
            cycle = (time + period - 1) // period
            row[self.accounts[first + component._state]] += cycle - component._since
            first += states
        for i in range(len(self.channels)):
            row[self.queues[i]] += inline.channel(self.channels[i]).occupancy
