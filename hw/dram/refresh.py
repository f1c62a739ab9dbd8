"""When refreshes fall due, and whose turn it is."""

from __future__ import annotations

from array import array

from hw.dram.specification import DramSpecification
from sim.constants import FAR


class RefreshTimer:
    """Deals out the refreshes of one channel.

    With ``all_bank`` every pseudo-channel is due for one each tREFI; with ``per_bank`` one bank of every
    pseudo-channel each part of tREFI, as many parts as a pseudo-channel has banks, so that each bank's turn
    comes once a tREFI. Turns are taken in order, and none is passed over.

    ``due`` is the cycle in which the next fall due, ``owed`` how many are due and not made. ``pseudo`` and
    ``bank`` (numbered over the channel) are whose turn it is; ``made`` counts by bank, or by pseudo-channel.
    """

    def __init__(self, specification: DramSpecification) -> None:
        device = specification.device
        organisation = device.organisation
        self.by_bank = specification.refresh == "per_bank"
        self._pseudo_channels = organisation.pseudo_channels
        self._turns = organisation.bank_groups * organisation.banks if self.by_bank else 1
        self._interval = FAR if specification.refresh == "off" else device.timing.refi
        self._rounds = 1  # of all pseudo-channels, until the next falls due
        self.due = self._interval // self._turns
        self.owed = 0
        self.pseudo = 0
        self.bank = 0
        self._turn = 0
        self.made = array("q", bytes(8 * self._pseudo_channels * self._turns))

    def fall_due(self, now: int) -> None:
        """Owe what falls due up to cycle ``now``."""
        while self.due <= now:
            self._rounds += 1
            self.due = self._rounds * self._interval // self._turns  # of whole tREFIs: parts add up to them
            self.owed += self._pseudo_channels

    def done(self) -> None:
        """The refresh whose turn it is was made: the next one's turn."""
        self.made[self.bank] += 1
        self.owed -= 1
        self.pseudo += 1
        if self.pseudo == self._pseudo_channels:
            self.pseudo = 0
            self._turn = (self._turn + 1) % self._turns
        self.bank = self.pseudo * self._turns + self._turn
