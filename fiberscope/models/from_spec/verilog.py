"""Verilog of one instance of a machine from a specification, with the streams of a run to compare."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.channel import CAPACITY
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.streams.lanes_rtl import LANES
from fiberscope.hw.streams.merge_tables_rtl import list_capacity
from fiberscope.hw.streams.netlist_rtl import exported
from fiberscope.hw.streams.task_cut import TaskEnd
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.models.from_spec.instance_blocks import InstanceBlocks
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.rounds import MARK
from fiberscope.models.graphs.payloads import count_payload_bits
from fiberscope.models.graphs.transcript import Offers, Transcript, record_transcripts
from fiberscope.models.graphs.verilog import GraphVerilog, Hardware, Sizes, strip_machine
from fiberscope.sim import Component
from fiberscope.sim.clock import Clock
from fiberscope.sim.wiring import End, Link
from fiberscope.workloads.errors import suggest


@dataclass(frozen=True)
class InstanceVerilog:
    """An instance as a Verilog module, and the tokens of its streams in a run of its machine.

    Args:
        verilog: the module.
        offers: for each input stream from another component, its tokens with the cycles of their arrival;
            roots and ports to memory have none.
        expected: for each stream into a block or out of a port, the tokens that the module must produce.
        clock: clock of the instance at the end of the run. On lanes, its cycles are ticks of the lanes.
    """

    verilog: GraphVerilog
    offers: Offers
    expected: Transcript
    clock: Clock

    @property
    def cycles(self) -> int:
        """Return the length of the run in cycles of the module's clock."""
        return self.clock.cycle


def export_instance(
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
        InputError: there is no such level or stage, the instance has too many lanes, a block has no RTL twin,
            or a value does not fit ``value_bits``.
    """
    instance = _find_instance_blocks(machine, level, stage)
    prefix = f"{machine.NAME}.{instance.name}".removesuffix(".")  # ``InstanceBlocks.name`` ends with a dot
    blocks = {strip_machine(block, prefix): block for block in _iterate_blocks(machine, prefix)}
    nodes = {strip_machine(instance.blocks[name], prefix): node for name, node in instance.nodes.items()}
    block_ids = {id(block) for block in blocks.values()}
    links = _find_links(machine, block_ids)
    bits = count_payload_bits(instance.nodes.values(), instance.blocks)
    hardware = Hardware(module, blocks, nodes, links, Sizes(bits, value_bits, points, machine.value_type))
    hardware.verilog()  # raises errors before a long run
    links_by_consumer = {_format_port_name(link.consumer, prefix): link for link in links}
    channels = {name: link.channel for name, link in links_by_consumer.items()}
    popped, pushed, arrivals = record_transcripts(machine.kernel, channels, instance.clock)
    payloads = [payload for tokens in pushed.values() for _cycle, _kind, payload, _value in tokens]
    payloads += [list_capacity(block.table) for block in blocks.values() if isinstance(block, FiberWays)]
    # The numbers of lists and the coordinates of outer loops may be wider than those of the instance
    widest = max(bits, max(payloads, default=0).bit_length())
    verilog = replace(hardware, sizes=replace(hardware.sizes, payload=widest)).verilog()
    offers = {
        exported(end): [
            (arrival, Token(kind, payload, 0, value))
            for arrival, (_cycle, kind, payload, value) in zip(arrivals[end], pushed[end], strict=True)
        ]
        for end in verilog.entries
    }
    ends_by_producer = {
        _format_port_name(link.producer, prefix): end for end, link in links_by_consumer.items()
    }
    consumers = {end: id(link.consumer.component) for end, link in links_by_consumer.items()}
    expected = {end: popped[end] for end, consumer in consumers.items() if consumer in block_ids}
    expected |= {end: pushed[ends_by_producer[end]] for end in verilog.exits}
    return InstanceVerilog(verilog, offers, expected, instance.clock)


def _find_links(machine: MappedMachine, block_ids: Set[int]) -> list[Link]:
    """Return the links of the blocks with these identities.

    Raises:
        InputError: a channel into a block is larger than those of Verilog; the message names the first.
    """
    links = []
    for link in machine.kernel.wiring.connections:
        channel, is_read = link.channel, id(link.consumer.component) in block_ids
        if is_read and channel.bounded and channel.capacity > CAPACITY[1]:
            raise InputError(
                f"{channel.name}: a channel of {channel.capacity:,} tokens; Verilog has at most "
                f"{CAPACITY[1]:,}, so lower the depth of channels or the number of lanes"
            )
        if is_read or id(link.producer.component) in block_ids:
            links.append(link)
    return links


def _format_port_name(end: End, instance: str) -> str:
    """Return the name of a block's port in the module."""
    return f"{strip_machine(end.component, instance)}.{end.label}"


def _find_instance_blocks(machine: MappedMachine, level: str, stage: str) -> InstanceBlocks:
    """Return the blocks of the first instance of a level, in a stage if ``stage`` is not empty.

    Raises:
        InputError: there is no such stage, no tasks are dispatched to the level, or it has too many lanes.
    """
    stages = [(built_stage.stage.einsums[-1].name, built_stage) for built_stage in machine.stages]
    matching = [built_stage for name, built_stage in stages if stage in ("", name, name.partition(MARK)[0])]
    if not matching:
        raise InputError(f"there is no stage {stage}; {suggest(stage, dict(stages))}")
    # Of several stages at a level, the first counts
    stages_by_level = {built_stage.stage.level: built_stage for built_stage in reversed(matching)}
    if level.lower() not in stages_by_level:
        raise InputError(f"no tasks are dispatched to {level}; {suggest(level, stages_by_level)}")
    first = stages_by_level[level.lower()]
    if first.stage.lanes > LANES:
        raise InputError(
            f"{level}: it has {first.stage.lanes:,} lanes, and Verilog has at most {LANES:,}; "
            "--set timing.lanes gives it fewer"
        )
    return first.leaves[0]


def _iterate_blocks(machine: MappedMachine, instance: str) -> Iterator[Component]:
    """Yield the components of an instance that become hardware: all but those that detect ends of tasks."""
    for component in machine.kernel.components:
        if component.name.startswith(f"{instance}.") and not isinstance(component, TaskEnd):
            yield component
