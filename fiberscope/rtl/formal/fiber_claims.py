"""Claims of units that allocate and list fibers."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.fibers.allocator_rtl import BumpAllocatorParameters
from fiberscope.rtl.formal.properties import Properties

__all__ = ["add_bump_allocator"]


def add_bump_allocator(parameters: BumpAllocatorParameters, properties: Properties) -> None:
    """Claim that a request gets one answer, and that no address is granted twice or beyond the end."""
    requests, grants = properties.end("requests"), properties.end("grants")
    begin, size = parameters.begin, parameters.end - parameters.begin
    wanted, first = requests.fields["coordinate"], grants.fields["coordinate"]
    granted = pyrtl.Register(parameters.end.bit_length() or 1, "granted")
    after = granted + wanted
    grants_it = grants.moves & ~grants.fields["control"]
    granted.next <<= pyrtl.select(grants_it, after[: len(granted)], granted)
    properties.claim("a_grant_a_request", requests.moves == grants.moves)
    who = grants.fields["reference"] == requests.fields["reference"]
    properties.claim("to_who_asked", who, when=grants.moves)
    properties.claim(
        "refuses_what_does_not_fit", grants.fields["control"] == (after > size), when=grants.moves
    )
    properties.claim("in_a_row", first == begin + granted, when=grants_it)
    properties.claim("not_beyond_the_end", first + wanted <= parameters.end, when=grants_it)
    address = properties.constant(len(granted), "watched_address")
    owned = pyrtl.Register(1, "is_owned")
    takes = grants_it & (address >= first) & (address < first + wanted)
    owned.next <<= owned | takes
    properties.claim("no_address_twice", ~(owned & takes))
    properties.claim("owned_is_below", address < begin + granted, when=owned)
    properties.claim("granted", (properties.inner("given") == granted) & (granted <= size))
    properties.cover("is_full", granted == size)
