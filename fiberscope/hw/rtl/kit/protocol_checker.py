# cython: infer_types=True
"""The protocol checker of a module's ports, common to cosimulations and test benches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fiberscope.hw.rtl.kit.interface import MASK, Interface, Stream
from fiberscope.hw.rtl.kit.port_coverage import PortCoverage
from fiberscope.hw.rtl.kit.words import Words, joined
from fiberscope.hw.streams.tokens import DONE

__all__ = ["ProtocolChecker"]

NO_WORD = -1  # place of a field that a stream lacks


class Pins:  # C: final
    """The pins of a stream in the words of a module, and the state of the protocol.

    Args:
        stream: the stream, a port or one lane of a port.
        words: bits of the module's ports.

    Attributes:
        may_end: whether an offer may end before it is taken.
        may_change: whether another token may replace an offered token.
        has_done: whether the stream ends with the token ``done``.
        lanes: the pins of all lanes of the port, this one included.
        is_valid: whether a token is offered in this cycle.
        moves: whether it is taken.
        is_offered: whether a token was refused in the cycle before. The token must be offered again, unless
            ``may_end`` or ``may_change`` is set.
        offered: the words of the fields of this token; not updated if ``may_change`` is set.
        stops: number of complete fibers so far, that is, of tokens whose ``control`` is not 0; without a
            field ``control``, each token is a fiber.
        in_fiber: whether the last token was no stop.
        is_done: whether the token ``done`` has moved.
    """

    def __init__(self, stream: Stream, words: Words) -> None:
        is_output = stream.direction == "output"
        own, other = (words.outputs, words.inputs) if is_output else (words.inputs, words.outputs)
        layout = words.layout[stream.direction]
        wires = {stream.wire(field) for field in stream.widths}
        control = stream.wire("control")
        self.stream = stream
        self.may_end = self.may_change = self.has_done = False  # C: public
        self.lanes: list[Pins] = []  # C: public
        self.lane = stream.lane
        self.is_valid = False
        self.moves = False
        self.is_offered = False
        self.offered: list[int] = []
        self.stops = 0
        self.in_fiber = False
        self.is_done = False
        self._own = own  # C: unsigned long[::1]
        self._other = other  # C: unsigned long[::1]
        self._valid = words.place(stream.direction, stream.wire("valid"))  # C: long
        self._ready = words.place("input" if is_output else "output", stream.wire("ready"))  # C: long
        self._control = words.place(stream.direction, control) if control in wires else NO_WORD  # C: long
        self._fields = [i for i, piece in enumerate(layout) if piece.wire in wires]
        self._pieces = [layout[i] for i in self._fields]

    def see(self) -> None:  # C: cdef, noexcept
        """Read ``valid`` and ``ready`` of this cycle."""
        self.is_valid = self._own[self._valid] != 0
        self.moves = self.is_valid and self._other[self._ready] != 0

    def begun(self) -> int:  # C: cdef, noexcept
        """Return the number of started fibers, including the fiber of a visible token."""
        return self.stops + (1 if self.in_fiber or self.is_valid else 0)

    def ended(self) -> int:  # C: cdef, noexcept
        """Return the number of complete fibers at the port, in all its lanes."""
        stops = 0
        for pins in self.lanes:  # C: Pins
            stops += pins.stops
        return stops

    def may_go(self) -> bool:  # C: cdef, noexcept
        """Return whether a lane of the port moves a token, so that its other offers may change."""
        for pins in self.lanes:  # noqa: SIM110  (compiled)  # C: Pins
            if pins.moves:
                return True
        return False

    def fields(self) -> list[int]:  # C: cdef
        """Return the words of all fields."""
        return [self._own[word] for word in self._fields]

    def change(self) -> str:  # C: cdef
        """Describe the first change of the offered token; empty if there is none.

        The fields of a lane that the mask omits may change.
        """
        words = self.fields()
        if words == self.offered:
            return ""
        before, after = joined(self._pieces, self.offered), joined(self._pieces, words)
        mask = self.stream.wire(MASK)
        if before.get(mask) != after.get(mask):
            return f"{mask} changes from {before[mask]:b} to {after[mask]:b}"
        for name, width in self.stream.widths.items():
            wire = self.stream.wire(name)
            for lane in range(len(self.stream.ports)):
                old, new = (bits[wire] >> width * lane & (1 << width) - 1 for bits in (before, after))
                # Without a mask, -1 has a bit for every lane: all lanes are compared.
                if old != new and before.get(mask, -1) >> lane & 1:
                    return f"{wire} changes from {old} to {new}"
        return ""

    def count(self) -> None:  # C: cdef, noexcept
        """Count the token that moves at the end of this cycle."""
        if self.moves:
            control = self._own[self._control] if self._control != NO_WORD else 1
            self.in_fiber = control == 0
            self.stops += 1 if control != 0 else 0
            self.is_done = self.is_done or (self.has_done and control == DONE)


class ProtocolChecker:
    """A checker of a module's behaviour at its ports, in every cycle.

    The rules, for outputs unless stated otherwise:

    - A refused token (``valid`` without ``ready``) is offered again in the next cycle, with the same fields.
      A lane is exempt if another lane of its port moves a token, since the remaining tokens move up.
    - Neither ``valid``, ``ready`` nor a field of a valid token is X or Z, at inputs and outputs. A
      four-valued simulator lists such wires in ``words.unknown``.
    - No token follows the last stop: the token ``done``, or the stop of the last started fiber of the input
      whose fibers the output follows.
    - Lane n of a port moves a token only if lane n - 1 does.

    Args:
        name: instance name in messages.
        interface: the module's ports.
        words: bits of the ports.
        arbiters: ports at which another token may replace an offered token.
        retracts: ports at which an offer may also end.
        fibers_of: by output port, the input port whose fibers (or tokens, without stops) its fibers follow.
        has_done: whether outputs end with the token ``done``, if their control has a code for it.

    Attributes:
        violation: the first cycle that breaks a rule, and a description with the module, the cycle and the
            port; None if there is none.
        coverage: counts the events at the ports, if set.
    """

    def __init__(
        self,
        name: str,
        interface: Interface,
        words: Words,
        *,
        arbiters: Collection[str] = (),
        retracts: Collection[str] = (),
        fibers_of: Mapping[str, str] | None = None,
        has_done: bool = False,
    ) -> None:
        self.violation: tuple[int, str] | None = None
        self.coverage: PortCoverage | None = None  # C: public
        self._name = name
        self._words = words
        pins = [Pins(stream, words) for stream in interface.streams]
        self._streams = interface.streams
        self._outputs = [each for each in pins if each.stream.direction == "output"]
        for each in self._outputs:
            port = each.stream.port[0]
            each.may_end = port in retracts
            each.may_change = port in (*arbiters, *retracts)
            each.has_done = has_done and each.stream.widths.get("control", 0) >= DONE.bit_length()
            each.lanes = [other for other in self._outputs if other.stream.port == each.stream.port]
        inputs = {each.stream.label: each for each in pins if each.stream.direction == "input"}
        followed = {port: inputs[label] for port, label in (fibers_of or {}).items() if label in inputs}
        self._source_of: dict[str, Pins] = followed  # C: dict
        # Several outputs may follow one input, whose tokens are counted once a cycle.
        self._sources = list({id(each): each for each in followed.values()}.values())

    def cycle(self, cycle: int) -> None:
        """Check a cycle that the module has run, whose bits are in the words.

        Cycles ascend. A cycle may be left out if the ports are as in the cycle before and no token moves.
        After the first violation, only the coverage is updated.
        """
        if self.coverage is not None:
            self.coverage.cycle(cycle)
        if self.violation is None:
            what = self._unknown() or self._broken()
            if what:
                self.violation = cycle, f"{self._name}: in cycle {cycle}, {what}"

    def findings(self) -> dict[str, Any]:  # C: def
        """Return the violation and the bins of the coverage, by their names in an ``Exercise``."""
        return {"violation": self.violation, "bins": None if self.coverage is None else self.coverage.bins}

    def _unknown(self) -> str:
        """Describe the first wire that is X or Z; empty if none is."""
        for wire, bits in self._words.unknown.items():
            return f"{self._label(wire)}: {wire} is {bits}: not reset, or driven by nothing"
        return ""

    def _label(self, wire: str) -> str:
        """Return the port of a wire, such as ``ways[3]``; for a status output, the wire."""
        for stream in self._streams:
            if any(each.name == wire for each in stream.wires()):
                return stream.label
        return wire

    def _broken(self) -> str:
        """Describe the first violation of a rule on cycles, fibers or lanes; empty if there is none."""
        # All ports are read before a rule is checked: a lane depends on other lanes, an output on its source.
        for each in self._outputs:  # C: Pins
            each.see()
        for each in self._sources:  # C: Pins
            each.see()
        what = self._first_broken()
        # Only now does the state include this cycle: the rules compare the cycle with the state before it.
        for each in self._outputs:  # C: Pins
            each.is_offered = each.is_valid and not each.may_go()
            if each.is_offered and not each.may_change:
                each.offered = each.fields()
            each.count()
        for each in self._sources:  # C: Pins
            each.count()
        return what

    def _first_broken(self) -> str:
        """Describe the first violation of these rules in this cycle."""
        for each in self._outputs:  # C: Pins
            what = self._taken_back(each)
            if not what and each.is_valid:
                what = self._late(each)
            if what:
                return f"{each.stream.label}: {what}"
        return ""

    def _taken_back(self, pins: Pins) -> str:
        """Describe the withdrawal or change of a refused token."""
        if not pins.is_offered:
            return ""
        if not pins.is_valid:
            return "" if pins.may_end else f"{pins.stream.wire('valid')} falls before the token is taken"
        change = "" if pins.may_change else pins.change()
        return f"{change} before the token is taken" if change else ""

    def _late(self, pins: Pins) -> str:
        """Describe a token after the last stop, or a move before the lane below."""
        if pins.is_done:
            return "a token follows the last stop, done"
        source: Pins | None = self._source_of.get(pins.stream.port[0])
        # This token belongs to the fiber after the complete ones, which the source must have begun.
        if source is not None and pins.ended() >= source.begun():
            begun = f"{source.begun()} fibers have begun at {source.stream.label}"
            return f"a token follows the last stop; {begun}"
        if pins.lane and pins.moves and not pins.lanes[pins.lane - 1].moves:
            return f"lane {pins.lane} moves a token without lane {pins.lane - 1}"
        return ""
