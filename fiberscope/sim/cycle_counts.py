# cython: infer_types=True
"""Cycle accounts of a whole machine, read in one call, for observers that sample over time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component


class Ledger:  # C: final
    """Add up the accounts of components and the tokens in channels, by columns that a caller selects.

    Args:
        components: components of a built machine.
        accounts: for each component, the column of each of its states.
        channels: channels of the machine.
        queues: the column of each channel.
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
        """Add the counts at a base tick to ``row``. All components have ticked before it, none at it.

        The cycles of a component are cycles of its own clock.
        """
        offset = 0  # C: long
        for i in range(len(self.components)):
            component = inline.component(self.components[i])
            period = self.periods[i]
            states = len(component._cycles)
            for state in range(states):
                row[self.accounts[offset + state]] += component._cycles[state]
            cycle = (time + period - 1) // period
            row[self.accounts[offset + component._state]] += cycle - component._since
            offset += states
        for i in range(len(self.channels)):
            row[self.queues[i]] += inline.channel(self.channels[i]).occupancy
