"""Memories of a twin, and its combinational paths from inputs to outputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.interface import CLOCKING
from fiberscope.hw.rtl.kit.sram import Macro
from fiberscope.hw.rtl.kit.twin import Twin

_NUMBER = re.compile(r"\d+")
_LANE = re.compile(r"_\d\d$")  # at the end of the name of a memory's lane


@dataclass(frozen=True, order=True)
class Memory:
    """Equal memories of a twin.

    Args:
        name: name with the instance; ``*`` stands for a number.
        entries: number of entries.
        bits: bits of an entry.
        registered: whether a read returns its data one cycle after the address.
    """

    name: str
    entries: int
    bits: int
    registered: bool


def memories(twin: Twin) -> dict[Memory, int]:
    """Return the memories of a twin, sorted by name, with the number of each.

    The lanes of a synchronous memory count as one memory. A memory without a read port in the logic is left
    out. Memories that differ only in the numbers of their names are equal.
    """
    by_name: dict[str, Memory] = {}
    for array in {net.op_param[1] for net in twin.block.logic_subset("m")}:
        macro: Macro | None = getattr(array, "macro", None)
        name = array.name.replace("/", ".")
        if macro is None:
            by_name[name] = Memory(_generalize(name), 1 << array.addrwidth, array.bitwidth, registered=False)
        else:
            name = _LANE.sub("", name) if macro.lanes > 1 else name
            by_name[name] = Memory(_generalize(name), macro.entries, macro.entry_bits, registered=True)
    return dict(sorted(Counter(by_name.values()).items()))


def combinational_paths(twin: Twin, names: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Return each output that depends on inputs in the same cycle, with these inputs.

    Numbers in names are replaced by ``*``, as ports of an array are equal. The inputs of all outputs with the
    same name after this replacement are joined.

    Args:
        twin: the logic of a module.
        names: the module's port for each port of the twin, if they differ.
    """
    sources = _sources(twin.block)
    paths: dict[str, dict[str, None]] = {}
    for wire in twin.interface.wires():
        if wire.direction == "output" and (inputs := sources[wire.name]):
            ports = [_generalize(names.get(name, name)) for name in (wire.name, *inputs)]
            paths.setdefault(ports[0], {}).update(dict.fromkeys(ports[1:]))
    return [(name, list(inputs)) for name, inputs in paths.items()]


def _generalize(name: str) -> str:
    return _NUMBER.sub("*", name)


def _sources(block: pyrtl.Block) -> dict[str, list[str]]:
    """Return the names of the inputs on which each output of a block depends within a cycle."""
    inputs = sorted(wire.name for wire in block.wirevector_subset(pyrtl.Input) if wire.name not in CLOCKING)
    # a set of inputs is an integer with a bit for each: a union is then one operation
    masks = {block.get_wirevector_by_name(name): 1 << index for index, name in enumerate(inputs)}
    for net in block:  # PyRTL yields nets in topological order
        if net.op not in "r@":  # a path within a cycle ends at a register and at a write to a memory
            masks[net.dests[0]] = _union(masks.get(argument, 0) for argument in net.args)
    return {
        wire.name: [inputs[index] for index in _set_bits(masks.get(wire, 0))]
        for wire in block.wirevector_subset(pyrtl.Output)
    }


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _set_bits(mask: int) -> Iterator[int]:
    return (index for index in range(mask.bit_length()) if mask >> index & 1)
