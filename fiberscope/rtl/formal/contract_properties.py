"""Properties of any block: the contract of its streams, its reset state, and covers of its states."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import pyrtl

from fiberscope.hw.rtl.kit.registered import BEHIND, CAPACITY
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of, any_of, identifier, implies

STATE_BITS = 2  # widest control register with a cover for every value


def add_contract(
    properties: Properties,
    *,
    arbiters: Collection[str] = (),
    retracts: Collection[str] = (),
    is_registered: bool = False,
) -> None:
    """Add the rules of the ports of every block.

    A token that is offered to an input stays unchanged until it is taken (assumed). The same is claimed of an
    output, with the exceptions below. Lanes of an output port are ready in order (assumed) and move in order
    (claimed). Each stream has covers: a token moves, a token waits, two tokens move in adjacent cycles.

    Args:
        properties: properties of the block.
        arbiters: output ports at which another token may replace an offered token.
        retracts: output ports at which an offer may also end.
        is_registered: whether offers persist for any receiver, and not only for a receiver that keeps its
            space.
    """
    for stream in properties.streams("input"):
        _assume_waiting_token(properties, stream)
        _add_transfer_covers(properties, stream)
    outputs = properties.streams("output")
    keeps_space = _keeps_space(properties, outputs)
    for stream in outputs:
        _add_transfer_covers(properties, stream)
        name, port = stream.definition.prefix, stream.definition.port[0]
        if port not in retracts:
            refused, old_word = _refused_token(properties, stream)
            is_same = stream.valid if port in arbiters else stream.valid & stream.has_fields_of(old_word)
            properties.claim(
                f"{name}_stays", is_same, when=refused if is_registered else refused & keeps_space
            )
    for lane, next_lane in _adjacent_lanes(outputs):
        name = next_lane.definition.prefix
        properties.assume(f"{name}_ready_in_order", implies(next_lane.ready, lane.ready))
        properties.claim(f"{name}_in_order", lane.fire, when=next_lane.fire)


def add_reset_state(properties: Properties) -> None:
    """Claim that a block to which no token was offered since reset sends none, and keeps its reset state.

    An offer counts even if the block does not take it. Registers without reset may change.
    """
    block = properties.block
    had_input = pyrtl.Register(1, "seen_input")
    has_input = any_of([stream.valid for stream in properties.streams("input")])
    had_input.next <<= had_input | has_input
    has_output = any_of([stream.valid for stream in properties.streams("output")])
    unchanged = [
        properties.inner(register.name) == (register.reset_value or 0) for register in _reset_registers(block)
    ]
    properties.claim("nothing_from_nothing", ~has_output, when=~had_input & ~has_input)
    properties.claim("reset_state", all_of(unchanged), when=~had_input)


def add_state_covers(properties: Properties) -> None:
    """Add a cover for every value of each register with reset of at most ``STATE_BITS`` bits."""
    block = properties.block
    for register in _reset_registers(block):
        if len(register) <= STATE_BITS:
            for value in range(1 << len(register)):
                wire = properties.inner(register.name) == value
                properties.cover(f"{identifier(register.name)}_is_{value}", wire)


def add_port_queues(properties: Properties) -> None:
    """Claim that each channel behind an output holds at most ``CAPACITY`` tokens, in adjacent slots.

    The claim on the slots, ``tail == head ^ held[0]``, is right for a capacity of two tokens: head and tail,
    of one bit, then differ exactly while there is one token. Induction needs these claims, as its first state
    is any state.
    """
    block = properties.block
    names = {register.name for register in _reset_registers(block)}
    for name in sorted(names):
        channel, slash, register = name.rpartition("/")
        if slash and register == "held" and channel.startswith(BEHIND):
            side = "_side" if f"{channel}/head_side" in names else ""
            occupancy = properties.inner(name)
            head, tail = (properties.inner(f"{channel}/{stream}{side}") for stream in ("head", "tail"))
            properties.claim(f"{channel}_queue", (occupancy <= CAPACITY) & (tail == head ^ occupancy[0]))


def _reset_registers(block: pyrtl.Block) -> list[Signal]:
    """Return the registers with reset, by name."""
    registers = block.wirevector_subset(pyrtl.Register) - block.wirevector_subset(DataRegister)
    return sorted(registers, key=lambda register: register.name)


def _refused_token(properties: Properties, stream: StreamWires) -> tuple[Signal, Signal]:
    """Return whether a token was refused in the cycle before, and this token."""
    # the word needs no reset: it counts only if a token was refused, which a reset excludes
    was_refused = properties.previous(stream.valid & ~stream.ready)
    old_word = DataRegister(len(stream.word))
    old_word.next <<= stream.word
    return was_refused, old_word


def _assume_waiting_token(properties: Properties, stream: StreamWires) -> None:
    """Assume that a refused token at an input stays unchanged."""
    was_refused, old_word = _refused_token(properties, stream)
    is_unchanged = stream.valid & stream.has_fields_of(old_word)
    properties.assume(f"{stream.definition.prefix}_stays", implies(was_refused, is_unchanged))


def _keeps_space(properties: Properties, outputs: list[StreamWires]) -> Signal:
    """Return whether each receiver that was ready in the cycle before took a token then or is still ready."""
    losses = [properties.previous(stream.ready & ~stream.fire) & ~stream.ready for stream in outputs]
    return ~any_of(losses)


def _add_transfer_covers(properties: Properties, stream: StreamWires) -> None:
    """Add the covers of a stream: a token moves, waits, or moves in two adjacent cycles."""
    name = stream.definition.prefix
    properties.cover(f"{name}_moves", stream.fire)
    properties.cover(f"{name}_waits", stream.valid & ~stream.ready)
    properties.cover(f"{name}_back_to_back", stream.fire & properties.previous(stream.fire))


def _adjacent_lanes(streams: list[StreamWires]) -> Iterator[tuple[StreamWires, StreamWires]]:
    """Yield pairs of adjacent lanes of the same port."""
    for lane, next_lane in pairwise(streams):
        if lane.definition.port == next_lane.definition.port and next_lane.definition.lane:
            yield lane, next_lane
