"""What is proven of units, for all streams at their inputs: claims in PyRTL beside the twin.

A claim reads ports, and registers that follow what has moved there. Those that read the twin's own registers
say how these stand for that: without them no induction goes through.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import add, and_, or_

import pyrtl

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.rtl.kit.twin import index_bits, packed
from fiberscope.hw.streams.tokens import DATA, EMPTY, STOP
from fiberscope.hw.streams.tokens_rtl import LEVEL_BITS


def wire(name):
    """A wire or register of the twin."""
    return pyrtl.working_block().get_wirevector_by_name(name, strict=True)


def implies(condition, claim):
    return ~condition | claim


class End:
    """A port: what it shows, and whether that moves."""

    def __init__(self, streams, prefix):
        wires = {
            name.removeprefix(f"{prefix}_"): wire
            for name, wire in streams.ports.items()
            if name.startswith(f"{prefix}_")
        }
        self.valid, self.ready = wires.pop("valid"), wires.pop("ready")
        self.moves = self.valid & self.ready
        self.fields = wires
        self.word = packed(wires)


class Queue:
    """What came in and has not left, the oldest first; and how long each is there."""

    def __init__(self, capacity, latency, source, sink):
        comes, leaves, self.latency = source.moves, sink.moves, latency
        self.count = pyrtl.Register(index_bits(capacity + 1), "queue_count")
        self.words = [pyrtl.Register(len(source.word), f"queue_{i}") for i in range(capacity)]
        self.ages = [pyrtl.Register(index_bits(latency + 1), f"age_{i}") for i in range(capacity)]
        self.count.next <<= (self.count + comes - leaves)[: len(self.count)]
        behind = zip([*self.words[1:], self.words[-1]], [*self.ages[1:], self.ages[-1]], strict=True)
        for i, (word, age, (next_word, next_age)) in enumerate(
            zip(self.words, self.ages, behind, strict=True)
        ):
            came, since = comes & (self.count - leaves == i), pyrtl.select(leaves, next_age, age)
            word.next <<= pyrtl.select(came, source.word, pyrtl.select(leaves, next_word, word))
            older = pyrtl.select(since == latency, since, (since + 1)[: len(since)])
            age.next <<= pyrtl.select(came, pyrtl.Const(1, len(age)), older)

    def of_age(self, age):
        """By place whether there is a word that is this old."""
        return [(self.count > i) & (one == age) for i, one in enumerate(self.ages)]

    def came_one_by_one(self):
        """No two came in one cycle."""
        pairs = enumerate(pairwise(self.ages))
        older = [implies(self.count > i + 1, (a > b) | (b == self.latency)) for i, (a, b) in pairs]
        return reduce(and_, [implies(self.count > i, age != 0) for i, age in enumerate(self.ages)] + older)


def channel(parameters, streams):
    """What comes leaves once, in its order, as it came, a latency later; a free place is offered."""
    capacity, latency = parameters.capacity, parameters.latency
    source, sink = End(streams, "in"), End(streams, "out")
    queue = Queue(capacity, latency, source, sink)
    claims = {
        "takes_while_there_is_room": source.ready == (queue.count < capacity),
        "shows_what_is_due": sink.valid == queue.of_age(latency)[0],
        "shows_the_oldest": implies(sink.valid, sink.word == queue.words[0]),
        "held": (wire("held") == queue.count) & (queue.count <= capacity),
        "one_by_one": queue.came_one_by_one(),
    }
    words = [implies(queue.count > i, word == _slot(i, capacity)) for i, word in enumerate(queue.words)]
    claims["slots"] = reduce(and_, words)
    if capacity > 1:
        end = _around(wire("head") + queue.count, capacity)
        claims["places"] = (wire("head") < capacity) & (wire("tail") == end)
    if latency > 1:
        claims["shown"] = wire("shown") == reduce(add, queue.of_age(latency))
    for age in range(1, latency):
        claims[f"under_way_{age}"] = wire(f"under_way_{age - 1:02}") == reduce(or_, queue.of_age(age))
    return claims


def _slot(place, capacity):
    """The word this many places behind the oldest."""
    if capacity == 1:
        return wire("slot")
    slots = pyrtl.working_block().get_memblock_by_name("slots")
    slots.max_read_ports = None  # the claims read beside the twin
    return slots[_around(wire("head") + place, capacity)]


def _around(place, capacity):
    return pyrtl.select(place >= capacity, place - capacity, place)[: index_bits(capacity)]


class Repeated:
    """The reference that is repeated: the one taken last, until the signal ends its fiber; else the head."""

    def __init__(self, source, comes, ends):
        self.has = pyrtl.Register(1, "has")
        keeps = comes & ~self.has
        self.has.next <<= (self.has | keeps) & ~ends
        self.taken = {name: pyrtl.Register(len(one), f"taken_{name}") for name, one in source.fields.items()}
        for name, register in self.taken.items():
            register.next <<= pyrtl.select(keeps, source.fields[name], register)
        fields = {name: pyrtl.select(self.has, one, source.fields[name]) for name, one in self.taken.items()}
        self.shown, self.kind, self.payload = self.has | source.valid, fields["control"], fields["payload"]

    def kept_in_the_twin(self):
        """How the twin's registers stand for it."""
        same = [wire(f"held_{name}") == register for name, register in self.taken.items()]
        return (wire("holds") == self.has) & implies(self.has, reduce(and_, same))


def repeater(_parameters, streams):
    """A token leaves for each signal, in order; a stop waits for the next reference, and takes in a stop."""
    source, signal, sink = (End(streams, prefix) for prefix in ("in_ref", "in_repsig", "out_ref_0"))
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
    return {
        "a_token_a_signal": (debt + answers - sink.moves)[:2] <= 1,
        "waits_its_turn": implies(owes, ~answers),
        "waits_for_stops_alone": implies(answers & ~sink.moves, asked == STOP),
        "kind": implies(sink.moves, sent == due),
        "reference": implies(sink.moves & (sent == DATA), sink.fields["payload"] == now.payload),
        "level": implies(stops, sink.fields["payload"][:LEVEL_BITS] == closed),
        "looks_ahead": implies(stops & ~empty, source.valid & (now.has | owes)),
        "a_reference_a_fiber": implies(source.moves & (now.has | owes), taken_in & stops),
        "repeats_what_it_has": implies(answers, now.has | source.moves),
        "pays": implies(owes & source.valid & sink.ready, sink.moves),
        "answers": implies(~owes & now.shown & signal.valid & sink.ready, signal.moves),
        "registers": now.kept_in_the_twin() & (wire("owes") == debt),
    }


def _raised(stop):
    return (stop[:LEVEL_BITS] + 1)[:LEVEL_BITS]


class Joined:
    """The ends of a joiner, an operand's coordinates and references together."""

    def __init__(self, parameters, streams):
        ways = range(parameters.ways)
        self.crds = [End(streams, f"in_crd_{way}") for way in ways]
        self.refs = [End(streams, f"in_ref_{way}") for way in ways]
        self.out_crd, self.out_refs = (
            End(streams, "out_crd_0"),
            [End(streams, f"out_ref{way}_0") for way in ways],
        )
        self.sends = self.out_crd.moves
        self.orders = [self._order(end.fields) for end in self.crds]
        sinks, sources = [self.out_crd, *self.out_refs], [*self.crds, *self.refs]
        self.could = reduce(and_, [*(end.valid for end in sources), *(end.ready for end in sinks)])

    @staticmethod
    def _order(fields):
        """Stops and their like are behind all coordinates."""
        control = fields["control"] != DATA
        return pyrtl.concat(control, pyrtl.select(control, 0, fields["payload"]))

    def together(self):
        """Both streams of an operand move at once, and all outputs."""
        pairs = [crd.moves == ref.moves for crd, ref in zip(self.crds, self.refs, strict=True)]
        return reduce(and_, [*pairs, *(end.moves == self.sends for end in self.out_refs)])

    def sent_as(self, chosen):
        """What leaves is the coordinate and the references of those that are chosen, N for others."""
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
        return implies(self.sends, reduce(and_, claims))


def intersect(parameters, streams):
    """All heads leave where they are equal; else those are dropped that another one is ahead of."""
    ends = Joined(parameters, streams)
    equal = reduce(and_, [a == b for a, b in pairwise(ends.orders)])
    behind = [reduce(or_, [own < other for other in ends.orders]) for own in ends.orders]
    taken = [end.moves == (ends.could & (equal | late)) for end, late in zip(ends.crds, behind, strict=True)]
    return {
        "together": ends.together(),
        "leaves_what_all_have": ends.sends == (ends.could & equal),
        "drops_what_is_behind": reduce(and_, taken),
        "as_it_came": ends.sent_as([pyrtl.Const(1, 1)] * parameters.ways),
        "goes_on": implies(ends.could, reduce(or_, [end.moves for end in ends.crds])),
    }


def union(parameters, streams):
    """The smallest head leaves, with those that are equal to it."""
    ends = Joined(parameters, streams)
    least = [~reduce(or_, [other < own for other in ends.orders]) for own in ends.orders]
    taken = [end.moves == (ends.could & this) for end, this in zip(ends.crds, least, strict=True)]
    return {
        "together": ends.together(),
        "leaves_whenever_it_can": ends.sends == ends.could,
        "takes_the_least": reduce(and_, taken),
        "as_it_came": ends.sent_as(least),
    }


def crossbar(parameters, streams):
    """What is taken leaves in the same cycle, where its tag says."""
    sources = [End(streams, f"inputs_{i}") for i in range(parameters.inputs)]
    sinks = [End(streams, f"outputs_{i}") for i in range(parameters.outputs)]
    ports = [source.fields["coordinate"][PORT_SHIFT:] for source in sources]
    claims = {}
    for place, sink in enumerate(sinks):
        asks = [source.valid & (port == place) for source, port in zip(sources, ports, strict=True)]
        takes = [ask & source.ready for ask, source in zip(asks, sources, strict=True)]
        words = [implies(flag, sink.word == source.word) for flag, source in zip(takes, sources, strict=True)]
        claims |= arbiter(f"output_{place:02}", asks, takes, sink) | {f"word_{place}": reduce(and_, words)}
    nowhere = [
        implies(port >= parameters.outputs, ~end.moves) for port, end in zip(ports, sources, strict=True)
    ]
    return claims | {"goes_where_it_says": reduce(and_, nowhere)}


def concentrator(parameters, streams):
    """One way an arbiter, which adds the port; the other way what comes goes to the port in its tag."""
    sources = [End(streams, f"inputs_{i}") for i in range(parameters.requesters)]
    sinks = [End(streams, f"outputs_{i}") for i in range(parameters.repliers)]
    requests, replies = End(streams, "requests"), End(streams, "replies")
    takes = [source.moves for source in sources]
    claims = arbiter("requests", [source.valid for source in sources], takes, requests)
    for i, source in enumerate(sources):
        claims[f"word_{i}"] = implies(source.moves, _passed(requests, source, parameters.first_port + i))
    for i, sink in enumerate(sinks):
        claims[f"reply_{i}"] = implies(sink.moves, _passed(replies, sink, parameters.first_port + i))
    moved = reduce(add, [sink.moves for sink in sinks])
    return claims | {"a_reply_for_one": moved == replies.moves}


def _passed(whole, own, port):
    """Whether two tokens are one, with this port in its tag at one side."""
    rest = [own.fields[name] == one for name, one in whole.fields.items() if name != "coordinate"]
    tag = whole.fields["coordinate"]
    same = (tag[:PORT_SHIFT] == own.fields["coordinate"]) & (tag[PORT_SHIFT:] == port)
    return reduce(and_, rest) & same


def arbiter(name, asks, takes, sink):
    """One that asks is served in every cycle, and each is passed over no more often than there are others."""
    others, behind = len(asks) - 1, wire(f"behind_{name}")
    suffixes = [(1 << len(asks)) - (1 << begin) for begin in range(1, len(asks))]
    claims = {
        f"offers_{name}": sink.valid == reduce(or_, asks),
        f"serves_one_{name}": reduce(add, takes) == sink.moves,
        f"turn_{name}": reduce(or_, [behind == mask for mask in (0, *suffixes)]),
    }
    for i, (ask, take) in enumerate(zip(asks, takes, strict=True)):
        lost = pyrtl.Register(index_bits(len(asks) + 1), f"lost_{name}_{i}")
        waits = ask & ~take
        lost.next <<= pyrtl.select(waits, (lost + sink.moves)[: len(lost)], 0)
        before = _distance(behind, suffixes, i)
        claims[f"fair_{name}_{i}"] = (lost + before <= others) & (lost <= others)
    return claims


def _distance(behind, suffixes, place):
    """How many others have their turn before this place."""
    count, found = len(suffixes) + 1, pyrtl.Const(place, 8)
    for begin, mask in enumerate(suffixes, 1):
        found = pyrtl.select(behind == mask, pyrtl.Const((place - begin) % count, 8), found)
    return found
