"""What is inside a FiberCache bank as RTL: how tags, misses and streams work together in a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyrtl

from hw.memory import CONSUME, FETCH, OPERATIONS, PORT_SHIFT, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD
from hw.rtl.kit.reciprocal import quotient, remainder
from hw.rtl.kit.twin import DataRegister, InputStream, Signal, Streams, index_bits, named
from hw.rtl.misses import OPERATION_BITS, MissChanges, MissTable, Queue
from hw.rtl.tags import TagChanges, Tags

if TYPE_CHECKING:
    from hw.rtl.bank import BankParameters

CONTROL_BITS = (len(OPERATIONS) - 1).bit_length()
READ_LANE = "memory_requests.1"  # where a line read leaves behind the write-back of its victim


@dataclass(frozen=True)
class _Request:
    """Which operation the request at the head is; none while a line is taken or answers who waited for it."""

    read: Signal
    write: Signal  # of either kind
    unread: Signal
    fetch: Signal
    consume: Signal
    through: Signal

    @property
    def of_line(self) -> Signal:
        """Whether it is one for a line of the cache."""
        return self.read | self.write | self.fetch | self.consume


@dataclass(frozen=True)
class _Cycle:
    """What a cycle is about: one line, come from memory or requested, and what the memories say of it."""

    parameters: BankParameters
    head: InputStream
    request: _Request
    coming: Signal  # a line comes, or has come and answers who waited for it
    arrived: Signal  # the first cycle of that
    placed: Signal  # whether a line that comes has a place in the tags
    line: Signal
    tags: Tags
    table: MissTable
    queue: Queue
    answering: Signal  # register: it will answer in the next cycle
    answered_miss: Signal  # register: the targets of this miss
    miss: Signal


@dataclass(frozen=True)
class _Wish:
    """What is done in the cycle, the last six if there is space for what they send."""

    joins: Signal  # a line that is in flight
    answers: Signal  # one that waited for a line
    hits: Signal
    allocates: Signal  # a place for a line to be written
    asks: Signal  # memory for a line
    passes: Signal  # a write on to memory
    writes_back: Signal  # the victim, when it allocates or asks


@dataclass(frozen=True)
class _Done:
    """What is done in the cycle."""

    answered: Signal
    answered_all: Signal
    hit: Signal
    allocated: Signal
    asked: Signal
    passed: Signal
    placed: Signal  # a line takes the victim's place


def design(parameters: BankParameters, between: Streams) -> None:
    """A line that comes, an answer to who waited for one, or a request: one a cycle, for one line of one set.

    So every memory is read and written once a cycle. What a request sends leaves all at once or not at all:
    ``valid`` towards memory waits for ``ready`` of ``replies``, and the other way round. An unknown operation
    is never taken; that, and lines that were not asked for, are for the sender to avoid.
    """
    cycle = _look(parameters, between)
    wish = _wishes(cycle)
    done = _send(cycle, wish, between)
    _change_tags(cycle, wish, done)
    _change_misses(cycle, wish, done)
    between.inputs["memory_replies"].accept(~cycle.answering)
    cycle.head.accept(wish.joins | done.hit | done.allocated | done.asked | done.passed)
    cycle.answering.next <<= wish.answers & ~done.answered_all
    cycle.answered_miss.next <<= cycle.miss
    between.show("missed", done.asked | done.allocated)
    between.show("evicted", done.placed & cycle.tags.evicts)


def _look(parameters: BankParameters, between: Streams) -> _Cycle:
    """Choose the line that the cycle is about, and look it up."""
    head, arrivals = between.inputs["requests"], between.inputs["memory_replies"]
    answering: Signal = pyrtl.Register(1, "answering")
    answered_miss: Signal = DataRegister(index_bits(parameters.misses), "answered_miss")
    coming = named("coming", answering | arrivals.valid)
    came = arrivals.fields["coordinate"][: len(answered_miss)]
    miss = named("miss", pyrtl.select(answering, answered_miss, came))

    requested = head.fields["reference"][parameters.offset_bits :]
    table = MissTable(parameters.misses, parameters.targets, len(requested), parameters.tag_bits)
    miss_line, placed = table.line(miss)
    line = named("line", pyrtl.select(coming, miss_line, requested))
    tags = Tags(
        parameters.sets,
        parameters.ways,
        parameters.priority_limit,
        parameters.reuse_limit,
        len(miss),
        line,
        named("set_index", remainder(quotient(line, parameters.banks), parameters.sets)),
    )
    queue = table.queue(named("miss_of_queue", pyrtl.select(coming, miss, tags.miss)))
    arrived = named("arrived", arrivals.valid & ~answering)
    request = _decode(head, ~coming)
    return _Cycle(
        parameters,
        head,
        request,
        coming,
        arrived,
        placed,
        line,
        tags,
        table,
        queue,
        answering,
        answered_miss,
        miss,
    )


def _decode(head: InputStream, served: Signal) -> _Request:
    flags = [
        named(f"is_{name}", head.valid & served & (head.fields["control"] == number))
        for number, name in enumerate(OPERATIONS)
    ]
    return _Request(
        read=flags[READ],
        write=flags[WRITE] | flags[WRITE_UNREAD],
        unread=flags[WRITE_UNREAD],
        fetch=flags[FETCH],
        consume=flags[CONSUME],
        through=flags[WRITE_THROUGH],
    )


def _wishes(cycle: _Cycle) -> _Wish:
    request, tags, table = cycle.request, cycle.tags, cycle.table
    absent = named("absent", request.of_line & ~tags.present)
    can_wait = named("can_wait", request.fetch | (~request.write & table.can_wait))
    allocates = named("allocates", absent & request.write & tags.has_victim)
    asks = absent & ~request.write & table.available & can_wait & (request.consume | tags.has_victim)
    return _Wish(
        joins=named("joins", request.of_line & tags.under_way & can_wait),
        answers=named("answers", cycle.coming & cycle.queue.waiting),
        hits=named("hits", request.of_line & tags.present & ~tags.under_way),
        allocates=allocates,
        asks=named("asks", asks),
        passes=request.through,
        writes_back=named("writes_back", (allocates | (asks & ~request.consume)) & tags.evicts_dirty),
    )


def _send(cycle: _Cycle, wish: _Wish, between: Streams) -> _Done:
    """Send all that the cycle wishes to, if there is space for all of it."""
    replies, memory, behind = (between.outputs[port] for port in ("replies", "memory_requests", READ_LANE))
    replying = named("replying", wish.answers | (wish.hits & ~cycle.request.fetch) | wish.allocates)
    evicting = named("evicting", wish.allocates & wish.writes_back)
    room_to_reply = named("room_to_reply", replies.ready & (~evicting | memory.ready))
    room_to_ask = named("room_to_ask", memory.ready & (~wish.writes_back | behind.ready))
    _send_reply(cycle, wish, between, replying & (~evicting | memory.ready))
    _send_to_memory(cycle, wish, between, evicting)
    between.show("stalled_on_replies", replying & ~replies.ready)
    evicting_only = evicting & replies.ready & ~memory.ready
    between.show(
        "stalled_on_memory", evicting_only | (wish.passes & ~memory.ready) | (wish.asks & ~room_to_ask)
    )
    asked = named("asked", wish.asks & room_to_ask)
    allocated = named("allocated", wish.allocates & room_to_reply)
    answered = named("answered", wish.answers & room_to_reply)
    return _Done(
        answered=answered,
        answered_all=named("answered_all", answered & cycle.queue.only),
        hit=named("hit", wish.hits & (room_to_reply | cycle.request.fetch)),
        allocated=allocated,
        asked=asked,
        passed=named("passed", wish.passes & memory.ready),
        placed=named("takes_place", allocated | (asked & ~cycle.request.consume)),
    )


def _send_reply(cycle: _Cycle, wish: _Wish, between: Streams, valid: Signal) -> None:
    """The head's reply, or that of the oldest target, which has the address of its line."""
    fields, queue = cycle.head.fields, cycle.queue
    answer = {
        "control": queue.operation.zero_extended(CONTROL_BITS),
        "coordinate": queue.tag,
        "reference": _address(cycle, cycle.line),
    }
    between.outputs["replies"].send(
        valid, {field: pyrtl.select(wish.answers, answer[field], fields[field]) for field in answer}
    )


def _send_to_memory(cycle: _Cycle, wish: _Wish, between: Streams, evicting: Signal) -> None:
    """A write-back or a write to pass on, or a line read; a line read behind its victim's write-back."""
    memory, behind = between.outputs["memory_requests"], between.outputs[READ_LANE]
    port = pyrtl.Const(cycle.parameters.port, cycle.parameters.tag_bits - PORT_SHIFT)
    miss = cycle.table.next.zero_extended(PORT_SHIFT)
    asks_alone = named("asks_alone", wish.asks & ~wish.writes_back)
    write_address = pyrtl.select(
        wish.passes, cycle.head.fields["reference"], _address(cycle, cycle.tags.victim_line)
    )
    memory.send(
        wish.passes
        | (evicting & between.outputs["replies"].ready)
        | (wish.asks & (~wish.writes_back | behind.ready)),
        {
            "control": pyrtl.select(
                asks_alone, pyrtl.Const(READ, CONTROL_BITS), pyrtl.Const(WRITE, CONTROL_BITS)
            ),
            "coordinate": pyrtl.concat(port, pyrtl.select(asks_alone, miss, pyrtl.Const(0, PORT_SHIFT))),
            "reference": pyrtl.select(asks_alone, _address(cycle, cycle.line), write_address),
        },
    )
    behind.send(
        wish.asks & wish.writes_back & memory.ready,
        {
            "control": pyrtl.Const(READ, CONTROL_BITS),
            "coordinate": pyrtl.concat(port, miss),
            "reference": _address(cycle, cycle.line),
        },
    )


def _address(cycle: _Cycle, line: Signal) -> Signal:
    return pyrtl.concat(line, pyrtl.Const(0, cycle.parameters.offset_bits))


def _change_tags(cycle: _Cycle, wish: _Wish, done: _Done) -> None:
    request = cycle.request
    last_read = done.answered_all & cycle.placed & cycle.queue.consumed
    cycle.tags.update(
        TagChanges(
            place=done.placed,
            fetch=named("fetched", request.fetch & (done.hit | wish.joins | done.asked)),
            read=named("was_read", request.read & (done.hit | wish.joins)),
            write=named("written", request.write & (done.hit | done.allocated)),
            unread=request.unread,
            arrive=named("line_arrived", cycle.arrived & cycle.placed),
            drop=named("dropped", (request.consume & done.hit) | last_read),
            miss=cycle.table.next,
        )
    )


def _change_misses(cycle: _Cycle, wish: _Wish, done: _Done) -> None:
    request = cycle.request
    cycle.table.update(
        MissChanges(
            opened=done.asked,
            joined=wish.joins,
            answered=done.answered,
            closed=named("closed", done.answered_all | (cycle.arrived & ~cycle.queue.waiting)),
            placed=~request.consume,
            line=cycle.line,
            waits=~request.fetch,
            consume=request.consume,
            operation=cycle.head.fields["control"][:OPERATION_BITS],
            tag=cycle.head.fields["coordinate"],
        )
    )
