"""Claims of blocks of the stream machine: repeater, intersection and union.

Each ``add_...`` function adds the claims of one block with these parameters to ``properties``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyrtl

from fiberscope.hw.rtl.kit.twin import Signal
from fiberscope.hw.streams.joiner_rtl import JoinerParameters
from fiberscope.hw.streams.repeater_rtl import RepeaterParameters
from fiberscope.hw.streams.tokens import DATA, EMPTY, STOP
from fiberscope.hw.streams.tokens_rtl import LEVEL_BITS
from fiberscope.rtl.formal.order_properties import add_matching_order, add_merging_order
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of, any_of, implies


class RepeatedReference:
    """The repeated reference: the last one taken, until the signal ends its fiber; else the head.

    Args:
        source: the input of references; its head is the offered token.
        is_taken: whether a reference is taken to be repeated.
        is_ended: whether the signal ends the fiber of the reference.

    Attributes:
        is_held: whether a reference has been taken, and its fiber has not ended.
        stored: fields of this reference; valid while ``is_held`` is high.
        is_available: whether there is a reference to repeat, taken or offered.
        kind, payload: fields of the reference to repeat.
    """

    def __init__(self, source: StreamWires, is_taken: Signal, is_ended: Signal) -> None:
        self.is_held = pyrtl.Register(1, "has")
        is_new = is_taken & ~self.is_held  # what is taken while a reference is held is an absorbed stop
        self.is_held.next <<= (self.is_held | is_new) & ~is_ended
        self.stored = {
            name: pyrtl.Register(len(wire), f"taken_{name}") for name, wire in source.fields.items()
        }
        for name, register in self.stored.items():
            register.next <<= pyrtl.select(is_new, source.fields[name], register)
        fields = {
            name: pyrtl.select(self.is_held, wire, source.fields[name]) for name, wire in self.stored.items()
        }
        self.is_available, self.kind, self.payload = (
            self.is_held | source.valid,
            fields["control"],
            fields["payload"],
        )

    def is_stored(self, properties: Properties) -> Signal:
        """Return whether the registers of the block have this reference."""
        is_equal = [properties.inner(f"held_{name}") == register for name, register in self.stored.items()]
        return (properties.inner("holds") == self.is_held) & implies(self.is_held, all_of(is_equal))


def add_repeater(_parameters: RepeaterParameters, properties: Properties) -> None:
    """Claim a token for each signal, in order; a stop waits for the next reference, and absorbs a stop.

    A signal token N counts as no signal. A stop may be taken before its own stop can leave; the repeater then
    owes one token (``debt``).
    """
    source, signal, sink = (properties.stream(prefix) for prefix in ("in_ref", "in_repsig", "out_ref_0"))
    asked, out_kind, next_kind = (end.fields["control"] for end in (signal, sink, source))
    answer = signal.fire & (asked != EMPTY)  # which is no signal
    debt = pyrtl.Register(2, "debt")  # 0 or 1; the second bit shows 2, and -1 as 3
    debt.next <<= (debt + answer - sink.fire)[:2]
    is_owed = debt != 0
    head = RepeatedReference(source, source.fire & ~is_owed, answer & (asked != DATA))
    stop = sink.fire & (out_kind == STOP)
    repeated_kind = pyrtl.select(head.kind == DATA, pyrtl.Const(DATA, 2), pyrtl.Const(EMPTY, 2))
    due_kind = pyrtl.select(is_owed, pyrtl.Const(STOP, 2), pyrtl.select(asked == DATA, repeated_kind, asked))
    is_empty, absorbed = (~is_owed & (head.kind == STOP), source.fire & (next_kind == STOP))
    # A stop has the level of the signal's fiber, 0, or one more than the level of a stop of the references:
    # of the head, for an empty fiber, or of the stop that is absorbed.
    closed_level = pyrtl.select(
        is_empty, _next_level(head.payload), pyrtl.select(absorbed, _next_level(source.fields["payload"]), 0)
    )
    claim = properties.claim
    claim("a_token_a_signal", (debt + answer - sink.fire)[:2] <= 1)
    claim("waits_its_turn", ~answer, when=is_owed)
    claim("waits_for_stops_alone", asked == STOP, when=answer & ~sink.fire)
    claim("kind", out_kind == due_kind, when=sink.fire)
    claim("reference", sink.fields["payload"] == head.payload, when=sink.fire & (out_kind == DATA))
    claim("level", sink.fields["payload"][:LEVEL_BITS] == closed_level, when=stop)
    claim("looks_ahead", source.valid & (head.is_held | is_owed), when=stop & ~is_empty)
    claim("a_reference_a_fiber", absorbed & stop, when=source.fire & (head.is_held | is_owed))
    claim("repeats_what_it_has", head.is_held | source.fire, when=answer)
    claim("pays", sink.fire, when=is_owed & source.valid & sink.ready)
    claim("answers", signal.fire, when=~is_owed & head.is_available & signal.valid & sink.ready)
    claim("registers", head.is_stored(properties) & (properties.inner("owes") == debt))


def _next_level(stop: Signal) -> Signal:
    """Return the next higher level than that of a stop's payload."""
    return (stop[:LEVEL_BITS] + 1)[:LEVEL_BITS]


class JoinerPorts:
    """The streams of a joiner: coordinates and references of each operand, and the outputs.

    Args:
        parameters: parameters of the joiner.
        properties: properties of the block.

    Attributes:
        crds, refs: inputs of coordinates and references, by operand.
        out_crd, out_refs: output of coordinates; outputs of references, by operand.
        is_sent: whether a coordinate leaves.
        orders: by operand, a number that compares the heads: see ``_order``.
        can_fire: whether all inputs offer a token and all outputs are ready.
    """

    def __init__(self, parameters: JoinerParameters, properties: Properties) -> None:
        ways, stream = range(parameters.ways), properties.stream
        self.crds = [stream(f"in_crd_{way}") for way in ways]
        self.refs = [stream(f"in_ref_{way}") for way in ways]
        self.out_crd, self.out_refs = stream("out_crd_0"), [stream(f"out_ref{way}_0") for way in ways]
        self.is_sent = self.out_crd.fire
        self.orders = [_order(crd) for crd in self.crds]
        sinks, sources = [self.out_crd, *self.out_refs], [*self.crds, *self.refs]
        self.can_fire = all_of([*(source.valid for source in sources), *(sink.ready for sink in sinks)])

    def are_simultaneous(self) -> Signal:
        """Return whether both streams of an operand, and all outputs, move in the same cycle."""
        pairs = [crd.fire == ref.fire for crd, ref in zip(self.crds, self.refs, strict=True)]
        return all_of([*pairs, *(stream.fire == self.is_sent for stream in self.out_refs)])

    def is_sent_as(self, is_selected: Sequence[Signal]) -> Signal:
        """Return whether the chosen operands leave with their references, and N for the others.

        The coordinate that leaves is that of every chosen operand, unless this operand offers no coordinate.

        Args:
            is_selected: whether the head of each operand leaves.
        """
        claims = []
        for selected, crd, ref, out in zip(is_selected, self.crds, self.refs, self.out_refs, strict=True):
            kind, out_kind = ref.fields["control"], out.fields["control"]
            # Only the level of a stop's payload has a meaning; N and done are compared by kind alone.
            is_level = ref.fields["payload"][:LEVEL_BITS] == out.fields["payload"][:LEVEL_BITS]
            is_same = (out_kind == kind) & implies(
                kind == DATA, ref.fields["payload"] == out.fields["payload"]
            )
            claims += [
                implies(selected, is_same & implies(kind == STOP, is_level)),
                implies(~selected, out_kind == EMPTY),
                implies(selected & (crd.fields["control"] == DATA), self.out_crd.word == crd.word),
            ]
        return all_of(claims)


def _order(crd: StreamWires) -> Signal:
    """Return the order of a head in its fiber; all other tokens are equal, and follow all coordinates."""
    is_control = crd.fields["control"] != DATA
    return pyrtl.concat(is_control, pyrtl.select(is_control, 0, crd.fields["payload"]))


def add_intersect(parameters: JoinerParameters, properties: Properties) -> None:
    """Claim that heads leave if all are equal, and that heads smaller than another head drop otherwise.

    A head is the offered token of an operand. The block acts only in cycles in which all inputs are valid and
    all outputs are ready.
    """
    ports = JoinerPorts(parameters, properties)
    are_equal = all_of([a == b for a, b in pairwise(ports.orders)])
    smaller_flags = [any_of([order < other for other in ports.orders]) for order in ports.orders]
    taken = [
        crd.fire == (ports.can_fire & (are_equal | smaller))
        for crd, smaller in zip(ports.crds, smaller_flags, strict=True)
    ]
    properties.claim("together", ports.are_simultaneous())
    properties.claim("sends_what_all_have", ports.is_sent == (ports.can_fire & are_equal))
    properties.claim("drops_what_is_behind", all_of(taken))
    properties.claim("unchanged", ports.is_sent_as([pyrtl.Const(1, 1)] * parameters.ways), when=ports.is_sent)
    properties.claim("goes_on", any_of([crd.fire for crd in ports.crds]), when=ports.can_fire)
    add_matching_order(properties, ports.crds, ports.out_crd)


def add_union(parameters: JoinerParameters, properties: Properties) -> None:
    """Claim that the smallest head leaves, with all heads equal to it."""
    ports = JoinerPorts(parameters, properties)
    is_smallest = [~any_of([other < order for other in ports.orders]) for order in ports.orders]
    taken = [
        crd.fire == (ports.can_fire & smallest) for crd, smallest in zip(ports.crds, is_smallest, strict=True)
    ]
    properties.claim("together", ports.are_simultaneous())
    properties.claim("sends_whenever_it_can", ports.is_sent == ports.can_fire)
    properties.claim("takes_the_least", all_of(taken))
    properties.claim("unchanged", ports.is_sent_as(is_smallest), when=ports.is_sent)
    add_merging_order(properties, ports.crds, ports.out_crd)
