"""RTL of the repeater and of the generator of repeat signals, see ``fiberscope.hw.streams.repeater``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, OutputStream, Signal, Streams, alias, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.repeater import Repeater, RepeatSignalGenerator
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter
from fiberscope.hw.streams.tokens import DATA, EMPTY
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim.channel import Channel


@dataclass(frozen=True)
class RepeatSignalGeneratorParameters(Parameters):
    """Parameters of a generator of repeat signals.

    Args:
        coordinate_bits: width of a coordinate, 4 to 55.
    """

    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)


@dataclass(frozen=True)
class RepeaterParameters(Parameters):
    """Parameters of a repeater.

    Args:
        reference_bits: width of a reference, 4 to 62.
    """

    reference_bits: int = number(32, tokens.LEVEL_BITS, 62)


def generator_contents(parameters: RepeatSignalGeneratorParameters) -> PortContents:
    """Return the contents of the streams; a repeat signal has only a kind."""
    return {"in_crd": tokens.numbers(parameters.coordinate_bits), "out_repsig": tokens.signals()}


def generator_design(_parameters: RepeatSignalGeneratorParameters, streams: Streams) -> None:
    """Build a generator: each token other than a stop or done gives one repeat signal."""
    head, room = Head.from_stream(streams.inputs["in_crd"]), tokens.room_in(streams)
    streams.inputs["in_crd"].accept(room)
    kind = tokens.kind_of(head.is_data | head.is_empty, head.is_stop, head.is_done)
    streams.outputs["out_repsig[0]"].send(room & head.shown, {"control": kind})


def port_contents(parameters: RepeaterParameters) -> PortContents:
    """Return the contents of the streams: references and repeat signals."""
    references = tokens.numbers(parameters.reference_bits)
    return {"in_ref": references, "in_repsig": tokens.signals(), "out_ref": references}


def design(_parameters: RepeaterParameters, streams: Streams) -> None:
    """Build a repeater: each repeat signal sends the reference once."""
    signals = streams.inputs["in_repsig"]
    room, sink = tokens.room_in(streams), streams.outputs["out_ref[0]"]
    signals.accept(repeat(streams.inputs["in_ref"], Head.from_stream(signals), room, sink))


def repeat(source: InputStream, signal: Head, room: Signal, sink: OutputStream) -> Signal:
    """Build the logic of a repeater, and return whether a signal is popped.

    The registers hold the token to repeat, whether there is one, and whether a stop must be sent. A token and
    its first signal can be popped in the same cycle. If that signal is a stop, the next token, which
    determines the level, is visible only in the next cycle. The logic does not check that signals match.

    Args:
        source: stream of references.
        signal: head of the stream of repeat signals.
        room: whether the output has a free slot.
        sink: stream of repeated references.
    """
    head = Head.from_stream(source)
    holds: Signal = pyrtl.Register(1, "holds")
    owes: Signal = pyrtl.Register(1, "owes")
    held = {name: DataRegister(len(wire), f"held_{name}") for name, wire in head.fields.items()}
    fields = {name: pyrtl.select(holds, held[name], wire) for name, wire in head.fields.items()}
    # A token that is popped in this cycle bypasses the registers.
    now = Head(holds | head.shown, fields)

    takes = alias("takes", room & ~owes & ~holds & head.shown)
    answers = alias("answers", room & ~owes & now.shown & signal.shown)
    closes = alias("closes", answers & signal.is_stop & ~now.is_stop)
    # The head is the token after the fiber only if the token of the fiber was popped in an earlier cycle.
    pays = alias("pays", room & head.shown & (owes | (closes & holds)))
    source.accept(takes | (pays & head.is_stop))
    holds.next <<= pyrtl.select(answers & signal.is_control, pyrtl.Const(0, 1), holds | takes)
    owes.next <<= (owes | closes) & ~pays
    for name, register in held.items():
        register.next <<= pyrtl.select(takes, head.fields[name], register)

    repeats = answers & signal.is_data
    stops = pays | (answers & signal.is_stop & now.is_stop)
    # A repeated N sets no flag of ``kind_of``.
    kind = tokens.kind_of(repeats & now.is_data, stops, answers & signal.is_done)
    # A stop at the head is merged with the stop of the fiber. A stop in place of a reference is raised too.
    level = pyrtl.select(pays, unless(~head.is_stop, head.raised), now.raised)
    offered = repeats | stops | (answers & signal.is_done)
    tokens.send(sink, offered, kind, level, now.payload)
    return answers


class RepeatSignalGeneratorAdapter(StreamAdapter):
    """Component that replaces a ``RepeatSignalGenerator`` by its RTL in a simulation."""

    _repeats = _longest = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the repeats of the current fiber."""
        super().observe(moved)
        if moved:
            self._repeats = self._repeats + 1 if moved["in_crd"].control in (DATA, EMPTY) else 0
            self._longest = max(self._longest, self._repeats)

    def counters(self) -> dict[str, int]:
        """Return the largest number of repeats of a fiber, and the tokens of the output by kind."""
        return {"longest_fiber": self._longest} | super().counters()


class RepeaterAdapter(StreamAdapter):
    """Component that replaces a ``Repeater`` by its RTL in a simulation.

    A cycle in which only a reference is popped counts as waiting for a signal.
    """

    _owes = False

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Note whether a stop must still be sent."""
        super().observe(moved)
        if "out_ref[0]" in moved:
            self._owes = False
        elif "in_repsig" in moved:
            self._owes = True

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Account for a cycle, see the class."""
        return super().account(now, {} if moved.keys() == {"in_ref"} else moved, blocked)

    def awaited(self) -> Channel:
        """Return the input to wait for: ``in_ref`` if a signal or stop needs it, else ``in_repsig``."""
        signals = self.end("in_repsig")
        return self.channel("in_ref" if self._owes or signals.is_open else "in_repsig")


GENERATOR = unit(
    "repeat_signal",
    RepeatSignalGenerator,
    RepeatSignalGeneratorParameters,
    generator_contents,
    generator_design,
    base=RepeatSignalGeneratorAdapter,
)
REPEATER = unit("repeater", Repeater, RepeaterParameters, port_contents, design, base=RepeaterAdapter)
