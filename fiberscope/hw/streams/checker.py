"""Checkers: consumers that check whether streams are well-formed, and never stall them."""

from __future__ import annotations

from typing import NoReturn

from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REPSIG, STOP, VAL, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY, Protocol

SeenToken = tuple[int, int, float]  # kind, payload, value


class StreamRules:
    """Checks one stream, token by token, against the rules of a well-formed stream.

    - Nothing follows done. A stream that ends without done is not a fault.
    - The stop of the outermost list, whose level is the depth of the stream, stands directly before done. A
      stream of depth -1 has no stop, only one token before done. Stops of repeat signals have no level, so
      any number of them may stand before done.
    - No stop has a level above the depth.
    - The coordinates of a fiber increase, if the protocol is ``CRD``.
    - N occurs only where it is allowed.

    Args:
        carries: protocol of the stream.
        depth: depth of the stream; None if it is unknown, so that the highest stop determines it.
        empties: whether N tokens are allowed; by default they are allowed on all streams except coordinates,
            values and repeat signals.
    """

    def __init__(self, carries: Protocol, depth: int | None = None, empties: bool | None = None) -> None:
        self.carries = carries
        self.depth = depth
        self.empties = carries not in (CRD, VAL, REPSIG) if empties is None else empties
        self.last_token: SeenToken | None = None
        self.element_count = 0  # number of data and N tokens in the current fiber so far
        self.highest = -1  # highest level of a stop so far
        self.coordinate = -1  # last coordinate of the current fiber, -1 at its start

    def fault(self, token: SeenToken) -> str | None:
        """Check the next token; return a description of what is wrong, or None.

        The result depends on the earlier tokens: pass every token of the stream, in order.
        """
        kind, payload, _value = token
        fault = "nothing may follow done" if self.last_token and self.last_token[0] == DONE else None
        if fault is None:
            rules = {DATA: self._data, STOP: self._stop, EMPTY: self._empty, DONE: self._done}
            fault = rules[kind](payload)
        self.last_token = token
        return fault

    def _data(self, payload: int) -> str | None:
        """Check an element; of references, values and words any order is allowed."""
        fault = self._after_the_last_stop()
        if fault is None and self.carries == CRD and payload <= self.coordinate:
            return "the coordinates of a fiber must increase"
        self.coordinate = payload
        self.element_count += 1
        return fault

    def _empty(self, _payload: int) -> str | None:
        """Check an N; it counts as an element of its fiber."""
        self.element_count += 1
        return self._after_the_last_stop() if self.empties else f"a {self.carries} stream has no N"

    def _stop(self, payload: int) -> str | None:
        """Check a stop of level ``payload``, and begin a new fiber; repeat signals have no levels."""
        fault = self._after_the_last_stop()
        level = 0 if self.carries == REPSIG else payload
        if fault is None and self.depth is not None and level > self.depth:
            return f"a stream of depth {self.depth} has no stop of that level"
        self.highest = max(self.highest, level)
        self.coordinate, self.element_count = -1, 0
        return fault

    def _after_the_last_stop(self) -> str | None:
        """Describe a token after the stop of the outermost list, where only done may follow; else None."""
        has_ended = self.depth is not None and self.depth >= 0 and self.highest == self.depth
        return (
            f"S{self.depth} ends a stream of depth {self.depth}" if has_ended and self._has_levels else None
        )

    @property
    def _has_levels(self) -> bool:
        """Return whether the stops of the stream carry their level."""
        return self.carries != REPSIG

    def _done(self, _payload: int) -> str | None:
        """Check that done follows the outermost stop, or the single token of a stream of depth -1."""
        if self.last_token is None:
            return "done must not be the first token"
        if self.last_token[0] != STOP:
            # ``element_count`` begins anew after each stop, so ``highest`` must show that there was no stop.
            single = self.element_count == 1 and self.highest < 0 and self.depth in (None, -1)
            return None if single else "a stop must stand before done"
        if self._has_levels and self.last_token[1] < (self.highest if self.depth is None else self.depth):
            return "a stop of the highest level must stand before done"
        return None

    def write(self, token: SeenToken) -> str:
        """Return a token as text."""
        return str(format_token(*token, self.carries))


class StreamChecker(Component):
    """Checks streams that must have the same shape, such as the coordinates and references of one block.

    Interface: each of ``in_stream[i]`` is an additional consumer of a stream. Each stream must be
    well-formed by itself. All streams must have tokens of the same kind at the same places, with stops of
    the same level. A stream that lacks its last tokens at the end of the run is not reported.

    Args:
        name: instance name, which error messages use for the edge: the name of the producer and its port.
        depth: depth of the streams; None if it is unknown.
        empties: whether N tokens are allowed; see ``StreamRules``.

    Raises:
        SimulationError: during the run, if a rule is broken; the message names the cycle, the edge and the
            tokens.
    """

    PORTS = (Input("in_stream", ANY, array=True),)

    in_stream: list[Channel]

    def __init__(self, name: str, depth: int | None = None, empties: bool | None = None) -> None:
        super().__init__(name)
        self.depth, self.empties = depth, empties
        self.rules: list[StreamRules] = []
        self.queues: list[list[SeenToken]] = []  # by stream, tokens to compare with those of the others

    def elaborate(self) -> None:
        """Look up the streams of the ports, and create the rules of each."""
        super().elaborate()
        self.rules = [StreamRules(channel.protocol, self.depth, self.empties) for channel in self.in_stream]
        self.queues = [[] for _ in self.in_stream]

    def tick(self, now: int) -> int:
        """Check all visible tokens."""
        has_received = False
        for channel, rules, queue in zip(self.in_stream, self.rules, self.queues, strict=True):
            while channel.can_pop():
                token = (channel.control(), channel.coordinate(), channel.value())
                channel.pop()
                self._check(rules, token, now)
                queue.append(token)
                has_received = True
        self._compare(now)
        return self.busy(now + 1) if has_received else self.idle()

    def _check(self, rules: StreamRules, token: SeenToken, now: int) -> None:
        """Raise ``SimulationError`` if the next token of a stream breaks its rules."""
        last_token = rules.last_token  # ``fault`` replaces it
        fault = rules.fault(token)
        if fault is not None:
            position = "at the start" if last_token is None else f"behind {rules.write(last_token)}"
            self._refuse(now, f"{rules.write(token)} {position}: {fault}")

    def _compare(self, now: int) -> None:
        """Compare the tokens at every place that all streams have reached."""
        # ``all`` of no streams is true: the second condition ends the loop.
        while all(self.queues) and len(self.queues) > 1:
            tokens = [queue.pop(0) for queue in self.queues]
            shapes = {(kind, payload if kind == STOP else 0) for kind, payload, _value in tokens}
            if len(shapes) > 1:
                side_by_side = ", ".join(map(StreamRules.write, self.rules, tokens))
                self._refuse(now, f"{side_by_side} in the same place: the streams must have the same shape")
        if len(self.queues) == 1:
            self.queues[0].clear()

    def _refuse(self, now: int, fault: str) -> NoReturn:
        # A token is visible one cycle after it was sent; the message names the cycle of the producer.
        raise SimulationError(f"cycle {now - 1}, {self.name}: {fault}")
