"""Arbitration policies of crossbars, and the crossbar that asks one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.hw.networks.routes import Route
from fiberscope.hw.policy import Policy
from fiberscope.sim.errors import SimulationError

__all__ = ["ArbitrationPolicy", "Head"]

UNKNOWN = -1  # output of a head whose route has not been asked yet


class Head(NamedTuple):
    """Token at the head of an input.

    Args:
        port: the number of the input.
        control, coordinate, reference: words of the token; of a request of memory operation, tag, address.
    """

    port: int
    control: int
    coordinate: int
    reference: int


class _ArbitratedCrossbar(Crossbar):
    """A crossbar in which a policy chooses among the heads that want the same output.

    The policy chooses the turn of an output before the heads contend. The input whose turn it is wins.
    """

    POLICY: ClassVar[type[ArbitrationPolicy]]

    def __init__(self, name: str, route: Route) -> None:
        super().__init__(name, route)
        self.policy = self.POLICY()

    def tick(self, now: int) -> int:
        """Let the policy choose the turn of each output that several heads want."""
        heads: dict[int, list[Head]] = {}
        pops = [source.pops for source in self.inputs]
        for port in range(self.input_count):
            if self.seen_from[port] <= now:
                source = self.inputs[port]
                goal = self.goals[port]
                output = self.route.output(source, self.output_count) if goal == UNKNOWN else goal
                token = source.control(), source.coordinate(), source.reference()
                heads.setdefault(output, []).append(Head(port, *token))
        for output, several in heads.items():
            if len(several) > 1 and 0 <= output < self.output_count:
                self.turns[output] = self._winner(output, several, now)
        next_cycle = super().tick(now)
        for output, several in heads.items():
            for head in several:
                if self.inputs[head.port].pops != pops[head.port]:
                    self.policy.served(output, head, now)
        return next_cycle

    def _winner(self, output: int, heads: Sequence[Head], now: int) -> int:
        """Ask the policy.

        Raises:
            SimulationError: the policy chose a head that is none of those.
        """
        chosen = self.policy.winner(output, heads, now)
        if chosen not in heads:
            raise SimulationError(
                f"{self.name}: {type(self.policy).__name__}.winner chose {chosen!r}, which does not contend"
            )
        return chosen.port


class ArbitrationPolicy(Policy):
    """Policy of a crossbar: chooses among the heads that want the same output."""

    BLOCK = _ArbitratedCrossbar

    def served(self, output: int, head: Head, now: int) -> None:
        """Take note of a head that has gone to an output; does nothing by default."""

    def winner(self, output: int, heads: Sequence[Head], now: int) -> Head:
        """Return the head that goes to an output.

        The crossbar asks if two heads or more want the output, in every cycle until one has gone.

        Args:
            output: the number of the output.
            heads: by port, lowest first.
            now: the cycle of the crossbar.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say which head wins: define winner(...)")
