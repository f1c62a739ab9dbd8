"""Checkers: consumers that hold streams to the grammar, and never stall them."""

from __future__ import annotations

from typing import NoReturn

from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REPSIG, STOP, VAL, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY, Protocol

Seen = tuple[int, int, float]  # kind, payload, value


class StreamRules:
    """The rules of one stream, token by token (Section 1.3 of the specification, rules 1 to 4 and 9).

    Args:
        carries: what the stream carries.
        depth: the depth of the stream; None if it is not known: then the last stop says it.
        empties: whether N may be on it; by default only on references.
    """

    def __init__(self, carries: Protocol, depth: int | None = None, empties: bool | None = None) -> None:
        self.carries = carries
        self.depth = depth
        self.empties = carries not in (CRD, VAL, REPSIG) if empties is None else empties
        self.last: Seen | None = None
        self.before = 0  # data and N in the present fiber
        self.highest = -1  # level of stop so far
        self.coordinate = -1  # the last of the present fiber

    def fault(self, token: Seen) -> str | None:
        """Describe what is wrong with the next token, None if nothing is."""
        kind, payload, _value = token
        fault = "nothing may follow done" if self.last and self.last[0] == DONE else None
        if fault is None:
            rules = {DATA: self._data, STOP: self._stop, EMPTY: self._empty, DONE: self._done}
            fault = rules[kind](payload)
        self.last = token
        return fault

    def _data(self, payload: int) -> str | None:
        late = self._after_the_last_stop()
        if late is None and self.carries == CRD and payload <= self.coordinate:
            return "the coordinates of a fiber must increase"
        self.coordinate = payload
        self.before += 1
        return late

    def _empty(self, _payload: int) -> str | None:
        self.before += 1
        return self._after_the_last_stop() if self.empties else f"a {self.carries} stream has no N"

    def _stop(self, payload: int) -> str | None:
        late = self._after_the_last_stop()
        level = 0 if self.carries == REPSIG else payload
        if late is None and self.depth is not None and level > self.depth:
            return f"a stream of depth {self.depth} has no stop of that level"
        self.highest = max(self.highest, level)
        self.coordinate, self.before = -1, 0
        return late

    def _after_the_last_stop(self) -> str | None:
        """Describe a token after the stop of the outermost list; only done may follow there."""
        ended = self.depth is not None and self.depth >= 0 and self.highest == self.depth
        return f"S{self.depth} ends a stream of depth {self.depth}" if ended and self._tells else None

    @property
    def _tells(self) -> bool:
        """Return whether stops say their level."""
        return self.carries != REPSIG

    def _done(self, _payload: int) -> str | None:
        if self.last is None:
            return "done must not be the first token"
        if self.last[0] != STOP:
            single = self.before == 1 and self.highest < 0 and self.depth in (None, -1)
            return None if single else "a stop must stand before done"
        if self._tells and self.last[1] < (self.highest if self.depth is None else self.depth):
            return "a stop of the highest level must stand before done"
        return None

    def write(self, token: Seen) -> str:
        """A token as text."""
        return str(text(*token, self.carries))


class StreamChecker(Component):
    """Checks streams that must have the same shape, such as the coordinates and references of one block.

    Interface: each of ``in_stream[i]`` is one more consumer of a stream. Each must be well-formed by itself,
    and all must have tokens of the same kind in the same places, with the same stops.

    Args:
        name: instance name, which names the edge in messages: that of the producer and its port.
        depth: the depth of the streams; None if it is not known.
        empties: whether N may be on them; by default only on references.

    Raises:
        SimulationError: in the run, naming the cycle, the edge, and both tokens.
    """

    PORTS = (Input("in_stream", ANY, array=True),)

    in_stream: list[Channel]

    def __init__(self, name: str, depth: int | None = None, empties: bool | None = None) -> None:
        super().__init__(name)
        self.depth, self.empties = depth, empties
        self.rules: list[StreamRules] = []
        self.waiting: list[list[Seen]] = []  # tokens that the other streams have not come to yet

    def elaborate(self) -> None:
        """Fetch the streams, and the rules of each."""
        super().elaborate()
        self.rules = [StreamRules(each.protocol, self.depth, self.empties) for each in self.in_stream]
        self.waiting = [[] for _ in self.in_stream]

    def tick(self, now: int) -> int:
        """Check all tokens that are seen."""
        moved = False
        for channel, rules, waiting in zip(self.in_stream, self.rules, self.waiting, strict=True):
            while channel.can_pop():
                token = (channel.control(), channel.coordinate(), channel.value())
                channel.pop()
                self._check(rules, token, now)
                waiting.append(token)
                moved = True
        self._compare(now)
        return self.busy(now + 1) if moved else self.idle()

    def _check(self, rules: StreamRules, token: Seen, now: int) -> None:
        last = rules.last
        fault = rules.fault(token)
        if fault is not None:
            behind = "at the start" if last is None else f"behind {rules.write(last)}"
            self._refuse(now, f"{rules.write(token)} {behind}: {fault}")

    def _compare(self, now: int) -> None:
        """Compare what all streams have come to."""
        while all(self.waiting) and len(self.waiting) > 1:
            tokens = [waiting.pop(0) for waiting in self.waiting]
            shapes = {(kind, payload if kind == STOP else 0) for kind, payload, _value in tokens}
            if len(shapes) > 1:
                side_by_side = ", ".join(map(StreamRules.write, self.rules, tokens))
                self._refuse(now, f"{side_by_side} in the same place: the streams must have the same shape")
        if len(self.waiting) == 1:
            self.waiting[0].clear()

    def _refuse(self, now: int, fault: str) -> NoReturn:
        raise SimulationError(f"cycle {now - 1}, {self.name}: {fault}")
