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
    requests, grants = properties.stream("requests"), properties.stream("grants")
    begin, size = parameters.begin, parameters.end - parameters.begin
    length, address = requests.fields["coordinate"], grants.fields["coordinate"]
    granted = pyrtl.Register(parameters.end.bit_length() or 1, "granted")  # addresses granted so far
    new_total = granted + length  # one bit wider than its operands: it cannot wrap
    is_granted = grants.fire & ~grants.fields["control"]
    granted.next <<= pyrtl.select(is_granted, new_total[: len(granted)], granted)
    properties.claim("a_grant_a_request", requests.fire == grants.fire)
    has_tag_of_request = grants.fields["reference"] == requests.fields["reference"]
    properties.claim("to_who_asked", has_tag_of_request, when=grants.fire)
    properties.claim(
        "refuses_what_does_not_fit", grants.fields["control"] == (new_total > size), when=grants.fire
    )
    properties.claim("in_a_row", address == begin + granted, when=is_granted)
    properties.claim("not_beyond_the_end", address + length <= parameters.end, when=is_granted)
    watched = properties.constant(len(granted), "watched_address")  # any one address stands for all
    is_owned = pyrtl.Register(1, "is_owned")
    is_watched = is_granted & (watched >= address) & (watched < address + length)
    is_owned.next <<= is_owned | is_watched
    properties.claim("no_address_twice", ~(is_owned & is_watched))
    # The induction needs this claim and the next one: without them it starts from states never reached.
    properties.claim("owned_is_below", watched < begin + granted, when=is_owned)
    properties.claim("granted", (properties.inner("given") == granted) & (granted <= size))
    properties.cover("is_full", granted == size)


def add_page_allocator(parameters: PageAllocatorParameters, properties: Properties) -> None:
    """Claim that each request gets the next page, in the order of ports within a cycle.

    The numbers of pages begin with ``first`` and wrap at ``page_bits`` bits.
    """
    granted = pyrtl.Register(parameters.page_bits, "granted")
    next_page = (granted + parameters.first)[: parameters.page_bits]
    page_number = next_page
    for i, (request, page) in enumerate(
        zip(properties.streams("input"), properties.streams("output"), strict=True)
    ):
        properties.claim(f"a_page_a_request_{i}", request.fire == page.fire)
        properties.claim(f"page_{i}", page.fields["reference"] == page_number, when=page.fire)
        page_number = (page_number + page.fire)[: parameters.page_bits]
    granted.next <<= (granted + page_number - next_page)[: parameters.page_bits]
    properties.claim("granted", properties.inner("given") == granted)


def add_node_writer(parameters: NodeWriterParameters, properties: Properties) -> None:
    """Claim a header for each node, in order, with the previous node of the same list, or -1 for the first.

    The lists are numbered from 0 to ``rows`` - 1; larger numbers are excluded only for the watched list.
    """
    nodes, headers = properties.stream("nodes"), properties.stream("headers")
    has_node, node = pyrtl.Register(1, "is_inside"), DataRegister(len(nodes.word), "node_inside")
    has_node.next <<= nodes.fire | (has_node & ~headers.fire)
    node.next <<= pyrtl.select(nodes.fire, nodes.word, node)
    stored = unpacked(node, nodes.fields)
    properties.claim("a_header_a_node", headers.valid == has_node)
    properties.claim("takes_while_there_is_space", nodes.ready == (~has_node | headers.ready))
    is_header_of_node = (headers.fields["control"] == stored["control"]) & (
        headers.fields["coordinate"] == stored["reference"]
    )
    properties.claim("its_node", is_header_of_node, when=headers.valid)
    row = properties.constant(len(stored["coordinate"]), "watched_list")
    properties.assume("a_list", row < parameters.rows)
    bits = parameters.address_bits
    has_last, last_node = pyrtl.Register(1, "is_begun"), DataRegister(bits, "last_node")
    previous = DataRegister(bits + 1, "node_before")
    is_in_row = nodes.fire & (nodes.fields["coordinate"] == row)
    has_last.next <<= has_last | is_in_row
    last_node.next <<= pyrtl.select(is_in_row, nodes.fields["reference"], last_node)
    # A link has one bit more than an address, so that -1 is no address.
    no_node = pyrtl.Const(-1, bits + 1, signed=True)
    previous.next <<= pyrtl.select(
        is_in_row, pyrtl.select(has_last, last_node.zero_extended(bits + 1), no_node), previous
    )
    is_linked = has_node & (stored["coordinate"] == row)
    properties.claim("linked", headers.fields["reference"] == previous, when=is_linked)
    # The number of lists need not be a power of two; the memory always has a word for each number.
    linked = pyrtl.mux(row, *properties.inner("linked"), default=pyrtl.Const(0, 1))
    head = pyrtl.mux(row, *properties.memory_words("heads"))
    properties.claim("heads", (linked == has_last) & implies(has_last, head == last_node))


def add_accumulator(parameters: AccumulatorParameters, properties: Properties) -> None:
    """Claim that adjacent products of equal coordinates leave as their sum, and stops after the last sum.

    The last sum of a fiber and its stop leave in the same cycle, the stop at ``sums_behind``. The stop of an
    empty fiber leaves at ``sums``.
    """
    products, sums, late_stops = (properties.stream(name) for name in ("products", "sums", "sums_behind"))
    stop, value = products.fields["control"], products.fields["value"]
    bits = parameters.sum_bits
    has_sum, coordinate = pyrtl.Register(1, "holds"), DataRegister(parameters.coordinate_bits, "place")
    total = DataRegister(bits, "total")
    is_addend = has_sum & ~stop & (products.fields["coordinate"] == coordinate)
    wide_value = value.sign_extended(bits)
    new_total = pyrtl.select(is_addend, (total + wide_value)[:bits], wide_value)
    has_sum.next <<= pyrtl.select(products.fire, ~stop, has_sum)
    coordinate.next <<= pyrtl.select(products.fire, products.fields["coordinate"], coordinate)
    total.next <<= pyrtl.select(products.fire, new_total, total)
    is_stop = products.fire & stop
    properties.claim("sends_what_is_complete", sums.fire == (products.fire & ~is_addend & (has_sum | stop)))
    properties.claim("sends_a_stop_behind", late_stops.fire == (is_stop & has_sum))
    is_sum = (sums.fields["coordinate"] == coordinate) & (sums.fields["value"] == total)
    properties.claim("sum", ~sums.fields["control"] & is_sum, when=sums.fire & has_sum)
    properties.claim("stop", sums.fields["control"], when=sums.fire & ~has_sum)
    properties.claim("stop_behind", late_stops.fields["control"], when=late_stops.fire)
    expected = [("held_coordinate", coordinate), ("held_sum", total)]
    registers = all_of([properties.inner(name) == wire for name, wire in expected])
    properties.claim("registers", (properties.inner("holding") == has_sum) & implies(has_sum, registers))


def add_two_finger(_parameters: TwoFingerParameters, properties: Properties) -> None:
    """Claim that equal heads leave together, and that the smaller head drops otherwise.

    A head is the offered token of an input. A stop is larger than every coordinate.
    """
    a, b, match_a, match_b = (properties.stream(name) for name in ("a", "b", "matches_a", "matches_b"))
    stops = [stream.fields["control"] for stream in (a, b)]
    valid, ready = a.valid & b.valid, match_a.ready & match_b.ready
    # Each is used only where its own head is no stop, so a stop of the other input is larger.
    a_less = stops[1] | (a.fields["coordinate"] < b.fields["coordinate"])
    b_less = stops[0] | (b.fields["coordinate"] < a.fields["coordinate"])
    equal = (stops[0] & stops[1]) | (
        ~stops[0] & ~stops[1] & (a.fields["coordinate"] == b.fields["coordinate"])
    )
    match = valid & equal & ready
    properties.claim("takes_a", a.fire == (match | (valid & ~equal & ~stops[0] & a_less)))
    properties.claim("takes_b", b.fire == (match | (valid & ~equal & ~stops[1] & b_less)))
    properties.claim("matches", (match_a.fire == match) & (match_b.fire == match))
    add_matching_order(properties, (a, b), match_a)
    for name, source, sink in (("a", a, match_a), ("b", b, match_b)):
        is_same = sink.word == source.word
        properties.claim(f"element_{name}", is_same, when=sink.fire & ~source.fields["control"])
        properties.claim(f"stop_{name}", sink.fields["control"], when=sink.fire & source.fields["control"])
