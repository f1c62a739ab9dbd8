"""RTL of the pace of lanes, ``fiberscope.hw.streams.lanes.Lanes``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, resized, unless
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.dense_rtl import times
from fiberscope.hw.streams.lanes import Lanes
from fiberscope.hw.streams.seek_rtl import divided
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter
from fiberscope.hw.streams.tokens import DATA, EMPTY
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim.channel import Channel

LANES = 1 << 10  # largest number of lanes; a channel in front of more lanes would be larger than Verilog has
TICKS = 1 << 12  # largest number of clock cycles per cycle of the lanes
ELEMENTS = 1 << 16  # largest number of elements of a step
HOLDS, ENDS = "holds", "ends_step"  # status outputs: a token waits for a cycle to pass, and a step ends


@dataclass(frozen=True)
class LanesParameters(Parameters):
    """Parameters of the pace of lanes.

    Args:
        lanes: elements per cycle of the lanes, 1 to 1024.
        level: lowest level of the stops that end a step, 0 to 15.
        ticks: clock cycles per cycle of the lanes, 1 to 4096.
        sized: 1 for a stream of the sizes of steps, 0 for none.
        elements: largest size of a step, 1 to 65536; without effect if ``sized`` is 0. The sender must avoid
            larger sizes, whose high bits are lost.
        reference_bits: width of a reference or coordinate, and of a size.
    """

    lanes: int = number(4, 1, LANES)
    level: int = number(0, 0, (1 << tokens.LEVEL_BITS) - 1)
    ticks: int = number(32, 1, TICKS)
    sized: int = one_of(1, 0, 1)
    elements: int = number(64, 1, ELEMENTS)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62)


def port_contents(parameters: LanesParameters) -> PortContents:
    """Return the contents of the streams; the stream of sizes exists only if steps are ``sized``."""
    references = tokens.numbers(parameters.reference_bits)
    sizes = {"in_sizes": size_content(parameters.reference_bits)} if parameters.sized else {}
    return {"in_stream": references, **sizes, "out_stream": references}


def size_content(bits: int) -> Content:
    """Return the fields of a stream of sizes, all of whose tokens are numbers."""
    return {"payload": Field("coordinate", bits, "unsigned")}


def design(parameters: LanesParameters, streams: Streams) -> None:
    """Build counters of the clock cycles that are left, and of the free lanes of the current cycle."""
    head, room = Head.from_stream(streams.inputs["in_stream"]), tokens.room_in(streams)
    # ``cycle_left``, ``step_left``: clock cycles that the cycle of the lanes or the step has left, with this
    in_step: Signal = pyrtl.Register(1, "in_step")
    free: Signal = pyrtl.Register(parameters.lanes.bit_length(), "free_lanes")
    cycle_left: Signal = pyrtl.Register((parameters.ticks - 1).bit_length() or 1, "cycle_left")
    whole, sizes = _cycles(parameters, streams), streams.inputs.get("in_sizes")
    step_left: Signal = pyrtl.Register(len(whole), "step_left") if sizes is not None else cycle_left
    element, over = head.is_data | head.is_empty, cycle_left == 0
    # An element waits for the next cycle of the lanes, and a step for the end of the one before
    full = alias("full", in_step & element & (free == 0) & ~over)
    early = alias("early", ~in_step & (step_left != 0))
    has_size = head.is_done | in_step | (sizes.valid if sizes is not None else pyrtl.Const(1, 1))
    passes = alias("passes", room & head.shown & ~full & ~early & has_size)
    begins = alias("begins", passes & ~in_step & ~head.is_done)
    opens = alias("opens", begins | (passes & in_step & element & over))
    is_end = head.level >= parameters.level if parameters.level else pyrtl.Const(1, 1)
    ends = alias("ends", passes & head.is_stop & is_end)
    in_step.next <<= (in_step | begins) & ~ends
    left = alias("free_now", pyrtl.select(opens, pyrtl.Const(parameters.lanes, len(free)), free))
    free.next <<= pyrtl.select(passes & element, (left - 1)[: len(free)], left)
    cycle_left.next <<= pyrtl.select(opens, parameters.ticks - 1, _counted_down(cycle_left))
    if sizes is not None:
        sizes.accept(begins)
        rest = _counted_down(step_left)
        if parameters.ticks > 1:  # a further cycle may end after the step would have
            further = pyrtl.Const(parameters.ticks - 1, len(rest))
            rest = pyrtl.select(opens & (rest < further), further, rest)
        step_left.next <<= pyrtl.select(begins, whole, rest)
    streams.inputs["in_stream"].accept(passes)
    tokens.pass_on(streams.outputs["out_stream[0]"], passes, head)
    streams.show(HOLDS, room & head.shown & (full | early))
    streams.show(ENDS, ends)


def _counted_down(register: Signal) -> Signal:
    """Return a register minus 1, or 0 if it is 0."""
    return unless(register == 0, (register - 1)[: len(register)])


def _cycles(parameters: LanesParameters, streams: Streams) -> Signal:
    """Return the clock cycles of a step of the size that the stream of sizes shows, minus 1.

    Without a stream of sizes, the result is that of one cycle of the lanes.
    """
    most = -(-parameters.elements // parameters.lanes)
    bits = (parameters.ticks * most).bit_length()
    if "in_sizes" not in streams.inputs:
        return pyrtl.Const(parameters.ticks - 1, bits)
    size = resized(streams.inputs["in_sizes"].fields["payload"], parameters.elements.bit_length())
    cycles, _rest = divided(size + (parameters.lanes - 1), parameters.lanes)
    # a step without elements takes one cycle, too
    cycles = alias("lane_cycles", resized(pyrtl.select(size == 0, 1, cycles), most.bit_length()))
    clock_cycles = times(resized(cycles, bits), parameters.ticks)
    return alias("step_cycles", (clock_cycles - 1)[:bits])


class LanesAdapter(StreamAdapter):
    """Component that replaces a ``Lanes`` by its RTL in a simulation."""

    sizes = 0  # sum of the sizes of steps so far

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the tokens that move in this cycle, and add the size of a step that begins."""
        super().observe(moved)
        if "in_sizes" in moved:
            self.sizes += moved["in_sizes"].coordinate

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Account for a cycle; one in which a token waits for a cycle of the lanes is busy."""
        if not self.done and self.status.get(HOLDS):
            return self.busy(now + 1)
        return super().account(now, moved, blocked)

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        passed = self.moved["in_stream", DATA] + self.moved["in_stream", EMPTY]
        is_sized = any(end.stream.label == "in_sizes" for end in self.ends)
        return {"elements": self.sizes if is_sized else passed} | super().counters()


def _of_lanes(lanes: Lanes) -> dict[str, object]:
    return {
        "lanes": lanes.lanes,
        "level": lanes.level,
        "ticks": lanes.ticks,
        "sized": int(lanes.in_sizes is not None),
    }


BLOCK = unit(
    "lanes",
    Lanes,
    LanesParameters,
    port_contents,
    design,
    arguments=("lanes", "level", "ticks"),
    status=(HOLDS, ENDS),
    counters={"steps": StatusCounter(ENDS)},
    base=LanesAdapter,
    instance=_of_lanes,
)
