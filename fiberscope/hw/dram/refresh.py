# cython: infer_types=True
"""When refreshes fall due, and whose turn it is."""

from __future__ import annotations

from array import array

from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.sim.constants import MAX_TIME


class RefreshTimer:  # C: final
    """Deals out the refreshes of one channel.

    With ``all_bank`` every pseudo-channel is due for one each tREFI; with ``per_bank`` one bank of every
    pseudo-channel each part of tREFI, as many parts as a pseudo-channel has banks, so that each bank's turn
    comes once a tREFI. Turns are taken in order; with ``per_bank_lookahead`` the next is that of the bank for
    which the fewest bursts wait, among those that were not refreshed in this round. None is passed over.

    ``due`` is the cycle in which the next fall due, ``owed`` how many are due and not made. ``pseudo`` and
    ``bank`` (numbered over the channel) are whose turn it is; ``refresh_counts`` counts by bank, or by
    pseudo-channel.
    ``wanted`` is the bursts that wait for each bank, to be kept by who queues them.
    """

    def __init__(self, specification: DramSpecification) -> None:
        device = specification.device
        organisation = device.organisation
        self.by_bank = specification.refresh in ("per_bank", "per_bank_lookahead")
        self._ahead = specification.refresh == "per_bank_lookahead"
        self._pseudo_channels = organisation.pseudo_channels  # C: long
        self._turns = organisation.bank_groups * organisation.banks if self.by_bank else 1  # C: long
        self._interval = MAX_TIME if specification.refresh == "off" else device.timing.refi  # C: long
        self._rounds = 1  # of all pseudo-channels, until the next falls due
        self.due = self._interval // self._turns  # C: long
        self.owed = 0
        self.pseudo = 0
        self.bank = 0
        self._turn = 0
        self._taken = 0  # turns of every pseudo-channel so far
        self.refresh_counts = array("q", bytes(8 * self._pseudo_channels * self._turns))
        self.wanted = array("q", bytes(8 * organisation.total_banks))

    def fall_due(self, now: int) -> None:  # C: cdef, noexcept
        """Owe what falls due up to cycle ``now``."""
        while self.due <= now:
            self._rounds += 1
            self.due = self._rounds * self._interval // self._turns  # of whole tREFIs: parts add up to them
            self.owed += self._pseudo_channels

    def choose(self) -> None:  # C: cdef, noexcept
        """Settle whose turn it is, with lookahead: what was chosen stays so until its refresh is done."""
        if not self._ahead:
            return
        first = self.pseudo * self._turns
        fewest = MAX_TIME
        for bank in range(first, first + self._turns):
            if self.refresh_counts[bank] == self._taken // self._turns and self.wanted[bank] < fewest:
                fewest = self.wanted[bank]
                self.bank = bank

    def done(self) -> None:  # C: cdef, noexcept
        """The refresh whose turn it is was made: the next one's turn."""
        self.refresh_counts[self.bank] += 1
        self.owed -= 1
        self.pseudo += 1
        if self.pseudo == self._pseudo_channels:
            self.pseudo = 0
            self._turn = (self._turn + 1) % self._turns
            self._taken += 1
        self.bank = self.pseudo * self._turns + self._turn
