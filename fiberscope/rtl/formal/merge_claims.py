"""Claims of the merger and of the crossbar with iSLIP matching."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.fibers.merge import nodes_of
from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.networks.islip_rtl import IslipParameters
from fiberscope.hw.rtl.kit.sram import REGISTERED
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, unpacked
from fiberscope.rtl.formal.order_properties import Fiber
from fiberscope.rtl.formal.properties import End, Properties, all_of, any_of, count, implies


def add_merger(parameters: MergerParameters, properties: Properties) -> None:
    """Claim that each task leaves sorted, with every element once and a stop behind them.

    A task is a number of ways, from way 0 on, each with one fiber to merge. A tree of one node has further
    claims, on its registers.

    Args:
        parameters: parameters of the merger.
        properties: collects the assumptions and claims.
    """
    tasks, merged = properties.end("tasks"), properties.end("merged")
    ways = [end for end in properties.ends("input") if end.stream.prefix != "tasks"]
    properties.assume("ways_of_the_radix", tasks.fields["coordinate"] <= parameters.radix)
    fibers = [Fiber(way) for way in ways]
    for fiber in fibers:
        properties.assume(f"{fiber.end.stream.prefix}_ascends", fiber.ascends)
    stop, sent = merged.moves & merged.fields["control"], Fiber(merged)
    element = merged.moves & ~merged.fields["control"]
    nodes = nodes_of(parameters.radix, parameters.stages)
    bits = (2 * parameters.stages + 1).bit_length()  # of a task's number: a stage buffers two stops
    begun, ended = (pyrtl.Register(bits, name) for name in ("tasks_begun", "tasks_ended"))
    begun.next <<= (begun + tasks.moves)[:bits]
    ended.next <<= (ended + stop)[:bits]
    entering = (begun - ~tasks.moves)[:bits]
    properties.claim("a_stop_a_task", (begun != ended) | tasks.moves, when=merged.moves)
    properties.claim("sorted", sent.coordinate >= sent.last, when=element & sent.is_begun)
    most = 2 * len(nodes) + parameters.radix
    _add_elements_once(properties, ways, merged, (entering, ended), most)
    _add_fibers_of_a_task(properties, tasks, ways)
    if len(nodes) == 1:
        _add_single_node(properties, fibers, sent, begun != ended)


def _add_single_node(properties: Properties, fibers: list[Fiber], sent: Fiber, runs: Signal) -> None:
    """Claim relations of the registers of a tree of one node, which the induction of other claims needs.

    Args:
        properties: collects the claims.
        fibers: the fibers of the ways.
        sent: the fiber of the output.
        runs: whether a task has begun and not ended.
    """
    properties.claim(
        "merging", (properties.inner("merging") == runs) & (properties.inner("running_00") == runs)
    )
    for i, own in enumerate(fibers):
        waits = properties.previous(own.end.valid & ~own.end.ready)
        ahead = waits & (~own.is_coordinate | (own.coordinate >= sent.last))
        properties.claim(
            f"ahead_{i}",
            ahead | (own.is_begun & (own.last == sent.last)) | ~properties.inner(f"takes_part_{i:02}"),
            when=sent.is_begun,
        )


def _add_elements_once(
    properties: Properties, ways: list[End], merged: End, numbers: tuple[Signal, Signal], most: int
) -> None:
    """Claim that any element that enters with a task leaves with it, as often as it has entered.

    Args:
        properties: collects the claims.
        ways: the inputs.
        merged: the output.
        numbers: number of the task that enters, and of the task that leaves, each modulo a power of two.
        most: maximum number of elements inside the merger.
    """
    stop = merged.fields["control"]
    watched = properties.constant(len(merged.word), "watched_element")
    enters = count([way.moves & ~way.fields["control"] & (way.word == watched) for way in ways])
    leaves = merged.moves & ~stop & (merged.word == watched)
    entering, ended = numbers
    bits = most.bit_length() + 1
    for task in range(1 << len(ended)):
        inside = pyrtl.Register(bits, f"inside_{task}")
        now = (inside + pyrtl.select(entering == task, enters, 0))[:bits]
        is_sent = leaves & (ended == task)
        inside.next <<= (now - is_sent)[:bits]
        properties.claim(f"none_twice_{task}", now != 0, when=is_sent)
        properties.claim(f"none_lost_{task}", now == 0, when=merged.moves & stop & (ended == task))


def _add_fibers_of_a_task(properties: Properties, tasks: End, ways: list[End]) -> None:
    """Claim that a task takes one fiber of each of its ways, and nothing of the others."""
    held = DataRegister(len(tasks.fields["coordinate"]), "ways_of_task")
    runs = pyrtl.Register(1, "has_task")
    size = pyrtl.select(tasks.moves, tasks.fields["coordinate"], held)
    held.next <<= size
    runs.next <<= runs | tasks.moves
    for i, way in enumerate(ways):
        closed = pyrtl.Register(1, f"is_closed_{i}")
        before = closed & ~tasks.moves
        closed.next <<= before | (way.moves & way.fields["control"])
        properties.claim(f"own_fiber_{i}", (runs | tasks.moves) & (size > i) & ~before, when=way.moves)
        properties.claim(f"whole_fiber_{i}", closed | (held <= i), when=tasks.moves & runs)


def add_islip(parameters: IslipParameters, properties: Properties) -> None:
    """Claim that each cycle serves a matching, and that none of the tokens leaves twice or is lost.

    A matching has at most one output for each input, and at most one input for each output. It is not empty
    if a token waits whose output is ready. The claim that no token is lost is left out for registered memory.

    Args:
        parameters: parameters of the crossbar.
        properties: collects the claims.
    """
    sources, sinks = properties.ends("input"), properties.ends("output")
    places = range(parameters.outputs)
    rows = [[properties.inner(f"takes_{i:02}_{place:02}") for place in places] for i in range(len(sources))]
    columns = [[row[place] for row in rows] for place in places]
    for kind, lines in (("input", rows), ("output", columns)):
        for i, line in enumerate(lines):
            properties.claim(f"one_of_{kind}_{i}", count(line) <= 1)
    served, wanted = [], []
    for i, (source, row) in enumerate(zip(sources, rows, strict=True)):
        for place, (sink, take) in enumerate(zip(sinks, row, strict=True)):
            comes = source.moves & _selects(source.fields["coordinate"], place, parameters.outputs)
            held = pyrtl.Register(parameters.depth.bit_length(), f"counted_{i}_{place}")
            held.next <<= (held + comes - take)[: len(held)]
            kept = properties.inner(f"held_{i:02}_{place:02}")
            properties.claim(f"held_{i}_{place}", (kept == held) & (held <= parameters.depth))
            properties.claim(f"serves_{i}_{place}", (held != 0) & sink.moves, when=take)
            served.append(take)
            wanted.append((held != 0) & sink.ready)
    properties.claim("serves_while_any_waits", any_of(served) == any_of(wanted))
    moved = [implies(sink.valid, any_of(column)) for sink, column in zip(sinks, columns, strict=True)]
    properties.claim("sends_what_it_takes", all_of(moved))
    for place, sink in enumerate(sinks):
        goes = _selects(sink.fields["coordinate"], place, parameters.outputs)
        properties.claim(f"goes_{place}", goes, when=sink.moves)
    _add_tokens_once(parameters, properties, sources, sinks)


def _selects(coordinate: Signal, place: int, outputs: int) -> Signal:
    """Return whether a coordinate selects this output."""
    return coordinate[: (outputs - 1).bit_length()] == place if outputs > 1 else pyrtl.Const(1, 1)


def _add_tokens_once(
    parameters: IslipParameters, properties: Properties, sources: list[End], sinks: list[End]
) -> None:
    """Claim that any token leaves at most as often as it has entered, and is inside a FIFO until then.

    The FIFO of a token is that of its input and output. With registered memory, only the first claim is made.
    """
    watched = properties.constant(len(sources[0].word), "watched_token")
    bits = (parameters.depth * len(sources) * len(sinks)).bit_length() + 1
    inside = pyrtl.Register(bits, "inside")
    enters = count([source.moves & (source.word == watched) for source in sources])
    leaves = count([sink.moves & (sink.word == watched) for sink in sinks])
    inside.next <<= (inside + enters - leaves)[:bits]
    properties.claim("none_twice", leaves <= inside)
    if parameters.memory == REGISTERED:  # the first tokens are in registers, not in the memory that is read
        return
    here, right = [], []
    for i, source in enumerate(sources):
        words = properties.words(f"queues_{i:02}")
        for place in range(len(sinks)):
            for slot, is_full in enumerate(_full_slots(parameters.depth, properties, f"{i:02}_{place:02}")):
                word = words[place * (len(words) // len(sinks)) + slot]
                here.append(is_full & (word == watched))
                goal = unpacked(word, source.fields)["coordinate"]
                right.append(implies(is_full, _selects(goal, place, len(sinks))))
    properties.claim("none_lost", count(here) == inside)
    properties.claim("kept_for_its_output", all_of(right))


def _full_slots(depth: int, properties: Properties, name: str) -> list[Signal]:
    """Return for each slot of a FIFO whether it holds a token; claim that the tail is behind the last one."""
    head, tail, held = (properties.inner(f"{part}_{name}") for part in ("head", "tail", "held"))
    end = head + held
    properties.claim(f"tail_{name}", tail == pyrtl.select(end >= depth, end - depth, end)[: len(tail)])
    distances = [pyrtl.select(head > slot, slot + depth - head, slot - head) for slot in range(depth)]
    return [(distance[: len(held)] < held) & (head < depth) for distance in distances]
