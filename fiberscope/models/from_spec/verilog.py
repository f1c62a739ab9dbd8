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
from fiberscope.models.graphs.transcript import Offers, Transcript, watched
from fiberscope.models.graphs.verilog import GraphVerilog, Hardware, Sizes, plain
from fiberscope.sim import Component
from fiberscope.workloads.errors import nearest

__all__ = ["InstanceVerilog", "instance_verilog"]


@dataclass(frozen=True)
class InstanceVerilog:
    """An instance as a Verilog module, and the tokens of its streams in a run of its machine.

    Args:
        verilog: the module.
        offers: for each input port, the tokens that other components send, with their cycles.
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
    """Run a machine, and return a level's first instance as a module with memories as large as the tensors.

    Args:
        machine: a machine with ideal memory that has not run yet.
        level: level of the architecture.
        module: name of the module.
        value_bits: width of every value, an integer in two's complement.
        points: capacity of an accumulator in points.
        stage: the Einsum that the stage writes, ``R`` or ``R@2`` (round 2); empty for the first of the level.

    Raises:
        InputError: there is no such level or stage, the instance has lanes, a block has no RTL twin, or a
            value does not fit ``value_bits``.
    """
    leaf = _leaf_of(machine, level, stage)
    instance = f"{machine.NAME}.{leaf.name}".removesuffix(".")
    blocks = {plain(block, instance): block for block in _blocks_of(machine, instance)}
    nodes = {plain(leaf.blocks[name], instance): node for name, node in leaf.nodes.items()}
    inside = {id(block) for block in blocks.values()}
    links = [
        link
        for link in machine.kernel.wiring.connections
        if inside & {id(link.producer.component), id(link.consumer.component)}
    ]
    sizes = Sizes(payload_bits(leaf.nodes.values(), leaf.blocks), value_bits, points, machine.value_type)
    hardware = Hardware(module, blocks, nodes, links, sizes)
    hardware.verilog()  # raises errors before a long run
    into = {f"{plain(link.consumer.component, instance)}.{link.consumer.label}": link for link in links}
    taken, sent = watched(machine.kernel, {name: link.channel for name, link in into.items()})
    payloads = [token[2] for tokens in sent.values() for token in tokens]
    widest = max(
        sizes.payload, max(payloads, default=0).bit_length()
    )  # coordinates of outer loops may be wider
    verilog = replace(hardware, sizes=replace(sizes, payload=widest)).verilog()
    offers = {
        exported(end): [
            (cycle + into[end].channel.latency, Token(kind, payload, 0, value))
            for cycle, kind, payload, value in sent[end]
        ]
        for end in verilog.entries
    }
    leaves = {
        f"{plain(link.producer.component, instance)}.{link.producer.label}": end for end, link in into.items()
    }
    expected = {end: taken[end] for end, link in into.items() if id(link.consumer.component) in inside}
    expected |= {end: sent[leaves[end]] for end in verilog.exits}
    return InstanceVerilog(verilog, offers, expected, machine.kernel.cycle)


def _leaf_of(machine: MappedMachine, level: str, stage: str) -> InstanceBlocks:
    """Return the blocks of the first instance of a level, in a stage if ``stage`` is not empty.

    Raises:
        InputError: there is no such stage, no tasks are dispatched to the level, or the level has lanes.
    """
    named = [(each.stage.einsums[-1].name, each) for each in machine.stages]
    chosen = [each for name, each in named if stage in ("", name, name.partition(MARK)[0])]
    if not chosen:
        raise InputError(f"there is no stage {stage}; {nearest(stage, dict(named))}")
    stages_by_level = {each.stage.level: each for each in reversed(chosen)}
    if level.lower() not in stages_by_level:
        raise InputError(f"no tasks are dealt to {level}; {nearest(level, stages_by_level)}")
    first = stages_by_level[level.lower()]
    if first.stage.lanes:
        raise InputError(
            f"{level}: its {first.stage.lanes:,} lanes are not simulated one by one, so they are no hardware "
            "here; without lanes, each element is a task of an instance of its own"
        )
    return first.leaves[0]


def _blocks_of(machine: MappedMachine, instance: str) -> Iterator[Component]:
    for component in machine.kernel.components:
        if component.name.startswith(f"{instance}.") and not isinstance(component, TaskEnd):
            yield component
