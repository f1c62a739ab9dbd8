# cython: infer_types=True
"""The base class of arbitration policies of a crossbar."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.policy import Policy, wrong_choice
from fiberscope.sim.channel import Channel

__all__ = ["ArbitrationPolicy", "Head", "head_of"]


class Head:  # C: final
    """The token at the head of an input.

    Args:
        port: number of the input.
        control, coordinate, reference: fields of the token; for a memory request, these are its operation,
            tag and address.
    """

    def __init__(self, port: int, control: int, coordinate: int, reference: int) -> None:
        self.port = port
        self.control = control
        self.coordinate = coordinate
        self.reference = reference


def head_of(port: int, source: Channel) -> Head:
    """Return the head of the input ``port``, whose channel is ``source``."""
    return Head(port, source.control(), source.coordinate(), source.reference())


class ArbitrationPolicy(Policy):
    """A policy that chooses among the heads which request the same output of a crossbar.

    A subclass defines ``winner``. It may define ``served``, to follow the traffic.
    """

    def served(self, output: int, head: Head, now: int) -> None:  # C: return=void
        """Observe a head that is sent to an output in cycle ``now``; does nothing by default.

        The crossbar calls this method for every head that it sends, also if no other head requested the
        output, just before the token moves.
        """

    def winner(self, output: int, heads: Sequence[Head], now: int) -> Head:  # C: def
        """Return the head to send to an output.

        The crossbar calls this method in each of its ticks in which two or more heads request the output,
        also while the output has no free slot. It does not tick in every cycle. Only ``served`` says that a
        head is sent.

        Args:
            output: number of the output.
            heads: heads that request the output, in ascending order of their ports. The objects are new in
                each call.
            now: current cycle of the crossbar.

        Returns:
            One of ``heads``.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not choose the winning head: define winner(...)"
        )

    def winning_port(self, output: int, heads: Sequence[Head], now: int) -> int:
        """Return the input of the head that ``winner`` chooses.

        Args:
            output, heads, now: as for ``winner``.

        Raises:
            SimulationError: if the policy chooses a head that is not one of ``heads``.
        """
        head = self.winner(output, heads, now)
        if head not in heads:  # ``Head`` defines no equality: a copy of a head is refused too
            raise wrong_choice(self, "winner", head, "heads")
        return head.port
