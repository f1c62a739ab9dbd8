"""Properties of any block: the contract of its streams, its reset state, and covers of its states."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import pyrtl

from fiberscope.hw.rtl.kit.registered import BEHIND, CAPACITY
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal
from fiberscope.rtl.formal.properties import End, Properties, all_of, any_of, identifier, implies

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
    for end in properties.ends("input"):
        _assume_waiting_token(properties, end)
        _cover(properties, end)
    outputs = properties.ends("output")
    space = _space_stays(properties, outputs)
    for end in outputs:
        _cover(properties, end)
        name, port = end.stream.prefix, end.stream.port[0]
        if port not in retracts:
            waited, word = _waited(properties, end)
            kept = end.valid if port in arbiters else end.valid & end.same_fields(word)
            properties.claim(f"{name}_stays", kept, when=waited if is_registered else waited & space)
    for before, behind in _lanes(outputs):
        name = behind.stream.prefix
        properties.assume(f"{name}_ready_in_order", implies(behind.ready, before.ready))
        properties.claim(f"{name}_in_order", before.moves, when=behind.moves)


def add_reset_state(properties: Properties) -> None:
    """Claim that a block to which no token was offered since reset sends none, and keeps its reset state."""
    block = properties.block
    seen = pyrtl.Register(1, "seen_input")
    shown = any_of([end.valid for end in properties.ends("input")])
    seen.next <<= seen | shown
    sent = any_of([end.valid for end in properties.ends("output")])
    kept = [properties.inner(register.name) == (register.reset_value or 0) for register in _control(block)]
    properties.claim("nothing_from_nothing", ~sent, when=~seen & ~shown)
    properties.claim("reset_state", all_of(kept), when=~seen)


def add_state_covers(properties: Properties) -> None:
    """Add a cover for every value of each register with reset of at most ``STATE_BITS`` bits."""
    block = properties.block
    for register in _control(block):
        if len(register) <= STATE_BITS:
            for value in range(1 << len(register)):
                wire = properties.inner(register.name) == value
                properties.cover(f"{identifier(register.name)}_is_{value}", wire)


def add_port_queues(properties: Properties) -> None:
    """Claim that each channel behind an output holds at most ``CAPACITY`` tokens, in adjacent slots.

    The claim on the slots, ``tail == head ^ held[0]``, is right for a capacity of two tokens.
    """
    block = properties.block
    names = {register.name for register in _control(block)}
    for name in sorted(names):
        channel, slash, register = name.rpartition("/")
        if slash and register == "held" and channel.startswith(BEHIND):
            side = "_side" if f"{channel}/head_side" in names else ""
            held = properties.inner(name)
            head, tail = (properties.inner(f"{channel}/{end}{side}") for end in ("head", "tail"))
            properties.claim(f"{channel}_queue", (held <= CAPACITY) & (tail == head ^ held[0]))


def _control(block: pyrtl.Block) -> list[Signal]:
    """Return the registers with reset, by name."""
    registers = block.wirevector_subset(pyrtl.Register) - block.wirevector_subset(DataRegister)
    return sorted(registers, key=lambda register: register.name)


def _waited(properties: Properties, end: End) -> tuple[Signal, Signal]:
    """Return whether a token was refused in the cycle before, and this token."""
    waited = properties.previous(end.valid & ~end.ready)
    word = DataRegister(len(end.word))
    word.next <<= end.word
    return waited, word


def _assume_waiting_token(properties: Properties, end: End) -> None:
    """Assume that a refused token at an input stays unchanged."""
    waited, word = _waited(properties, end)
    kept = end.valid & end.same_fields(word)
    properties.assume(f"{end.stream.prefix}_stays", implies(waited, kept))


def _space_stays(properties: Properties, outputs: list[End]) -> Signal:
    """Return whether each receiver that was ready in the cycle before took a token then or is still ready."""
    lost = [properties.previous(end.ready & ~end.moves) & ~end.ready for end in outputs]
    return ~any_of(lost)


def _cover(properties: Properties, end: End) -> None:
    """Add the covers of a stream: a token moves, waits, or moves in two adjacent cycles."""
    name = end.stream.prefix
    properties.cover(f"{name}_moves", end.moves)
    properties.cover(f"{name}_waits", end.valid & ~end.ready)
    properties.cover(f"{name}_back_to_back", end.moves & properties.previous(end.moves))


def _lanes(ends: list[End]) -> Iterator[tuple[End, End]]:
    """Yield pairs of adjacent lanes of the same port."""
    for before, behind in pairwise(ends):
        if before.stream.port == behind.stream.port and behind.stream.lane:
            yield before, behind
