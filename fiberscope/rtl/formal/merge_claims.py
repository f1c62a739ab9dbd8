"""Claims of the merger and of the crossbar with iSLIP matching."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.fibers.merge import nodes_of
from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.networks.islip_rtl import IslipParameters
from fiberscope.hw.rtl.kit.sram import REGISTERED
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, unpacked
from fiberscope.rtl.formal.order_properties import Fiber
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of, any_of, count, implies


def add_merger(parameters: MergerParameters, properties: Properties) -> None:
    """Claim that each task leaves sorted, with every element once and a stop behind them.

    A task is a number of ways, from way 0 on, each with one fiber to merge. A tree of one node has further
    claims, on its registers.

    Args:
        parameters: parameters of the merger.
        properties: collects the assumptions and claims.
    """
    tasks, merged = properties.stream("tasks"), properties.stream("merged")
    inputs = [stream for stream in properties.streams("input") if stream.definition.prefix != "tasks"]
    properties.assume("ways_of_the_radix", tasks.fields["coordinate"] <= parameters.radix)
    fibers = [Fiber(stream) for stream in inputs]
    for fiber in fibers:
        properties.assume(f"{fiber.stream.definition.prefix}_ascends", fiber.ascends)
    stop, output = merged.fire & merged.fields["control"], Fiber(merged)
    element = merged.fire & ~merged.fields["control"]
    nodes = nodes_of(parameters.radix, parameters.stages)
    bits = (2 * parameters.stages + 1).bit_length()  # of a task's number: a stage buffers two stops
    begun_count, ended_count = (pyrtl.Register(bits, name) for name in ("tasks_begun", "tasks_ended"))
    begun_count.next <<= (begun_count + tasks.fire)[:bits]
    ended_count.next <<= (ended_count + stop)[:bits]
    entering = (begun_count - ~tasks.fire)[:bits]
    properties.claim("a_stop_a_task", (begun_count != ended_count) | tasks.fire, when=merged.fire)
    properties.claim("sorted", output.coordinate >= output.last, when=element & output.is_begun)
    capacity = 2 * len(nodes) + parameters.radix
    _add_elements_once(properties, inputs, merged, (entering, ended_count), capacity)
    _add_fibers_of_a_task(properties, tasks, inputs)
    if len(nodes) == 1:
        _add_single_node(properties, fibers, output, begun_count != ended_count)


def _add_single_node(properties: Properties, fibers: list[Fiber], output: Fiber, running: Signal) -> None:
    """Claim relations of the registers of a tree of one node, which the induction of other claims needs.

    Args:
        properties: collects the claims.
        fibers: the fibers of the ways.
        output: the fiber of the output.
        running: whether a task has begun and not ended.
    """
    properties.claim(
        "merging", (properties.inner("merging") == running) & (properties.inner("running_00") == running)
    )
    for i, fiber in enumerate(fibers):
        is_waiting = properties.previous(fiber.stream.valid & ~fiber.stream.ready)
        is_ahead = is_waiting & (~fiber.is_coordinate | (fiber.coordinate >= output.last))
        properties.claim(
            f"ahead_{i}",
            is_ahead
            | (fiber.is_begun & (fiber.last == output.last))
            | ~properties.inner(f"takes_part_{i:02}"),
            when=output.is_begun,
        )


def _add_elements_once(
    properties: Properties,
    inputs: list[StreamWires],
    merged: StreamWires,
    numbers: tuple[Signal, Signal],
    capacity: int,
) -> None:
    """Claim that any element that enters with a task leaves with it, as often as it has entered.

    Args:
        properties: collects the claims.
        merged: the output.
        numbers: number of the task that enters, and of the task that leaves, each modulo a power of two.
        capacity: maximum number of elements inside the merger.
    """
    stop = merged.fields["control"]
    watched = properties.constant(len(merged.word), "watched_element")
    entries = count([stream.fire & ~stream.fields["control"] & (stream.word == watched) for stream in inputs])
    is_sent = merged.fire & ~stop & (merged.word == watched)
    entering, leaving = numbers
    bits = capacity.bit_length() + 1
    for task in range(1 << len(leaving)):
        stored = pyrtl.Register(bits, f"inside_{task}")
        present = (stored + pyrtl.select(entering == task, entries, 0))[:bits]
        is_end = is_sent & (leaving == task)
        stored.next <<= (present - is_end)[:bits]
        properties.claim(f"none_twice_{task}", present != 0, when=is_end)
        properties.claim(f"none_lost_{task}", present == 0, when=merged.fire & stop & (leaving == task))


def _add_fibers_of_a_task(properties: Properties, tasks: StreamWires, inputs: list[StreamWires]) -> None:
    """Claim that a task takes one fiber of each of its ways, and nothing of the others."""
    old_size = DataRegister(len(tasks.fields["coordinate"]), "ways_of_task")
    has_task = pyrtl.Register(1, "has_task")
    size = pyrtl.select(tasks.fire, tasks.fields["coordinate"], old_size)
    old_size.next <<= size
    has_task.next <<= has_task | tasks.fire
    for i, stream in enumerate(inputs):
        is_closed = pyrtl.Register(1, f"is_closed_{i}")
        was_closed = is_closed & ~tasks.fire
        is_closed.next <<= was_closed | (stream.fire & stream.fields["control"])
        properties.claim(
            f"own_fiber_{i}", (has_task | tasks.fire) & (size > i) & ~was_closed, when=stream.fire
        )
        properties.claim(f"whole_fiber_{i}", is_closed | (old_size <= i), when=tasks.fire & has_task)


def add_islip(parameters: IslipParameters, properties: Properties) -> None:
    """Claim that each cycle serves a matching, and that none of the tokens leaves twice or is lost.

    A matching has at most one output for each input, and at most one input for each output. It is not empty
    if a token waits whose output is ready. The claim that no token is lost is left out for registered memory.

    Args:
        parameters: parameters of the crossbar.
        properties: collects the claims.
    """
    sources, sinks = properties.streams("input"), properties.streams("output")
    numbers = range(parameters.outputs)
    rows = [
        [properties.inner(f"takes_{i:02}_{output:02}") for output in numbers] for i in range(len(sources))
    ]
    columns = [[row[output] for row in rows] for output in numbers]
    for kind, lines in (("input", rows), ("output", columns)):
        for i, line in enumerate(lines):
            properties.claim(f"one_of_{kind}_{i}", count(line) <= 1)
    served, requested = [], []
    for i, (source, row) in enumerate(zip(sources, rows, strict=True)):
        for output, (sink, is_taken) in enumerate(zip(sinks, row, strict=True)):
            is_pushed = source.fire & _selects(source.fields["coordinate"], output, parameters.outputs)
            counted = pyrtl.Register(parameters.depth.bit_length(), f"counted_{i}_{output}")
            counted.next <<= (counted + is_pushed - is_taken)[: len(counted)]
            occupancy = properties.inner(f"held_{i:02}_{output:02}")
            properties.claim(f"held_{i}_{output}", (occupancy == counted) & (counted <= parameters.depth))
            properties.claim(f"serves_{i}_{output}", (counted != 0) & sink.fire, when=is_taken)
            served.append(is_taken)
            requested.append((counted != 0) & sink.ready)
    properties.claim("serves_while_any_waits", any_of(served) == any_of(requested))
    is_served = [implies(sink.valid, any_of(column)) for sink, column in zip(sinks, columns, strict=True)]
    properties.claim("sends_what_it_takes", all_of(is_served))
    for output, sink in enumerate(sinks):
        has_output = _selects(sink.fields["coordinate"], output, parameters.outputs)
        properties.claim(f"goes_{output}", has_output, when=sink.fire)
    _add_tokens_once(parameters, properties, sources, sinks)


def _selects(coordinate: Signal, output: int, outputs: int) -> Signal:
    """Return whether a coordinate selects this output."""
    return coordinate[: (outputs - 1).bit_length()] == output if outputs > 1 else pyrtl.Const(1, 1)


def _add_tokens_once(
    parameters: IslipParameters, properties: Properties, sources: list[StreamWires], sinks: list[StreamWires]
) -> None:
    """Claim that any token leaves at most as often as it has entered, and is inside a FIFO until then.

    The FIFO of a token is that of its input and output. With registered memory, only the first claim is made.
    """
    watched = properties.constant(len(sources[0].word), "watched_token")
    bits = (parameters.depth * len(sources) * len(sinks)).bit_length() + 1
    stored = pyrtl.Register(bits, "inside")
    entering_count = count([source.fire & (source.word == watched) for source in sources])
    leaving_count = count([sink.fire & (sink.word == watched) for sink in sinks])
    stored.next <<= (stored + entering_count - leaving_count)[:bits]
    properties.claim("none_twice", leaving_count <= stored)
    if parameters.memory == REGISTERED:  # the first tokens are in registers, not in the memory that is read
        return
    matches, is_routed = [], []
    for i, source in enumerate(sources):
        words = properties.memory_words(f"queues_{i:02}")
        for output in range(len(sinks)):
            for slot, is_full in enumerate(_full_slots(parameters.depth, properties, f"{i:02}_{output:02}")):
                word = words[output * (len(words) // len(sinks)) + slot]
                matches.append(is_full & (word == watched))
                coordinate = unpacked(word, source.fields)["coordinate"]
                is_routed.append(implies(is_full, _selects(coordinate, output, len(sinks))))
    properties.claim("none_lost", count(matches) == stored)
    properties.claim("kept_for_its_output", all_of(is_routed))


def _full_slots(depth: int, properties: Properties, name: str) -> list[Signal]:
    """Return for each slot of a FIFO whether it holds a token; claim that the tail is behind the last one."""
    head, tail, occupancy = (properties.inner(f"{register}_{name}") for register in ("head", "tail", "held"))
    end = head + occupancy
    properties.claim(f"tail_{name}", tail == pyrtl.select(end >= depth, end - depth, end)[: len(tail)])
    distances = [pyrtl.select(head > slot, slot + depth - head, slot - head) for slot in range(depth)]
    return [(distance[: len(occupancy)] < occupancy) & (head < depth) for distance in distances]
