# cython: infer_types=True
"""Arbitration policies of crossbars."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.policy import Policy, wrong_choice
from fiberscope.sim.channel import Channel

__all__ = ["ArbitrationPolicy", "Head", "head_of"]


class Head:  # C: final
    """Token at the head of an input.

    Args:
        port: the number of the input.
        control, coordinate, reference: words of the token; of a request of memory operation, tag, address.
    """

    def __init__(self, port: int, control: int, coordinate: int, reference: int) -> None:
        self.port = port
        self.control = control
        self.coordinate = coordinate
        self.reference = reference


def head_of(port: int, source: Channel) -> Head:
    """Return the head of an input, by the channel at the input."""
    return Head(port, source.control(), source.coordinate(), source.reference())


class ArbitrationPolicy(Policy):
    """Policy of a crossbar: chooses among the heads that want the same output."""

    def served(self, output: int, head: Head, now: int) -> None:  # C: return=void
        """Take note of a head that goes to an output; does nothing by default."""

    def winner(self, output: int, heads: Sequence[Head], now: int) -> Head:  # C: def
        """Return the head that goes to an output.

        The crossbar asks if two heads or more want the output, in every cycle until one has gone.

        Args:
            output: the number of the output.
            heads: by port, lowest first.
            now: the cycle of the crossbar.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say which head wins: define winner(...)")

    def winning_port(self, output: int, heads: Sequence[Head], now: int) -> int:
        """Return the input of the head that ``winner`` chooses.

        Raises:
            SimulationError: the policy chose a head that is none of those.
        """
        chosen = self.winner(output, heads, now)
        if chosen not in heads:
            raise wrong_choice(self, "winner", chosen, "heads")
        return chosen.port
