# cython: infer_types=True
"""The timer of refreshes, which decides when a refresh falls due and for which bank."""

from __future__ import annotations

from array import array

from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.sim.constants import MAX_TIME


class RefreshTimer:  # C: final
    """A timer that schedules the refreshes of one channel.

    The caller calls ``fall_due`` when a refresh falls due, ``choose`` before it uses ``bank``, and
    ``complete`` after it has issued the refresh of ``pseudo`` or ``bank``.

    With ``all_bank``, a refresh of every pseudo-channel falls due each tREFI. With ``per_bank``, a refresh of
    one bank of every pseudo-channel falls due each tREFI / n, where n is the number of banks of a
    pseudo-channel: each bank is refreshed once per tREFI, in the order of the banks. With
    ``per_bank_lookahead``, the next bank is the one with the fewest waiting bursts among those not yet
    refreshed in this round; of several, the one with the lowest number. Every bank is refreshed once per
    round. With ``off``, no refresh falls due.

    Args:
        specification: device, and the refresh policy.

    ``due`` is the cycle in which the next refreshes fall due. ``owed`` is the number of refreshes that are
    due and not issued. ``pseudo`` and ``bank`` (numbered over the channel) are the target of the next
    refresh; for all banks, ``bank`` equals ``pseudo``. ``refresh_counts`` is the number of refreshes of each
    bank, or of each pseudo-channel. ``waiting_bursts`` is the number of bursts that wait for each bank; the
    controller updates it.
    """

    def __init__(self, specification: DramSpecification) -> None:
        device = specification.device
        organisation = device.organisation
        self.by_bank = specification.refresh in ("per_bank", "per_bank_lookahead")
        self._has_lookahead = specification.refresh == "per_bank_lookahead"
        self._pseudo_channels = organisation.pseudo_channels  # C: long
        self._turns = organisation.bank_groups * organisation.banks if self.by_bank else 1  # C: long
        self._interval = MAX_TIME if specification.refresh == "off" else device.timing.refi  # C: long
        self._rounds = 1  # number of the next time that refreshes fall due, from 1
        self.due = self._interval // self._turns  # C: long
        self.owed = 0
        self.pseudo = 0
        self.bank = 0
        self._turn = 0
        self._issued = 0  # refreshes issued to every pseudo-channel so far
        self.refresh_counts = array("q", bytes(8 * self._pseudo_channels * self._turns))
        self.waiting_bursts = array("q", bytes(8 * organisation.total_banks))

    def fall_due(self, now: int) -> None:  # C: cdef, noexcept
        """Add the refreshes that fall due up to cycle ``now`` to ``owed``."""
        while self.due <= now:
            self._rounds += 1
            self.due = self._rounds * self._interval // self._turns  # no rounding error adds up
            self.owed += self._pseudo_channels

    def choose(self) -> None:  # C: cdef, noexcept
        """Choose ``bank`` by the present ``waiting_bursts``; without lookahead, do nothing.

        The caller keeps the choice until the refresh is issued.
        """
        if not self._has_lookahead:
            return
        first_bank = self.pseudo * self._turns
        fewest = MAX_TIME
        for bank in range(first_bank, first_bank + self._turns):
            # The quotient is the number of complete rounds: a bank with more refreshes has had its turn
            pending = self.refresh_counts[bank] == self._issued // self._turns
            if pending and self.waiting_bursts[bank] < fewest:
                fewest = self.waiting_bursts[bank]
                self.bank = bank

    def complete(self) -> None:  # C: cdef, noexcept
        """Count the issued refresh, and advance to the next target."""
        self.refresh_counts[self.bank] += 1
        self.owed -= 1
        # All pseudo-channels get this turn's refresh before the next turn begins
        self.pseudo += 1
        if self.pseudo == self._pseudo_channels:
            self.pseudo = 0
            self._turn = (self._turn + 1) % self._turns
            self._issued += 1
        # In the order of the banks; with lookahead, ``choose`` replaces the bank
        self.bank = self.pseudo * self._turns + self._turn
