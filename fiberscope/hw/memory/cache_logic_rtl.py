"""Logic of a FiberCache bank as RTL, which connects its stages, tags, misses and streams."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import pyrtl

from fiberscope.hw.memory.cache_lines_rtl import Lines
from fiberscope.hw.memory.cache_parts_rtl import (
    Bank,
    ComparedRequest,
    CompletedActions,
    LastStageRequest,
    LookedUpRequest,
    Operation,
    Request,
    RequiredActions,
)
from fiberscope.hw.memory.cache_stages_rtl import CHOOSE, COMPARE, LOOK_UP, Stages
from fiberscope.hw.memory.misses_rtl import OPERATION_BITS, MissChanges, MissTable, number_of
from fiberscope.hw.memory.protocol import (
    CONSUME,
    FETCH,
    OPERATIONS,
    PORT_SHIFT,
    READ,
    WRITE,
    WRITE_THROUGH,
    WRITE_UNREAD,
)
from fiberscope.hw.memory.tags import Sets
from fiberscope.hw.memory.tags_rtl import State, TagChanges, Tags, Victim, set_of
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.memory_port import CONTROL_BITS, LINE
from fiberscope.hw.rtl.kit.smallest import Candidate
from fiberscope.hw.rtl.kit.trees import any_of
from fiberscope.hw.rtl.kit.twin import InputStream, Signal, Streams, alias, index_bits

if TYPE_CHECKING:
    from fiberscope.hw.memory.cache_parameters_rtl import BankParameters

READ_LANE = "memory_requests.1"  # lane of a line read that leaves together with the write-back of its victim


def design(parameters: BankParameters, streams: Streams) -> None:
    """Create a bank: a pipeline for requests, its tags, miss table and lines, and their logic.

    The set is read in the cycle in which the request is taken. After it, the ways are compared, the victim is
    chosen, and the request is decided, in one to three cycles (``Stages``). The last stage sends the tokens
    and changes the tags and misses; it stalls while an arrived line is answered. The tokens of a request are
    sent in one cycle or not at all: ``valid`` towards memory waits for ``ready`` of ``replies``, and vice
    versa.

    The module does not check its inputs: a request with an unknown operation is never taken and blocks all
    requests after it, and no line may arrive that was not requested.
    """
    lines = parameters.address_bits - parameters.offset_bits
    sets, ways = parameters.sets, parameters.ways
    stages = Stages(parameters.stages)
    table = MissTable(parameters.misses, parameters.targets, lines, parameters.tag_bits, sets, ways)
    bank = Bank(
        parameters,
        stages,
        Tags(sets, ways, parameters.priority_limit, parameters.reuse_limit, lines),
        table,
        Lines(sets, ways, parameters.line_bits, stages, table) if parameters.line_bits else None,
        streams,
    )
    # ``take_line`` comes first: the stages clear the flags of the miss that ends in this cycle.
    _take_line(bank)
    _decide(bank, _choose(bank, _compare(bank, _look_up(bank, streams.inputs["requests"]))))


def _take_line(bank: Bank) -> None:
    """Take a line from memory, if no other line is being answered or the answered miss ends in this cycle."""
    arrivals, replies = bank.streams.inputs["memory_replies"], bank.streams.outputs["replies"]
    # The low bits of the tag are the number of the miss, which the line read carried to memory.
    miss = arrivals.fields["coordinate"][: index_bits(bank.parameters.misses)]
    arrivals.accept(bank.table.take_line(miss, arrivals.valid, replies.ready))
    if bank.lines:
        bank.lines.take(arrivals.fields[LINE])


def _look_up(bank: Bank, head: InputStream) -> LookedUpRequest:
    """Take the request at the head if it may enter (``Stages.enter``), and read its set.

    A request waits while all ways of its set are in flight: a miss would have no victim. No other request
    enters the set until this one is decided, so that ``misses`` and ``in_flight`` have every line in flight.
    """
    parameters, stages, fields = bank.parameters, bank.stages, head.fields
    sets = Sets(parameters.banks, parameters.sets, parameters.hashed)
    set_index = alias("set_index", set_of(_line(bank, fields["reference"]), sets))
    misses = bank.table.in_set(set_index)
    in_flight = bank.table.ways(misses, parameters.ways)
    all_in_flight = alias("all_in_flight", reduce(and_, in_flight))
    wanted = alias("wanted", head.valid & (fields["control"] < len(OPERATIONS)) & ~all_in_flight)
    enters = stages.enter(wanted, set_index)
    head.accept(enters)
    is_known = bank.tags.read(set_index, enters)
    if bank.lines:
        bank.lines.enter(fields[LINE])
    request = Request(fields["control"], fields["coordinate"], fields["reference"], is_known)
    # The number of a miss that ends can be reused, so its flag falls (``misses_behind``). A way whose line
    # arrives meanwhile still counts as in flight, and is only no victim.
    return LookedUpRequest(
        request.delay(LOOK_UP, stages),
        stages.misses_behind(LOOK_UP, "misses", misses, bank.table),
        stages.all_behind(LOOK_UP, "in_flight", in_flight),
    )


def _line(bank: Bank, reference: Signal) -> Signal:
    """Return the number of the line at a byte address."""
    return reference[bank.parameters.offset_bits :]


def _compare(bank: Bank, looked_up: LookedUpRequest) -> ComparedRequest:
    """Look up the line in its set, and choose a victim in each group of ways."""
    stages, tags, request = bank.stages, bank.tags, looked_up.request
    hits = tags.compare(_line(bank, request.reference), request.known)
    states = tags.states()
    candidates = tags.candidates(states, looked_up.in_flight)
    return ComparedRequest(
        request.delay(COMPARE, stages),
        stages.misses_behind(COMPARE, "misses", looked_up.misses, bank.table),
        stages.all_behind(COMPARE, "found", hits),
        [_state_behind(stages, COMPARE, i, state) for i, state in enumerate(states)],
        stages.all_behind(COMPARE, "free", tags.free()),
        [_candidate_behind(stages, i, candidate) for i, candidate in enumerate(candidates)],
    )


def _state_behind(stages: Stages, rank: str, way: int, state: State) -> State:
    return State(*(stages.delay(rank, f"way_{way:02}_{name}", wire) for name, wire in vars(state).items()))


def _candidate_behind(stages: Stages, number: int, candidate: Candidate) -> Candidate:
    def delayed(name: str, wire: Signal) -> Signal:
        return stages.delay(COMPARE, f"candidate_{number:02}_{name}", wire)

    fields = {name: delayed(name, wire) for name, wire in candidate.fields.items()}
    return Candidate(delayed("present", candidate.present), fields, delayed("way", candidate.way))


def _choose(bank: Bank, compared: ComparedRequest) -> LastStageRequest:
    """Choose the victim among the groups, and find the miss that fetches the line."""
    stages = bank.stages
    operation = _decode(compared.request.control)
    victim = bank.tags.victim(compared.candidates, compared.free)
    brings = bank.table.bringing(compared.misses, compared.hits)
    present = any_of("present", compared.hits)
    # The data array is read while the request enters the last stage, which then has the line.
    _read_line(bank, compared, operation, victim, present)
    return LastStageRequest(
        compared.request.delay(CHOOSE, stages),
        Operation(*(stages.delay(CHOOSE, f"is_{name}", wire) for name, wire in vars(operation).items())),
        stages.all_behind(CHOOSE, "found", compared.hits),
        [_state_behind(stages, CHOOSE, i, state) for i, state in enumerate(compared.states)],
        Victim(
            stages.all_behind(CHOOSE, "victim", victim.chosen),
            **{
                name: stages.delay(CHOOSE, f"victim_{name}", getattr(victim, name))
                for name in ("way", "leaves", "rank", "reuse", "line")
            },
        ),
        stages.delay(CHOOSE, "evicts_dirty", victim.leaves_dirty),
        stages.delay(CHOOSE, "present", present),
        stages.misses_behind(CHOOSE, "brings", brings, bank.table),
    )


def _read_line(
    bank: Bank, compared: ComparedRequest, operation: Operation, victim: Victim, present: Signal
) -> None:
    """Read the requested line from the data array, or the victim if it has to be written back."""
    if bank.lines:
        hit_way = number_of(compared.hits)
        # A consumed line gets no place, and a write that is passed on allocates none: the victim stays.
        evicts = victim.leaves_dirty & ~operation.consume & ~operation.through
        way = pyrtl.select(present, hit_way, victim.way)
        bank.lines.read(way, pyrtl.select(present, operation.waits, evicts), hit_way)


def _decide(bank: Bank, chosen: LastStageRequest) -> None:
    """Decide the request in the last stage: send its tokens, and change tags and misses.

    A request that joins a miss is ``decided`` and not ``missed``; a consume that requests its line is both.
    """
    streams, table = bank.streams, bank.table
    wish = _wishes(bank, chosen)
    done = _send(bank, chosen, wish)
    decided = alias("is_decided", wish.joins | done.hit | done.allocated | done.asked | done.passed)
    any_within = alias("any_within", bank.stages.leave(decided))
    _change_tags(bank, chosen, wish, done)
    if bank.lines:
        bank.lines.write(chosen.operation.write & (done.hit | done.allocated))
    _change_misses(bank, chosen, wish, done)
    streams.show("decided", decided)
    # A write that allocates a line is a miss too, although it fetches nothing.
    streams.show("missed", done.asked | done.allocated)
    streams.show("evicted", done.placed & chosen.victim.leaves)
    # A request that stalls in the last stage is no work
    streams.show("working", (any_within & bank.stages.move) | table.closes)
    streams.show(PENDING, any_within | table.answering)


def _decode(control: Signal) -> Operation:
    """Decode the operation of a request."""
    flags = [alias(f"is_{name}", control == number) for number, name in enumerate(OPERATIONS)]
    return Operation(
        read=flags[READ],
        waits=flags[READ] | flags[CONSUME],
        write=flags[WRITE] | flags[WRITE_UNREAD],
        unread=flags[WRITE_UNREAD],
        fetch=flags[FETCH],
        consume=flags[CONSUME],
        through=flags[WRITE_THROUGH],
    )


def _wishes(bank: Bank, chosen: LastStageRequest) -> RequiredActions:
    """Return the actions that the request in the last stage needs, none while a line is answered.

    A line is asked for only with a free miss. A read or consume needs a free target to ask for a line or to
    join a miss, and joins no miss whose line arrives now.
    """
    table, operation = bank.table, chosen.operation
    turn = alias("requests_turn", bank.stages.last_full & ~table.answering)
    under_way = any_of("under_way", chosen.brings)
    waits = alias("may_wait", operation.waits & table.can_wait)
    # The targets of a line that arrives are read in this cycle, so that another one would come too late
    can_join = ~table.comes(bank.streams.inputs["memory_replies"].valid, chosen.brings)
    # While its line is under way, a write needs no action yet: it stalls until the line is present
    here = chosen.present & ~under_way & ~operation.through
    allocates = alias("allocates", turn & operation.write & ~chosen.present)
    asks = alias("asks", turn & ~chosen.present & table.available & (operation.fetch | waits))
    return RequiredActions(
        # A fetch does not wait for its line, so that it can join even if the line comes in this cycle.
        joins=alias("joins", turn & under_way & (operation.fetch | (waits & can_join))),
        hits=alias("hits", turn & here),
        allocates=allocates,
        asks=asks,
        passes=alias("passes", turn & operation.through),
        # A line to consume gets no place, so that its victim, which is never used, need not be written back
        writes_back=alias("writes_back", chosen.evicts_dirty & ~operation.consume & (allocates | asks)),
    )


def _send(bank: Bank, chosen: LastStageRequest, wish: RequiredActions) -> CompletedActions:
    """Send the tokens of the needed actions, if there is space for all of them; return what is done."""
    streams, operation = bank.streams, chosen.operation
    replies, memory, behind = (streams.outputs[port] for port in ("replies", "memory_requests", READ_LANE))
    replying = alias("replying", (wish.hits & ~operation.fetch) | wish.allocates)
    evicting = alias("evicting", wish.allocates & wish.writes_back)
    # The reply and the write-back leave in the same cycle: each waits for space for the other. This makes no
    # combinational loop, as ``ready`` of a receiver must not wait for ``valid`` (``kit.contract``).
    room_to_reply = alias("room_to_reply", replies.ready & (~evicting | memory.ready))
    room_to_ask = alias("room_to_ask", memory.ready & (~wish.writes_back | behind.ready))
    answers = alias("answers", bank.table.answering & bank.table.waiting)
    _send_reply(bank, chosen, answers, replying & (~evicting | memory.ready))
    _send_to_memory(bank, chosen, wish, evicting)
    streams.show("stalled_on_replies", (replying | answers) & ~replies.ready)
    evicting_only = evicting & replies.ready & ~memory.ready
    streams.show(
        "stalled_on_memory", evicting_only | (wish.passes & ~memory.ready) | (wish.asks & ~room_to_ask)
    )
    asked = alias("asked", wish.asks & room_to_ask)
    allocated = alias("allocated", wish.allocates & room_to_reply)
    return CompletedActions(
        # A fetch of a present line sends nothing, so that it needs no space.
        hit=alias("hit", wish.hits & (replies.ready | operation.fetch)),
        allocated=allocated,
        asked=asked,
        passed=alias("passed", wish.passes & memory.ready),
        placed=alias("takes_place", allocated | (asked & ~operation.consume)),
    )


def _send_reply(bank: Bank, chosen: LastStageRequest, answers: Signal, replies: Signal) -> None:
    """Send the reply to the request, or to the oldest target of the arrived line, with the line's address."""
    table, request = bank.table, chosen.request
    answer = {
        "control": table.operation.zero_extended(CONTROL_BITS),
        "coordinate": table.tag,
        "reference": _address(bank, table.line),
    }
    bank.streams.outputs["replies"].send(
        answers | replies,
        {field: pyrtl.select(table.answering, answer[field], getattr(request, field)) for field in answer}
        | ({LINE: bank.lines.replied} if bank.lines else {}),
    )


def _send_to_memory(bank: Bank, chosen: LastStageRequest, wish: RequiredActions, evicting: Signal) -> None:
    """Send a write-back, a write that is passed on, or a line read, on the first lane to memory.

    A line read that leaves together with a write-back is on the second lane.
    """
    outputs, parameters = bank.streams.outputs, bank.parameters
    memory, behind = outputs["memory_requests"], outputs[READ_LANE]
    port = parameters.memory_port
    miss = bank.table.next.zero_extended(PORT_SHIFT)
    asks_alone = alias("asks_alone", wish.asks & ~wish.writes_back)
    asked = _address(bank, _line(bank, chosen.request.reference))
    written = pyrtl.select(wish.passes, chosen.request.reference, _address(bank, chosen.victim.line))
    lines = bank.lines
    memory.send(
        wish.passes
        | (evicting & outputs["replies"].ready)
        | (wish.asks & (~wish.writes_back | behind.ready)),
        port.token(
            pyrtl.select(asks_alone, port.operation(READ), port.operation(WRITE)),
            # Memory does not reply to a write, so that the number in its tag has no use
            port.tag(parameters.port, pyrtl.select(asks_alone, miss, pyrtl.Const(0, PORT_SHIFT))),
            pyrtl.select(asks_alone, asked, written),
            lines and pyrtl.select(wish.passes, lines.entering_line, lines.victim),
        ),
    )
    behind.send(
        wish.asks & wish.writes_back & memory.ready,
        port.token(port.operation(READ), port.tag(parameters.port, miss), asked),
    )


def _address(bank: Bank, line: Signal) -> Signal:
    """Return the byte address of a line."""
    return pyrtl.concat(line, pyrtl.Const(0, bank.parameters.offset_bits))


def _change_tags(bank: Bank, chosen: LastStageRequest, wish: RequiredActions, done: CompletedActions) -> None:
    """Change the tags of the set by the actions that are done."""
    operation = chosen.operation
    changes = TagChanges(
        place=done.placed,
        fetch=alias("fetched", operation.fetch & (done.hit | wish.joins | done.asked)),
        # The line of a miss has its place, and its state, from the request that opened the miss.
        read=alias("was_read", operation.read & (done.hit | wish.joins)),
        write=alias("written", operation.write & (done.hit | done.allocated)),
        unread=operation.unread,
        drop=alias("dropped", operation.consume & (done.hit | wish.joins)),
    )
    request = chosen.request
    bank.tags.update(
        changes,
        bank.stages.set_index,
        _line(bank, request.reference),
        request.known,
        chosen.hits,
        chosen.states,
        chosen.victim,
    )


def _change_misses(
    bank: Bank, chosen: LastStageRequest, wish: RequiredActions, done: CompletedActions
) -> None:
    """Open or join a miss, by the actions that are done."""
    request, operation = chosen.request, chosen.operation
    bank.table.update(
        MissChanges(
            opened=done.asked,
            joined=wish.joins,
            brings=chosen.brings,
            waits=~operation.fetch,
            consumed=operation.consume,
            line=_line(bank, request.reference),
            set_index=bank.stages.set_index,
            way=chosen.victim.way,
            # Only a read (0) or a consume (3) waits: two bits distinguish them.
            operation=request.control[:OPERATION_BITS],
            tag=request.coordinate,
        )
    )
