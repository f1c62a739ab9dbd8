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
from fiberscope.rtl.formal.properties import End, Properties, all_of, any_of, implies


class Repeated:
    """The repeated reference: the last one taken, until the signal ends its fiber; else the head.

    Args:
        source: the input of references; its head is the offered token.
        comes: whether a reference is taken to be repeated.
        ends: whether the signal ends the fiber of the reference.

    Attributes:
        has: whether a reference has been taken, and its fiber has not ended.
        taken: fields of this reference; valid while ``has`` is high.
        shown: whether there is a reference to repeat, taken or offered.
        kind, payload: fields of the reference to repeat.
    """

    def __init__(self, source: End, comes: Signal, ends: Signal) -> None:
        self.has = pyrtl.Register(1, "has")
        keeps = comes & ~self.has
        self.has.next <<= (self.has | keeps) & ~ends
        self.taken = {name: pyrtl.Register(len(own), f"taken_{name}") for name, own in source.fields.items()}
        for name, register in self.taken.items():
            register.next <<= pyrtl.select(keeps, source.fields[name], register)
        fields = {name: pyrtl.select(self.has, own, source.fields[name]) for name, own in self.taken.items()}
        self.shown, self.kind, self.payload = self.has | source.valid, fields["control"], fields["payload"]

    def is_kept(self, properties: Properties) -> Signal:
        """Return whether the registers of the block have this reference."""
        same = [properties.inner(f"held_{name}") == register for name, register in self.taken.items()]
        return (properties.inner("holds") == self.has) & implies(self.has, all_of(same))


def add_repeater(_parameters: RepeaterParameters, properties: Properties) -> None:
    """Claim a token for each signal, in order; a stop waits for the next reference, and absorbs a stop.

    A signal token N counts as no signal. A stop may be taken before its own stop can leave; the repeater then
    owes one token (``debt``).
    """
    source, signal, sink = (properties.end(prefix) for prefix in ("in_ref", "in_repsig", "out_ref_0"))
    asked, sent, next_kind = (end.fields["control"] for end in (signal, sink, source))
    answers = signal.moves & (asked != EMPTY)  # which is no signal
    debt = pyrtl.Register(2, "debt")
    debt.next <<= (debt + answers - sink.moves)[:2]
    owes = debt != 0
    now = Repeated(source, source.moves & ~owes, answers & (asked != DATA))
    stops = sink.moves & (sent == STOP)
    repeated = pyrtl.select(now.kind == DATA, pyrtl.Const(DATA, 2), pyrtl.Const(EMPTY, 2))
    due = pyrtl.select(owes, pyrtl.Const(STOP, 2), pyrtl.select(asked == DATA, repeated, asked))
    empty, taken_in = ~owes & (now.kind == STOP), source.moves & (next_kind == STOP)
    closed = pyrtl.select(
        empty, _raised(now.payload), pyrtl.select(taken_in, _raised(source.fields["payload"]), 0)
    )
    claim = properties.claim
    claim("a_token_a_signal", (debt + answers - sink.moves)[:2] <= 1)
    claim("waits_its_turn", ~answers, when=owes)
    claim("waits_for_stops_alone", asked == STOP, when=answers & ~sink.moves)
    claim("kind", sent == due, when=sink.moves)
    claim("reference", sink.fields["payload"] == now.payload, when=sink.moves & (sent == DATA))
    claim("level", sink.fields["payload"][:LEVEL_BITS] == closed, when=stops)
    claim("looks_ahead", source.valid & (now.has | owes), when=stops & ~empty)
    claim("a_reference_a_fiber", taken_in & stops, when=source.moves & (now.has | owes))
    claim("repeats_what_it_has", now.has | source.moves, when=answers)
    claim("pays", sink.moves, when=owes & source.valid & sink.ready)
    claim("answers", signal.moves, when=~owes & now.shown & signal.valid & sink.ready)
    claim("registers", now.is_kept(properties) & (properties.inner("owes") == debt))


def _raised(stop: Signal) -> Signal:
    """Return the next higher level than that of a stop's payload."""
    return (stop[:LEVEL_BITS] + 1)[:LEVEL_BITS]


class Joined:
    """The ends of a joiner: coordinates and references of each operand, and the outputs.

    Args:
        parameters: parameters of the joiner.
        properties: properties of the block.

    Attributes:
        crds, refs: inputs of coordinates and references, by operand.
        out_crd, out_refs: output of coordinates; outputs of references, by operand.
        sends: whether a coordinate leaves.
        orders: by operand, a number that compares the heads: see ``_order``.
        could: whether all inputs offer a token and all outputs are ready.
    """

    def __init__(self, parameters: JoinerParameters, properties: Properties) -> None:
        ways, end = range(parameters.ways), properties.end
        self.crds = [end(f"in_crd_{way}") for way in ways]
        self.refs = [end(f"in_ref_{way}") for way in ways]
        self.out_crd, self.out_refs = end("out_crd_0"), [end(f"out_ref{way}_0") for way in ways]
        self.sends = self.out_crd.moves
        self.orders = [_order(crd) for crd in self.crds]
        sinks, sources = [self.out_crd, *self.out_refs], [*self.crds, *self.refs]
        self.could = all_of([*(source.valid for source in sources), *(sink.ready for sink in sinks)])

    def are_together(self) -> Signal:
        """Return whether both streams of an operand, and all outputs, move in the same cycle."""
        pairs = [crd.moves == ref.moves for crd, ref in zip(self.crds, self.refs, strict=True)]
        return all_of([*pairs, *(end.moves == self.sends for end in self.out_refs)])

    def is_sent_as(self, chosen: Sequence[Signal]) -> Signal:
        """Return whether the chosen operands leave with their references, and N for the others.

        The coordinate that leaves is that of every chosen operand, unless this operand offers no coordinate.

        Args:
            chosen: whether the head of each operand leaves.
        """
        claims = []
        for this, crd, ref, out in zip(chosen, self.crds, self.refs, self.out_refs, strict=True):
            kind, sent = ref.fields["control"], out.fields["control"]
            level = ref.fields["payload"][:LEVEL_BITS] == out.fields["payload"][:LEVEL_BITS]
            same = (sent == kind) & implies(kind == DATA, ref.fields["payload"] == out.fields["payload"])
            claims += [
                implies(this, same & implies(kind == STOP, level)),
                implies(~this, sent == EMPTY),
                implies(this & (crd.fields["control"] == DATA), self.out_crd.word == crd.word),
            ]
        return all_of(claims)


def _order(crd: End) -> Signal:
    """Return the order of a head in its fiber; stops and other tokens follow all coordinates."""
    control = crd.fields["control"] != DATA
    return pyrtl.concat(control, pyrtl.select(control, 0, crd.fields["payload"]))


def add_intersect(parameters: JoinerParameters, properties: Properties) -> None:
    """Claim that heads leave if all are equal, and that heads smaller than another head drop otherwise.

    A head is the offered token of an operand. The block acts only in cycles in which all inputs are valid and
    all outputs are ready.
    """
    ends = Joined(parameters, properties)
    equal = all_of([a == b for a, b in pairwise(ends.orders)])
    behind = [any_of([own < other for other in ends.orders]) for own in ends.orders]
    taken = [end.moves == (ends.could & (equal | late)) for end, late in zip(ends.crds, behind, strict=True)]
    properties.claim("together", ends.are_together())
    properties.claim("sends_what_all_have", ends.sends == (ends.could & equal))
    properties.claim("drops_what_is_behind", all_of(taken))
    properties.claim("unchanged", ends.is_sent_as([pyrtl.Const(1, 1)] * parameters.ways), when=ends.sends)
    properties.claim("goes_on", any_of([end.moves for end in ends.crds]), when=ends.could)
    add_matching_order(properties, ends.crds, ends.out_crd)


def add_union(parameters: JoinerParameters, properties: Properties) -> None:
    """Claim that the smallest head leaves, with all heads equal to it."""
    ends = Joined(parameters, properties)
    least = [~any_of([other < own for other in ends.orders]) for own in ends.orders]
    taken = [end.moves == (ends.could & this) for end, this in zip(ends.crds, least, strict=True)]
    properties.claim("together", ends.are_together())
    properties.claim("sends_whenever_it_can", ends.sends == ends.could)
    properties.claim("takes_the_least", all_of(taken))
    properties.claim("unchanged", ends.is_sent_as(least), when=ends.sends)
    add_merging_order(properties, ends.crds, ends.out_crd)
