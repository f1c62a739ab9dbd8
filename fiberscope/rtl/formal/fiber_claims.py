"""Claims of units that allocate space, link nodes into lists, add up products and intersect fibers.

Each ``add_...`` function adds the claims of one block with these parameters to ``properties``.
"""

from __future__ import annotations

import pyrtl

from fiberscope.hw.fibers.allocator_rtl import BumpAllocatorParameters, NodeWriterParameters
from fiberscope.hw.fibers.arithmetic_rtl import AccumulatorParameters
from fiberscope.hw.fibers.intersect_rtl import TwoFingerParameters
from fiberscope.hw.fibers.pages_rtl import PageAllocatorParameters
from fiberscope.hw.rtl.kit.twin import DataRegister, unpacked
from fiberscope.rtl.formal.order_properties import add_matching_order
from fiberscope.rtl.formal.properties import Properties, all_of, implies


def add_bump_allocator(parameters: BumpAllocatorParameters, properties: Properties) -> None:
    """Claim that each request gets one answer in its cycle, and that no address is granted twice.

    Grants are adjacent from ``begin`` on. A request that goes beyond the end is refused.
    """
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


def add_page_allocator(parameters: PageAllocatorParameters, properties: Properties) -> None:
    """Claim that each request gets the next page, in the order of ports within a cycle."""
    granted = pyrtl.Register(parameters.page_bits, "granted")
    following = (granted + parameters.first)[: parameters.page_bits]
    number = following
    for i, (request, page) in enumerate(
        zip(properties.ends("input"), properties.ends("output"), strict=True)
    ):
        properties.claim(f"a_page_a_request_{i}", request.moves == page.moves)
        properties.claim(f"page_{i}", page.fields["reference"] == number, when=page.moves)
        number = (number + page.moves)[: parameters.page_bits]
    granted.next <<= (granted + number - following)[: parameters.page_bits]
    properties.claim("granted", properties.inner("given") == granted)


def add_node_writer(parameters: NodeWriterParameters, properties: Properties) -> None:
    """Claim a header for each node, in order, with the previous node of the same list, or -1 for the first.

    The lists are numbered from 0 to ``rows`` - 1; larger numbers are excluded only for the watched list.
    """
    nodes, headers = properties.end("nodes"), properties.end("headers")
    full, node = pyrtl.Register(1, "is_inside"), DataRegister(len(nodes.word), "node_inside")
    full.next <<= nodes.moves | (full & ~headers.moves)
    node.next <<= pyrtl.select(nodes.moves, nodes.word, node)
    inside = unpacked(node, nodes.fields)
    properties.claim("a_header_a_node", headers.valid == full)
    properties.claim("takes_while_there_is_space", nodes.ready == (~full | headers.ready))
    same = (headers.fields["control"] == inside["control"]) & (
        headers.fields["coordinate"] == inside["reference"]
    )
    properties.claim("its_node", same, when=headers.valid)
    row = properties.constant(len(inside["coordinate"]), "watched_list")
    properties.assume("a_list", row < parameters.rows)
    bits = parameters.address_bits
    begun, last = pyrtl.Register(1, "is_begun"), DataRegister(bits, "last_node")
    before = DataRegister(bits + 1, "node_before")
    own = nodes.moves & (nodes.fields["coordinate"] == row)
    begun.next <<= begun | own
    last.next <<= pyrtl.select(own, nodes.fields["reference"], last)
    end = pyrtl.Const(-1, bits + 1, signed=True)
    before.next <<= pyrtl.select(own, pyrtl.select(begun, last.zero_extended(bits + 1), end), before)
    is_own = full & (inside["coordinate"] == row)
    properties.claim("linked", headers.fields["reference"] == before, when=is_own)
    linked = pyrtl.mux(row, *properties.inner("linked"), default=pyrtl.Const(0, 1))
    head = pyrtl.mux(row, *properties.words("heads"))
    properties.claim("heads", (linked == begun) & implies(begun, head == last))


def add_accumulator(parameters: AccumulatorParameters, properties: Properties) -> None:
    """Claim that adjacent products of equal coordinates leave as their sum, and stops after the last sum."""
    products, sums, behind = (properties.end(name) for name in ("products", "sums", "sums_behind"))
    stop, value = products.fields["control"], products.fields["value"]
    bits = parameters.sum_bits
    holds, place = pyrtl.Register(1, "holds"), DataRegister(parameters.coordinate_bits, "place")
    total = DataRegister(bits, "total")
    adds = holds & ~stop & (products.fields["coordinate"] == place)
    wide = value.sign_extended(bits)
    added = pyrtl.select(adds, (total + wide)[:bits], wide)
    holds.next <<= pyrtl.select(products.moves, ~stop, holds)
    place.next <<= pyrtl.select(products.moves, products.fields["coordinate"], place)
    total.next <<= pyrtl.select(products.moves, added, total)
    ends = products.moves & stop
    properties.claim("sends_what_is_complete", sums.moves == (products.moves & ~adds & (holds | stop)))
    properties.claim("sends_a_stop_behind", behind.moves == (ends & holds))
    same = (sums.fields["coordinate"] == place) & (sums.fields["value"] == total)
    properties.claim("sum", ~sums.fields["control"] & same, when=sums.moves & holds)
    properties.claim("stop", sums.fields["control"], when=sums.moves & ~holds)
    properties.claim("stop_behind", behind.fields["control"], when=behind.moves)
    kept = [("held_coordinate", place), ("held_sum", total)]
    registers = all_of([properties.inner(name) == wire for name, wire in kept])
    properties.claim("registers", (properties.inner("holding") == holds) & implies(holds, registers))


def add_two_finger(_parameters: TwoFingerParameters, properties: Properties) -> None:
    """Claim that equal heads leave together, and that the smaller head drops otherwise.

    A head is the offered token of an input. A stop is larger than every coordinate.
    """
    a, b, match_a, match_b = (properties.end(name) for name in ("a", "b", "matches_a", "matches_b"))
    stops = [end.fields["control"] for end in (a, b)]
    shown, ready = a.valid & b.valid, match_a.ready & match_b.ready
    below = stops[1] | (a.fields["coordinate"] < b.fields["coordinate"])
    above = stops[0] | (b.fields["coordinate"] < a.fields["coordinate"])
    equal = (stops[0] & stops[1]) | (
        ~stops[0] & ~stops[1] & (a.fields["coordinate"] == b.fields["coordinate"])
    )
    meets = shown & equal & ready
    properties.claim("takes_a", a.moves == (meets | (shown & ~equal & ~stops[0] & below)))
    properties.claim("takes_b", b.moves == (meets | (shown & ~equal & ~stops[1] & above)))
    properties.claim("matches", (match_a.moves == meets) & (match_b.moves == meets))
    add_matching_order(properties, (a, b), match_a)
    for name, source, sink in (("a", a, match_a), ("b", b, match_b)):
        same = sink.word == source.word
        properties.claim(f"element_{name}", same, when=sink.moves & ~source.fields["control"])
        properties.claim(f"stop_{name}", sink.fields["control"], when=sink.moves & source.fields["control"])
