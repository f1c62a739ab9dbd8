"""Properties of any block: the contract of its streams, its state behind a reset, covers of its states."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import pyrtl

from fiberscope.hw.rtl.kit.registered import BEHIND, CAPACITY
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal
from fiberscope.rtl.formal.properties import End, Properties, all_of, any_of, identifier, implies

__all__ = ["add_contract", "add_port_queues", "add_reset_state", "add_state_covers"]

STATE_BITS = 2  # widest register of control of which every value is a cover


def add_contract(
    properties: Properties,
    *,
    arbiters: Collection[str] = (),
    retracts: Collection[str] = (),
    is_registered: bool = False,
) -> None:
    """Add what holds at the ports of every block.

    Args:
        properties: of the block.
        arbiters: output ports at which another token may take the place of the one that is offered.
        retracts: output ports at which an offer may also end without being taken.
        is_registered: whether tokens stay for any receiver, and not only for one that keeps its space.
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
    """Claim that a block that has received no token since its reset sends none, and keeps its reset state."""
    block = properties.block
    seen = pyrtl.Register(1, "seen_input")
    shown = any_of([end.valid for end in properties.ends("input")])
    seen.next <<= seen | shown
    sent = any_of([end.valid for end in properties.ends("output")])
    kept = [properties.inner(register.name) == (register.reset_value or 0) for register in _control(block)]
    properties.claim("nothing_from_nothing", ~sent, when=~seen & ~shown)
    properties.claim("reset_state", all_of(kept), when=~seen)


def add_state_covers(properties: Properties) -> None:
    """Ask for every value of the small registers of control."""
    block = properties.block
    for register in _control(block):
        if len(register) <= STATE_BITS:
            for value in range(1 << len(register)):
                wire = properties.inner(register.name) == value
                properties.cover(f"{identifier(register.name)}_is_{value}", wire)


def add_port_queues(properties: Properties) -> None:
    """Claim of each channel of two tokens at a registered port that it holds at most two, side by side."""
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
    """The registers that the reset sets, by name."""
    registers = block.wirevector_subset(pyrtl.Register) - block.wirevector_subset(DataRegister)
    return sorted(registers, key=lambda register: register.name)


def _waited(properties: Properties, end: End) -> tuple[Signal, Signal]:
    """Return whether a token was offered in the cycle before and not taken, and this token."""
    waited = properties.previous(end.valid & ~end.ready)
    word = DataRegister(len(end.word))
    word.next <<= end.word
    return waited, word


def _assume_waiting_token(properties: Properties, end: End) -> None:
    """A token at an input stays as it is until it is taken."""
    waited, word = _waited(properties, end)
    kept = end.valid & end.same_fields(word)
    properties.assume(f"{end.stream.prefix}_stays", implies(waited, kept))


def _space_stays(properties: Properties, outputs: list[End]) -> Signal:
    """No receiver with space in the cycle before has lost it without taking a token."""
    lost = [properties.previous(end.ready & ~end.moves) & ~end.ready for end in outputs]
    return ~any_of(lost)


def _cover(properties: Properties, end: End) -> None:
    name = end.stream.prefix
    properties.cover(f"{name}_moves", end.moves)
    properties.cover(f"{name}_waits", end.valid & ~end.ready)
    properties.cover(f"{name}_back_to_back", end.moves & properties.previous(end.moves))


def _lanes(ends: list[End]) -> Iterator[tuple[End, End]]:
    """Pairs of neighbouring lanes of one port."""
    for before, behind in pairwise(ends):
        if before.stream.port == behind.stream.port and behind.stream.lane:
            yield before, behind
