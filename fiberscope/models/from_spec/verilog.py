"""Verilog of one instance of a machine from a specification, with the streams of a run to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.streams.netlist_rtl import exported
from fiberscope.hw.streams.task_cut import TaskEnd
from fiberscope.models.from_spec.instance_blocks import InstanceBlocks
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.rounds import MARK
from fiberscope.models.graphs.payloads import payload_bits
from fiberscope.models.graphs.transcript import Offers, Transcript, record_transcripts
from fiberscope.models.graphs.verilog import GraphVerilog, Hardware, Sizes, strip_machine
from fiberscope.sim import Component
from fiberscope.sim.wiring import End
from fiberscope.workloads.errors import nearest


@dataclass(frozen=True)
class InstanceVerilog:
    """An instance as a Verilog module, and the tokens of its streams in a run of its machine.

    Args:
        verilog: the module.
        offers: for each input stream from another component, its tokens with the cycles of their arrival;
            roots and ports to memory have none.
        expected: for each stream into a block or out of a port, the tokens that the module must produce.
        cycles: length of the run in cycles.
    """

    verilog: GraphVerilog
    offers: Offers
    expected: Transcript
    cycles: int


def instance_verilog(
    machine: MappedMachine, level: str, module: str, value_bits: int, points: int, stage: str = ""
) -> InstanceVerilog:
    """Run a machine, and return a level's first instance as a module whose memories fit its data.

    Args:
        machine: a machine with ideal memory that has not run yet.
        level: level of the architecture.
        module: name of the module.
        value_bits: width of an integer in two's complement; a floating-point value has the bits of its type.
        points: capacity of an accumulator in points.
        stage: the Einsum that the stage writes, ``R`` or ``R@2`` (round 2); empty for the first of the level.

    Raises:
        InputError: there is no such level or stage, the instance has lanes, a block has no RTL twin, or a
            value does not fit ``value_bits``.
    """
    leaf = _leaf_of(machine, level, stage)
    instance = f"{machine.NAME}.{leaf.name}".removesuffix(".")  # the name ends with a dot
    blocks = {strip_machine(block, instance): block for block in _blocks_of(machine, instance)}
    nodes = {strip_machine(leaf.blocks[name], instance): node for name, node in leaf.nodes.items()}
    inside = {id(block) for block in blocks.values()}
    links = [
        link
        for link in machine.kernel.wiring.connections
        if inside & {id(link.producer.component), id(link.consumer.component)}
    ]
    sizes = Sizes(payload_bits(leaf.nodes.values(), leaf.blocks), value_bits, points, machine.value_type)
    hardware = Hardware(module, blocks, nodes, links, sizes)
    hardware.verilog()  # raises errors before a long run
    links_to = {_end_name(link.consumer, instance): link for link in links}
    channels = {name: link.channel for name, link in links_to.items()}
    popped, pushed = record_transcripts(machine.kernel, channels)
    payloads = [token[2] for tokens in pushed.values() for token in tokens]
    # coordinates of outer loops may be wider than those of the instance
    widest = max(sizes.payload, max(payloads, default=0).bit_length())
    verilog = replace(hardware, sizes=replace(sizes, payload=widest)).verilog()
    offers = {
        exported(end): [
            (cycle + links_to[end].channel.latency, Token(kind, payload, 0, value))
            for cycle, kind, payload, value in pushed[end]
        ]
        for end in verilog.entries
    }
    ends_by_source = {_end_name(link.producer, instance): end for end, link in links_to.items()}
    consumers = {end: id(link.consumer.component) for end, link in links_to.items()}
    expected = {end: popped[end] for end, consumer in consumers.items() if consumer in inside}
    expected |= {end: pushed[ends_by_source[end]] for end in verilog.exits}
    return InstanceVerilog(verilog, offers, expected, machine.kernel.cycle)


def _end_name(end: End, instance: str) -> str:
    """Return the name of a block's port in the module."""
    return f"{strip_machine(end.component, instance)}.{end.label}"


def _leaf_of(machine: MappedMachine, level: str, stage: str) -> InstanceBlocks:
    """Return the blocks of the first instance of a level, in a stage if ``stage`` is not empty.

    Raises:
        InputError: there is no such stage, no tasks are dispatched to the level, or the level has lanes.
    """
    stages = [(built.stage.einsums[-1].name, built) for built in machine.stages]
    matching = [built for name, built in stages if stage in ("", name, name.partition(MARK)[0])]
    if not matching:
        raise InputError(f"there is no stage {stage}; {nearest(stage, dict(stages))}")
    # Of several stages at a level, the first counts
    stages_by_level = {built.stage.level: built for built in reversed(matching)}
    if level.lower() not in stages_by_level:
        raise InputError(f"no tasks are dispatched to {level}; {nearest(level, stages_by_level)}")
    first = stages_by_level[level.lower()]
    if first.stage.lanes:
        raise InputError(
            f"{level}: its {first.stage.lanes:,} lanes are not simulated one by one, so they are no hardware "
            "here; without lanes, each element is a task of an instance of its own"
        )
    return first.leaves[0]


def _blocks_of(machine: MappedMachine, instance: str) -> Iterator[Component]:
    """Yield the components of an instance that become hardware: all but those that detect ends of tasks."""
    for component in machine.kernel.components:
        if component.name.startswith(f"{instance}.") and not isinstance(component, TaskEnd):
            yield component
